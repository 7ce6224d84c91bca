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
  int (*nvml_version)(char*, unsigned) = nullptr;
  int (*by_uuid)(const char*, Device*) = nullptr;
  int (*by_pci_bus_id)(const char*, Device*) = nullptr;
  int (*card_of_slice)(Device, Device*) = nullptr;
  int (*clock)(Device, unsigned, unsigned*) = nullptr;
  int (*max_clock)(Device, unsigned, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;        // milliwatts
  int (*power_limit)(Device, unsigned*) = nullptr;  // milliwatts
  int (*temperature)(Device, unsigned, unsigned*) = nullptr;
  int (*reasons)(Device, unsigned long long*) = nullptr;
  int (*ecc)(Device, unsigned*, unsigned*) = nullptr;
  int (*mig)(Device, unsigned*, unsigned*) = nullptr;
  std::string path;
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
  nvml.path = library.path().string();
  PTXBENCH_TRY_STATUS(look_up(library, nvml.init, {"nvmlInit_v2"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.error_string, {"nvmlErrorString"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.driver_version, {"nvmlSystemGetDriverVersion"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.cuda_driver_version, {"nvmlSystemGetCudaDriverVersion_v2"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.nvml_version, {"nvmlSystemGetNVMLVersion"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.by_uuid, {"nvmlDeviceGetHandleByUUID"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.card_of_slice, {"nvmlDeviceGetDeviceHandleFromMigDeviceHandle"}));
  PTXBENCH_TRY_STATUS(look_up(library, nvml.by_pci_bus_id, {"nvmlDeviceGetHandleByPciBusId_v2"}));
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

struct Found {
  Device card = nullptr;
  std::string uuid;  // as NVML writes it
  bool slice = false;
};

Result<Found> find(const Nvml& nvml, const Identity& identity) {
  Found found;
  found.uuid = "GPU-" + identity.uuid_text();
  const int by_uuid = nvml.by_uuid(found.uuid.c_str(), &found.card);
  if (by_uuid == kSuccess) return found;
  Device slice = nullptr;
  const std::string slice_uuid = "MIG-" + identity.uuid_text();
  if (nvml.by_uuid(slice_uuid.c_str(), &slice) == kSuccess) {
    found.uuid = slice_uuid;
    found.slice = true;
    if (const int r = nvml.card_of_slice(slice, &found.card); r != kSuccess)
      return fail(ErrorKind::kUnavailable,
                  fmt::format("NVML does not tell which card {} is a slice of: {}", slice_uuid, nvml.error_string(r)));
    return found;
  }
  // By the bus alone a slice could not be told from its card.
  unsigned current = 0, pending = 0;
  const int by_bus = nvml.by_pci_bus_id(identity.pci_bus_id.c_str(), &found.card);
  if (by_bus == kSuccess && (nvml.mig(found.card, &current, &pending) != kSuccess || current == 0)) return found;
  return fail(ErrorKind::kUnavailable,
              fmt::format("NVML knows neither {} nor {} ({}), and the card at {} {}", found.uuid, slice_uuid,
                          nvml.error_string(by_uuid), identity.pci_bus_id,
                          by_bus == kSuccess ? "is divided into MIG slices"
                                             : fmt::format("is unknown to it: {}", nvml.error_string(by_bus))),
              "is this container given the same GPUs for NVML (nvidia-smi -L) as for CUDA?");
}

}  // namespace

Result<NvmlLibrary> nvml_library() {
  PTXBENCH_TRY(const Nvml* nvml, open_nvml());
  char text[kNameBytes] = {};
  nvml->nvml_version(text, kNameBytes);
  return NvmlLibrary{nvml->path, text};
}

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

Result<wire::Telemetry> read_telemetry(const Identity& identity) {
  PTXBENCH_TRY(const Nvml* nvml, open_nvml());
  PTXBENCH_TRY(const Found found, find(*nvml, identity));
  Reader reader(*nvml, found.card);
  wire::Telemetry& out = reader.out;
  out.device_name = identity.name;
  out.uuid = found.uuid;
  out.pci_bus_id = identity.pci_bus_id;
  char text[kNameBytes] = {};
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
  out.mig = found.slice;
  return std::move(reader.out);
}

}  // namespace ptxbench::gpu
