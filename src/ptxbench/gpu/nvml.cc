#include "ptxbench/gpu/nvml.h"

#include <fmt/format.h>

#include "ptxbench/gpu/vendor_library.h"

namespace ptxbench::gpu {
namespace {

// NVML's stable C interface, as far as it is used here; its header is not in every toolkit.
using Device = void*;
constexpr int kSuccess = 0;
constexpr unsigned kClockSm = 1, kClockMemory = 2;
constexpr unsigned kTemperatureGpu = 0;
constexpr unsigned kNameBytes = 96;

struct Nvml {
  int (*init)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*cuda_driver_version)(int*) = nullptr;
  int (*by_pci_bus_id)(const char*, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*clock)(Device, unsigned, unsigned*) = nullptr;
  int (*max_clock)(Device, unsigned, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;        // milliwatts
  int (*power_limit)(Device, unsigned*) = nullptr;  // milliwatts
  int (*temperature)(Device, unsigned, unsigned*) = nullptr;
  int (*reasons)(Device, unsigned long long*) = nullptr;
  int (*ecc)(Device, unsigned*, unsigned*) = nullptr;
  int (*mig)(Device, unsigned*, unsigned*) = nullptr;
};

template <class Function>
Status look_up(const VendorLibrary& library, Function& member, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    member = reinterpret_cast<Function>(library.symbol(name));
    if (member != nullptr) return {};
  }
  return fail(ErrorKind::kUnavailable, fmt::format("{} has no {}", library.path().string(), *names.begin()));
}

Result<Nvml> load() {
  PTXBENCH_TRY(const VendorLibrary library, VendorLibrary::open("libnvidia-ml.so.1"));
  Nvml nvml;
  PTXBENCH_TRY_STATUS(look_up(library, nvml.init, {"nvmlInit_v2"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.error_string, {"nvmlErrorString"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.driver_version, {"nvmlSystemGetDriverVersion"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.cuda_driver_version, {"nvmlSystemGetCudaDriverVersion_v2"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.by_pci_bus_id, {"nvmlDeviceGetHandleByPciBusId_v2"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.name, {"nvmlDeviceGetName"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.uuid, {"nvmlDeviceGetUUID"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.clock, {"nvmlDeviceGetClockInfo"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.max_clock, {"nvmlDeviceGetMaxClockInfo"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.power, {"nvmlDeviceGetPowerUsage"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.power_limit, {"nvmlDeviceGetEnforcedPowerLimit"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.temperature, {"nvmlDeviceGetTemperature"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.reasons,
                              {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.ecc, {"nvmlDeviceGetEccMode"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.mig, {"nvmlDeviceGetMigMode"}));
  if (const int started = nvml.init(); started != kSuccess) {
    return fail(ErrorKind::kUnavailable, fmt::format("nvmlInit: {}", nvml.error_string(started)));
  }
  return nvml;
}

Result<const Nvml*> open_nvml() {
  static const Result<Nvml> nvml = load();
  if (!nvml) return fail(nvml.error());
  return &*nvml;
}

// Fills a Telemetry and keeps the reasons of what a card does not give.
class Reader {
 public:
  Reader(const Nvml& nvml, Device device) : nvml_(nvml), device_(device) {}

  template <class... Arguments>
  bool read(const char* what, int (*function)(Device, Arguments...), Arguments... arguments) {
    return note(what, function(device_, arguments...));
  }
  bool note(const char* what, int result) {
    if (result != kSuccess) out.missing.push_back(fmt::format("{}: {}", what, nvml_.error_string(result)));
    return result == kSuccess;
  }

  wire::Telemetry out;

 private:
  const Nvml& nvml_;
  Device device_;
};

}  // namespace

std::vector<std::string> throttle_reasons(unsigned long long bits) {
  static constexpr std::pair<unsigned long long, const char*> kReasons[] = {
      {0x2, "clocks set by the application"},  {0x4, "software power cap"},         {0x8, "hardware slowdown"},
      {0x10, "synchronised with other cards"}, {0x20, "software thermal slowdown"}, {0x40, "hardware thermal slowdown"},
      {0x80, "hardware power brake"},          {0x100, "display clock setting"},
  };
  std::vector<std::string> names;
  bits &= ~1ull;  // idle
  for (const auto& [bit, name] : kReasons) {
    if ((bits & bit) != 0) names.emplace_back(name);
    bits &= ~bit;
  }
  if (bits != 0) names.push_back(fmt::format("unknown reason {:#x}", bits));
  return names;
}

Result<wire::Telemetry> read_telemetry(const std::string& pci_bus_id) {
  PTXBENCH_TRY(const Nvml* nvml, open_nvml());
  Device device = nullptr;
  if (const int r = nvml->by_pci_bus_id(pci_bus_id.c_str(), &device); r != kSuccess) {
    return fail(ErrorKind::kUnavailable, fmt::format("NVML and the card at {}: {}", pci_bus_id, nvml->error_string(r)));
  }
  Reader reader(*nvml, device);
  wire::Telemetry& out = reader.out;
  out.pci_bus_id = pci_bus_id;
  char text[kNameBytes] = {};
  if (reader.read("name", nvml->name, +text, kNameBytes)) out.device_name = text;
  if (reader.read("uuid", nvml->uuid, +text, kNameBytes)) out.uuid = text;
  if (reader.note("driver version", nvml->driver_version(text, kNameBytes))) out.driver_version = text;
  int cuda = 0;
  if (reader.note("CUDA version", nvml->cuda_driver_version(&cuda))) {
    out.cuda_driver_version = fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  }
  reader.read("SM clock", nvml->clock, kClockSm, &out.sm_mhz);
  reader.read("memory clock", nvml->clock, kClockMemory, &out.memory_mhz);
  reader.read("highest SM clock", nvml->max_clock, kClockSm, &out.max_sm_mhz);
  reader.read("highest memory clock", nvml->max_clock, kClockMemory, &out.max_memory_mhz);
  unsigned milliwatts = 0;
  if (reader.read("power", nvml->power, &milliwatts)) out.power_w = milliwatts / 1000.0;
  if (reader.read("power limit", nvml->power_limit, &milliwatts)) out.power_limit_w = milliwatts / 1000.0;
  reader.read("temperature", nvml->temperature, kTemperatureGpu, &out.temperature_c);
  unsigned long long bits = 0;
  if (reader.read("throttle reasons", nvml->reasons, &bits)) out.throttle_reasons = throttle_reasons(bits);
  unsigned current = 0, pending = 0;
  if (reader.read("ECC mode", nvml->ecc, &current, &pending)) out.ecc = current != 0;
  if (reader.read("MIG mode", nvml->mig, &current, &pending)) out.mig = current != 0;
  return std::move(reader.out);
}

}  // namespace ptxbench::gpu
