#include "ptxbench/emu/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>

#include "ptxbench/emu/decode/lowering.h"
#include "ptxbench/emu/launch.h"
#include "ptxbench/emu/memory.h"
#include "ptxbench/ptx/parse.h"
#include "ptxbench/ptx/validate.h"

namespace ptxbench::emu {

namespace {

struct LoadedFunction {
  std::unique_ptr<Program> program;
  FunctionInfo info;
};

struct LoadedModule {
  ptx::Module module;
  GlobalAddresses globals;
  std::map<std::string, LoadedFunction, std::less<>> functions;  // decoded on first use
};

bool lives_in_memory(isa::Space space) { return space == isa::Space::kGlobal || space == isa::Space::kConst; }

// Initial contents of a module variable: the given bytes, zero after them, and addresses of other variables.
Status initialise(DeviceMemory& memory, const LoadedModule& loaded, const ptx::Variable& variable, std::uint64_t base) {
  std::byte* bytes = memory.host(base);
  std::memset(bytes, 0, variable.size);
  std::memcpy(bytes, variable.init.data(), std::min<std::size_t>(variable.init.size(), variable.size));
  for (const ptx::AddressInit& init : variable.addresses) {
    if (init.symbol.kind != ptx::SymbolKind::kGlobal || loaded.globals.at(init.symbol.index) == 0)
      continue;  // functions: indirect calls trap
    const std::uint64_t value = (loaded.globals[init.symbol.index] + std::uint64_t(init.addend));
    std::uint64_t part = value;
    if (init.mask != ~std::uint64_t{0}) part = (value & init.mask) >> std::countr_zero(init.mask);
    if (init.offset + init.size > variable.size)
      return fail(ErrorKind::kInvalidInput, fmt::format("the initialiser of {} is longer than it", variable.name));
    std::memcpy(bytes + init.offset, &part, init.size);
  }
  return {};
}

}  // namespace

struct Machine::Impl {
  explicit Impl(MachineConfig c) : config(c), memory(c.memory_bytes) {}
  MachineConfig config;
  DeviceMemory memory;
  std::map<std::uint32_t, std::unique_ptr<LoadedModule>> modules;
  std::uint32_t next_module = 1;
  std::uint64_t launches = 0;

  Result<LoadedModule*> module(ModuleId id) {
    const auto found = modules.find(std::uint32_t(id));
    if (found == modules.end())
      return fail(ErrorKind::kNotFound, fmt::format("no module {} is loaded", std::uint32_t(id)));
    return found->second.get();
  }
  Result<LoadedFunction*> function(ModuleId id, std::string_view name);
};

Result<LoadedFunction*> Machine::Impl::function(ModuleId id, std::string_view name) {
  PTXBENCH_TRY(LoadedModule * loaded, module(id));
  if (auto found = loaded->functions.find(name); found != loaded->functions.end()) return &found->second;
  const ptx::Function* entry = loaded->module.function(name);
  if (entry == nullptr || !entry->is_entry || !entry->has_body)
    return fail(ErrorKind::kNotFound, fmt::format("the module has no kernel '{}'", name),
                "kernels are the .entry functions of the PTX");
  LoadedFunction function;
  function.program = decode(loaded->module, loaded->globals, *entry);
  function.info = describe(*function.program);
  return &loaded->functions.emplace(std::string(name), std::move(function)).first->second;
}

Machine::Machine(MachineConfig config) {
  if (config.threads == 0) config.threads = std::max(1u, std::thread::hardware_concurrency());
  impl_ = std::make_unique<Impl>(config);
}
Machine::~Machine() = default;

Result<std::uint64_t> Machine::alloc(std::uint64_t bytes, std::uint64_t align) {
  return impl_->memory.alloc(bytes, align);
}
Status Machine::free(std::uint64_t address) { return impl_->memory.free(address); }

Status Machine::write(std::uint64_t address, std::span<const std::byte> bytes) {
  PTXBENCH_TRY(std::byte * to, impl_->memory.resolve(address, bytes.size()));
  std::memcpy(to, bytes.data(), bytes.size());
  return {};
}
Status Machine::read(std::uint64_t address, std::span<std::byte> bytes) const {
  PTXBENCH_TRY(const std::byte* from, impl_->memory.resolve(address, bytes.size()));
  std::memcpy(bytes.data(), from, bytes.size());
  return {};
}
Status Machine::fill(std::uint64_t address, std::uint32_t pattern, unsigned width, std::uint64_t count) {
  if (width != 1 && width != 2 && width != 4)
    return fail(ErrorKind::kInvalidInput, fmt::format("fill with elements of {} bytes (1, 2 or 4)", width));
  if (count > (std::uint64_t{1} << 60))
    return fail(ErrorKind::kInvalidInput, fmt::format("fill of {} elements", count));
  PTXBENCH_TRY(std::byte * to, impl_->memory.resolve(address, count * width));
  if (width == 1) {
    std::memset(to, int(pattern & 0xff), count);
    return {};
  }
  // Doubling copies: the pattern, then what is there already.
  const std::uint64_t bytes = count * width;
  if (bytes == 0) return {};
  std::memcpy(to, &pattern, width);
  for (std::uint64_t done = width; done < bytes; done *= 2) std::memcpy(to + done, to, std::min(done, bytes - done));
  return {};
}
Status Machine::copy(std::uint64_t destination, std::uint64_t source, std::uint64_t bytes) {
  PTXBENCH_TRY(std::byte * to, impl_->memory.resolve(destination, bytes));
  PTXBENCH_TRY(const std::byte* from, impl_->memory.resolve(source, bytes));
  std::memmove(to, from, bytes);
  return {};
}
Result<std::span<std::byte>> Machine::host_view(std::uint64_t address, std::uint64_t bytes) {
  PTXBENCH_TRY(std::byte * at, impl_->memory.resolve(address, bytes));
  return std::span(at, bytes);
}
Result<Machine::Extent> Machine::find(std::uint64_t address) const {
  const Allocation* allocation = impl_->memory.find(address);
  if (allocation == nullptr)
    return fail(ErrorKind::kNotFound,
                fmt::format("{:#x} is in no allocation: {}", address, impl_->memory.describe(address)));
  return Extent{allocation->base, allocation->size};
}
std::uint64_t Machine::memory_in_use() const { return impl_->memory.in_use(); }
std::uint64_t Machine::memory_limit() const { return impl_->memory.limit(); }

Result<ModuleId> Machine::load_module(std::string_view text) {
  if (impl_->config.target != Target::kHopper)
    return fail(ErrorKind::kUnsupported, "the emulator executes Hopper (sm_90a) only so far", "use --target hopper");
  PTXBENCH_TRY(ptx::Module parsed, ptx::parse(text, "module.ptx"));
  PTXBENCH_TRY_STATUS(ptx::validate(parsed, text));
  if (parsed.target.sm > 90)
    return fail(ErrorKind::kUnsupported,
                fmt::format("the module is for {}; this machine is an sm_90a", isa::to_string(parsed.target)),
                "compile for sm_90a");
  if (parsed.address_size != 64) return fail(ErrorKind::kUnsupported, "modules with .address_size 32");
  auto loaded = std::make_unique<LoadedModule>();
  loaded->module = std::move(parsed);
  std::vector<std::uint64_t> taken;
  auto release = [&] {
    for (std::uint64_t address : taken) (void)impl_->memory.free(address);
  };
  for (const ptx::Variable& variable : loaded->module.variables) {
    std::uint64_t address = 0;
    if (lives_in_memory(variable.space) && variable.linkage != ptx::Linkage::kExtern && variable.size != 0) {
      auto got = impl_->memory.alloc(variable.size, std::max(1u, variable.align), variable.name,
                                     variable.space == isa::Space::kConst);
      if (!got) {
        release();
        return fail(std::move(got).error());
      }
      address = *got;
      taken.push_back(address);
    }
    loaded->globals.push_back(address);
  }
  for (std::size_t v = 0; v < loaded->globals.size(); ++v) {
    if (loaded->globals[v] == 0) continue;
    if (auto done = initialise(impl_->memory, *loaded, loaded->module.variables[v], loaded->globals[v]); !done) {
      release();
      return fail(std::move(done).error());
    }
  }
  const std::uint32_t id = impl_->next_module++;
  impl_->modules.emplace(id, std::move(loaded));
  return ModuleId(id);
}

void Machine::unload_module(ModuleId id) {
  const auto found = impl_->modules.find(std::uint32_t(id));
  if (found == impl_->modules.end()) return;
  for (std::uint64_t address : found->second->globals)
    if (address != 0) (void)impl_->memory.free(address);
  impl_->modules.erase(found);
}

Result<const FunctionInfo*> Machine::function(ModuleId id, std::string_view name) const {
  PTXBENCH_TRY(const LoadedFunction* function, impl_->function(id, name));
  return &function->info;
}

Result<std::vector<std::string>> Machine::function_names(ModuleId id) const {
  PTXBENCH_TRY(const LoadedModule* loaded, impl_->module(id));
  std::vector<std::string> names;
  for (const ptx::Function& function : loaded->module.functions)
    if (function.is_entry && function.has_body) names.push_back(function.name);
  return names;
}

Result<GlobalInfo> Machine::global(ModuleId id, std::string_view name) const {
  PTXBENCH_TRY(const LoadedModule* loaded, impl_->module(id));
  for (std::size_t v = 0; v < loaded->globals.size(); ++v) {
    const ptx::Variable& variable = loaded->module.variables[v];
    if (variable.name == name && loaded->globals[v] != 0)
      return GlobalInfo{loaded->globals[v], variable.size, variable.space == isa::Space::kConst};
  }
  return fail(ErrorKind::kNotFound, fmt::format("the module has no global or constant variable '{}'", name));
}

LaunchResult Machine::launch(const LaunchConfig& config, std::span<const std::byte> params) {
  auto function = impl_->function(config.module, config.function);
  if (!function) {
    LaunchResult result;
    Trap trap;
    trap.kind = TrapKind::kLaunchConfig;
    trap.message = function.error().message;
    trap.rule = "launch a kernel of a loaded module";
    result.trap = std::move(trap);
    return result;
  }
  return run_launch(impl_->memory, *(*function)->program, config, params, impl_->config.threads, impl_->launches++);
}

}  // namespace ptxbench::emu
