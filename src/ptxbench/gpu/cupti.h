// CUPTI through a table of the functions that we use. Opened when something is measured, not before: it costs start-up
// time, and a device process that only checks results does not need it.
#pragma once

#include <cupti_activity.h>
#include <cupti_profiler_target.h>
#include <cupti_result.h>
#include <cupti_sass_metrics.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include <string>

#include "ptxbench/base/result.h"

namespace ptxbench::gpu {

#define PTXBENCH_CUPTI_FUNCTIONS(X)                          \
  X(version, cuptiGetVersion)                                \
  X(result_string, cuptiGetResultString)                     \
  X(activity_callbacks, cuptiActivityRegisterCallbacks)      \
  X(activity_enable, cuptiActivityEnable)                    \
  X(activity_disable, cuptiActivityDisable)                  \
  X(activity_flush, cuptiActivityFlushAll)                   \
  X(activity_next, cuptiActivityGetNextRecord)               \
  X(activity_dropped, cuptiActivityGetNumDroppedRecords)     \
  X(profiler_initialize, cuptiProfilerInitialize)            \
  X(chip_name, cuptiDeviceGetChipName)                       \
  X(sass_properties, cuptiSassMetricsGetProperties)          \
  X(sass_configure, cuptiSassMetricsSetConfig)               \
  X(sass_enable, cuptiSassMetricsEnable)                     \
  X(sass_disable, cuptiSassMetricsDisable)                   \
  X(sass_data_properties, cuptiSassMetricsGetDataProperties) \
  X(sass_flush, cuptiSassMetricsFlushData)

struct Cupti {
#define PTXBENCH_MEMBER(member, function) decltype(&::function) member = nullptr;
  PTXBENCH_CUPTI_FUNCTIONS(PTXBENCH_MEMBER)
#undef PTXBENCH_MEMBER
  std::uint32_t api_version = 0;
  std::string path;

  // kUnavailable with "`what`: CUPTI_ERROR_...", and what to do where that is known (permission, another profiler).
  Status check(CUptiResult result, const char* what) const;
};

// Opens the library once per process.
Result<const Cupti*> open_cupti();

}  // namespace ptxbench::gpu
