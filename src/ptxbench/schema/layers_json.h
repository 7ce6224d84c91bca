// Internal to schema: the JSON form of the layers that measure, described once for writing and reading (json_io.h).
#pragma once

#include <concepts>

#include "ptxbench/schema/json_io.h"
#include "ptxbench/schema/verdict.h"

namespace ptxbench::schema {

template <>
struct EnumFromText<LayerState> {
  static auto parse(std::string_view text) { return layer_state_from(text); }
};

// Record is T when reading and const T when writing.
template <class Record, class T>
concept RecordOf = std::same_as<std::remove_const_t<Record>, T>;

template <class Archive>
void describe(Archive& archive, RecordOf<Dim3Record> auto& record) {
  archive.field("x", record.x);
  archive.field("y", record.y);
  archive.field("z", record.z);
}

template <class Archive>
void describe(Archive& archive, RecordOf<InstructionCount> auto& record) {
  archive.field("family", record.family);
  archive.field("target", record.target);
  archive.field("static_sass", record.static_sass);
  archive.field("static_ptx", record.static_ptx);
  archive.field("warp_instructions", record.warp_instructions);
  archive.field("thread_instructions", record.thread_instructions);
  archive.field("flops", record.flops);
  archive.field("bytes", record.bytes);
}

template <class Archive>
void describe(Archive& archive, RecordOf<OpcodeCount> auto& record) {
  archive.field("family", record.family);
  archive.field("opcode", record.opcode);
  archive.field("places", record.places);
  archive.field("warp_instructions", record.warp_instructions);
  archive.field("thread_instructions", record.thread_instructions);
}

template <class Archive>
void describe(Archive& archive, RecordOf<LaunchEvidence> auto& record) {
  archive.field("run", record.run);
  archive.field("kernel", record.kernel);
  archive.field("grid", record.grid);
  archive.field("block", record.block);
  archive.field("cluster", record.cluster);
  archive.field("shared_bytes", record.shared_bytes);
  archive.field("thread_instructions", record.thread_instructions);
  archive.field("families", record.families);
}

template <class Archive>
void describe(Archive& archive, RecordOf<AuditRow> auto& record) {
  archive.field("family", record.family);
  archive.field("counted", record.counted);
  archive.field("audited", record.audited);
}

template <class Archive>
void describe(Archive& archive, RecordOf<Audit> auto& record) {
  archive.field("tool", record.tool);
  archive.field("version", record.version);
  archive.field("agrees", record.agrees);
  archive.field("message", record.message);
  archive.field("seconds", record.seconds);
  archive.field("rows", record.rows);
}

template <class Archive>
void describe(Archive& archive, RecordOf<ExecutedLayer> auto& record) {
  archive.field("state", record.state);
  archive.field("message", record.message);
  archive.field("source", record.source);
  archive.field("strict_passed", record.strict_passed);
  archive.field("paper_passed", record.paper_passed);
  archive.field("required_flops", record.required_flops);
  archive.field("flops_formula", record.flops_formula);
  archive.field("compulsory_bytes", record.compulsory_bytes);
  archive.field("target_flops_share", record.target_flops_share);
  archive.field("target_bytes_share", record.target_bytes_share);
  archive.field("bytes_note", record.bytes_note);
  archive.field("families", record.families);
  archive.field("opcodes", record.opcodes);
  archive.field("launches", record.launches);
  archive.field("audit", record.audit);
  archive.field("not_checked", record.not_checked);
  archive.field("void_reasons", record.void_reasons);
}

template <class Archive>
void describe(Archive& archive, RecordOf<TimeSeries> auto& record) {
  archive.field("median_ms", record.median_ms);
  archive.field("min_ms", record.min_ms);
  archive.field("max_ms", record.max_ms);
  archive.field("p10_ms", record.p10_ms);
  archive.field("p90_ms", record.p90_ms);
  archive.field("spread", record.spread);
  archive.field("wall_median_ms", record.wall_median_ms);
  archive.field("warm_ups", record.warm_ups);
  archive.field("samples_ms", record.samples_ms);
}

template <class Archive>
void describe(Archive& archive, RecordOf<KernelTime> auto& record) {
  archive.field("kernel", record.kernel);
  archive.field("launches", record.launches);
  archive.field("median_ms", record.median_ms);
}

template <class Archive>
void describe(Archive& archive, RecordOf<BaselineTime> auto& record) {
  archive.field("library", record.library);
  archive.field("version", record.version);
  archive.field("algorithm", record.algorithm);
  archive.field("plans", record.plans);
  archive.field("chosen", record.chosen);
  archive.field("time", record.time);
}

template <class Archive>
void describe(Archive& archive, RecordOf<Roofline> auto& record) {
  archive.field("gpu", record.gpu);
  archive.field("peak_tflops", record.peak_tflops);
  archive.field("peak_gb_per_s", record.peak_gb_per_s);
  archive.field("source", record.source);
  archive.field("flop_floor_ms", record.flop_floor_ms);
  archive.field("byte_floor_ms", record.byte_floor_ms);
  archive.field("share", record.share);
}

template <class Archive>
void describe(Archive& archive, RecordOf<Telemetry> auto& record) {
  archive.field("sm_mhz", record.sm_mhz);
  archive.field("memory_mhz", record.memory_mhz);
  archive.field("power_w", record.power_w);
  archive.field("temperature_c", record.temperature_c);
  archive.field("throttle_reasons", record.throttle_reasons);
}

template <class Archive>
void describe(Archive& archive, RecordOf<FastLayer> auto& record) {
  archive.field("state", record.state);
  archive.field("message", record.message);
  archive.field("method", record.method);
  archive.field("candidate", record.candidate);
  archive.field("kernels", record.kernels);
  archive.field("baselines", record.baselines);
  archive.field("speedup", record.speedup);
  archive.field("tflops", record.tflops);
  archive.field("roofline", record.roofline);
  archive.field("before", record.before);
  archive.field("after", record.after);
  archive.field("verified_calls", record.verified_calls);
  archive.field("verified_rows", record.verified_rows);
  archive.field("notes", record.notes);
  archive.field("void_reasons", record.void_reasons);
}

}  // namespace ptxbench::schema
