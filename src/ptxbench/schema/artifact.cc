#include "ptxbench/schema/artifact.h"

#include <fmt/format.h>

#include "ptxbench/schema/json_io.h"

namespace ptxbench::schema {

namespace {
constexpr const char* kSchema = "ptxbench.artifact.v1";
}

std::string_view to_string(GpuTarget target) { return target == GpuTarget::kHopper ? "hopper" : "blackwell"; }
std::string_view sm_name(GpuTarget target) { return target == GpuTarget::kHopper ? "sm_90a" : "sm_100a"; }

Result<GpuTarget> parse_gpu_target(std::string_view name) {
  for (GpuTarget target : {GpuTarget::kHopper, GpuTarget::kBlackwell})
    if (name == to_string(target)) return target;
  return fail(ErrorKind::kInvalidInput, fmt::format("unknown target '{}'", name),
              "the targets are hopper and blackwell");
}

template <>
struct EnumFromText<GpuTarget> {
  static std::optional<GpuTarget> parse(std::string_view text) {
    auto target = parse_gpu_target(text);
    return target ? std::optional(*target) : std::nullopt;
  }
};

template <class Archive, class Record>
void describe_kernel(Archive& archive, Record& kernel) {
  archive.field("name", kernel.name);
  archive.field("registers", kernel.registers);
  archive.field("barriers", kernel.barriers);
  archive.field("stack_bytes", kernel.stack_bytes);
  archive.field("spill_store_bytes", kernel.spill_store_bytes);
  archive.field("spill_load_bytes", kernel.spill_load_bytes);
  archive.field("static_shared_bytes", kernel.static_shared_bytes);
  archive.field("constant_bytes", kernel.constant_bytes);
}
static void describe(JsonWriter& archive, const KernelResources& kernel) { describe_kernel(archive, kernel); }
static void describe(JsonReader& archive, KernelResources& kernel) { describe_kernel(archive, kernel); }

template <class Archive, class Record>
void describe_artifact(Archive& archive, Record& artifact) {
  archive.field("hash", artifact.hash);
  archive.field("source_name", artifact.source_name);
  archive.field("source_sha256", artifact.source_sha256);
  archive.field("library_sha256", artifact.library_sha256);
  archive.field("cubin_sha256", artifact.cubin_sha256);
  archive.field("ptx_sha256", artifact.ptx_sha256);
  archive.field("device_code_sha256", artifact.device_code_sha256);
  archive.field("target", artifact.target);
  archive.field("nvcc_version", artifact.nvcc_version);
  archive.field("command", artifact.command);
  archive.field("kernels", artifact.kernels);
  archive.field("static_sass", artifact.static_sass);
  archive.field("static_ptx", artifact.static_ptx);
  archive.field("static_sass_note", artifact.static_sass_note);
  archive.field("static_ptx_note", artifact.static_ptx_note);
  archive.field("build_seconds", artifact.build_seconds);
  archive.field("build_sandbox", artifact.build_sandbox);
  archive.field("warnings", artifact.warnings);
}

std::string to_json(const Artifact& artifact) {
  Json json;
  JsonWriter writer(json);
  writer.field("schema", std::string(kSchema));
  describe_artifact(writer, artifact);
  return json.dump(2) + "\n";
}

Result<Artifact> artifact_from_json(std::string_view text, const std::filesystem::path& folder) {
  PTXBENCH_TRY(const Json json, parse_json(text, (folder / "artifact.json").string()));
  Artifact artifact;
  std::string schema;
  std::vector<std::string> errors;
  {
    JsonReader reader(json, "artifact", errors);
    reader.field("schema", schema);
    describe_artifact(reader, artifact);
  }
  if (!errors.empty()) return fail(ErrorKind::kInvalidInput, fmt::format("'{}': {}", folder.string(), errors.front()));
  if (schema != kSchema)
    return fail(ErrorKind::kInvalidInput,
                fmt::format("'{}' is a record '{}', expected '{}'", folder.string(), schema, kSchema));
  artifact.folder = folder;
  return artifact;
}

}  // namespace ptxbench::schema
