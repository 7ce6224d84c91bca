#include "ptxbench/gpu/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace ptxbench::gpu {
namespace {

constexpr const char* kNames[] = {"smsp__sass_inst_executed", "smsp__sass_thread_inst_executed",
                                  "smsp__sass_thread_inst_executed_pred_on"};

// CUPTI's parameter structs: their size, then zeros.
#define PTXBENCH_PARAMS(Type, variable) \
  Type variable{};                      \
  variable.structSize = Type##_STRUCT_SIZE

}  // namespace

Result<std::unique_ptr<InstructionCounter>> InstructionCounter::open(Context& context) {
  PTXBENCH_TRY(const Cupti* cupti, open_cupti());
  std::unique_ptr<InstructionCounter> counter(new InstructionCounter(context, *cupti));
  PTXBENCH_PARAMS(CUpti_Profiler_Initialize_Params, initialize);
  PTXBENCH_TRY_STATUS(cupti->check(cupti->profiler_initialize(&initialize), "cuptiProfilerInitialize"));
  PTXBENCH_PARAMS(CUpti_Device_GetChipName_Params, chip);
  chip.deviceIndex = static_cast<std::size_t>(context.ordinal());
  PTXBENCH_TRY_STATUS(cupti->check(cupti->chip_name(&chip), "cuptiDeviceGetChipName"));
  CUpti_SassMetrics_Config configs[kMetrics] = {};
  for (std::size_t i = 0; i < kMetrics; ++i) {
    PTXBENCH_PARAMS(CUpti_SassMetrics_GetProperties_Params, metric);
    metric.pChipName = chip.pChipName;
    metric.pMetricName = kNames[i];
    PTXBENCH_TRY_STATUS(cupti->check(cupti->sass_properties(&metric), kNames[i]));
    counter->ids_[i] = configs[i].metricId = metric.metric.metricId;
    configs[i].outputGranularity = CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_GPU;
  }
  PTXBENCH_PARAMS(CUpti_SassMetricsSetConfig_Params, set);
  set.numOfMetricConfig = kMetrics;
  set.pConfigs = configs;
  set.deviceIndex = static_cast<std::uint32_t>(context.ordinal());
  PTXBENCH_TRY_STATUS(cupti->check(cupti->sass_configure(&set), "cuptiSassMetricsSetConfig"));
  return counter;
}

Status InstructionCounter::arm() {
  PTXBENCH_PARAMS(CUpti_SassMetricsEnable_Params, enable);
  enable.ctx = context_.handle();
  enable.enableLazyPatching = 0;
  PTXBENCH_TRY_STATUS(cupti_.check(cupti_.sass_enable(&enable), "cuptiSassMetricsEnable"));
  armed_ = true;
  return {};
}

void InstructionCounter::disarm() {
  if (!std::exchange(armed_, false) || !context_.lost().empty()) return;
  PTXBENCH_PARAMS(CUpti_SassMetricsDisable_Params, disable);
  disable.ctx = context_.handle();
  cupti_.sass_disable(&disable);
}

Result<std::vector<wire::InstructionRecord>> InstructionCounter::take(std::string_view kernel) {
  PTXBENCH_PARAMS(CUpti_SassMetricsGetDataProperties_Params, size);
  size.ctx = context_.handle();
  PTXBENCH_TRY_STATUS(cupti_.check(cupti_.sass_data_properties(&size), "cuptiSassMetricsGetDataProperties"));
  const std::size_t records = size.numOfPatchedInstructionRecords, instances = size.numOfInstances;
  if (records == 0 || instances == 0) {
    return fail(ErrorKind::kUnavailable, fmt::format("CUPTI counted no instruction of kernel '{}'", kernel));
  }
  // The header leaves open whether `instances` counts those of one metric or of all. Unset values match no metric.
  const std::size_t most = instances * kMetrics;
  std::vector<CUpti_SassMetrics_InstanceValue> values(records * most, {~std::uint64_t{0}, 0});
  std::vector<CUpti_SassMetrics_Data> data(records);
  for (std::size_t i = 0; i < records; ++i) data[i].pInstanceValues = &values[i * most];
  PTXBENCH_PARAMS(CUpti_SassMetricsFlushData_Params, flush);
  flush.ctx = context_.handle();
  flush.numOfPatchedInstructionRecords = records;
  flush.numOfInstances = instances;
  flush.pMetricsData = data.data();
  PTXBENCH_TRY_STATUS(cupti_.check(cupti_.sass_flush(&flush), "cuptiSassMetricsFlushData"));
  disarm();

  // One record per instruction, whether CUPTI gave its metrics together or apart.
  std::map<std::pair<std::string, std::uint32_t>, wire::InstructionRecord> found;
  for (const CUpti_SassMetrics_Data& one : data) {
    const std::string function = one.functionName == nullptr ? "" : one.functionName;
    wire::InstructionRecord& record = found[{function, one.pcOffset}];
    record.offset = one.pcOffset;
    if (function != kernel) record.function = function;
    for (std::size_t i = 0; i < most; ++i) {
      const CUpti_SassMetrics_InstanceValue& value = one.pInstanceValues[i];
      if (value.metricId == ids_[0]) record.warp_instructions += value.value;
      if (value.metricId == ids_[1]) record.active_instructions += value.value;
      if (value.metricId == ids_[2]) record.thread_instructions += value.value;
    }
  }
  std::vector<wire::InstructionRecord> executed;
  for (auto& [key, record] : found) {
    if (record.warp_instructions > 0) executed.push_back(std::move(record));
  }
  return executed;
}

}  // namespace ptxbench::gpu
