// Workloads: one line of a workloads file, and what a workload makes of a definition's axes.
#include <cmath>

#include "ptxbench/base/check.h"
#include "ptxbench/schema/definition.h"
#include "ptxbench/schema/expression.h"
#include "ptxbench/schema/open_json.h"

namespace ptxbench::schema {
namespace {

const TensorSpec* find_tensor(const std::vector<TensorSpec>& tensors, std::string_view name) {
  for (const TensorSpec& tensor : tensors)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

void read_source(OpenObject& entry, WorkloadInput& input, OpenReading& reading) {
  const std::string type = entry.string("type");
  if (type == "random") {
    input.kind = WorkloadInput::Kind::kRandom;
  } else if (type == "scalar") {
    input.kind = WorkloadInput::Kind::kScalar;
    const Json* value = entry.require("value");
    if (value != nullptr && value->is_number()) {
      input.scalar = value->get<double>();
    } else if (value != nullptr && value->is_boolean()) {
      input.scalar = value->get<bool>() ? 1 : 0;
    } else if (value != nullptr) {
      entry.wrong("value", "a number", *value);
    }
  } else if (type == "safetensors") {
    input.kind = WorkloadInput::Kind::kSafetensors;
    input.path = entry.string("path");
    input.tensor_key = entry.string("tensor_key");
  } else if (entry.take("type") != nullptr) {
    reading.error(entry.path_of("type"), fmt::format("found '{}', expected 'random', 'scalar' or 'safetensors'", type));
  }
  entry.leave();
}

void read_sources(OpenObject& parent, const Json& json, const char* key, const std::vector<TensorSpec>& tensors,
                  std::vector<WorkloadInput>& sources, OpenReading& reading) {
  OpenObject group = parent.object(key);
  if (!group.valid()) return;
  for (const auto& [name, value] : json.at(key).items()) {
    OpenObject entry = group.object(name);
    if (!entry.valid()) continue;
    if (find_tensor(tensors, name) == nullptr) reading.error(entry.path(), "the definition has no tensor of this name");
    WorkloadInput source;
    source.name = name;
    read_source(entry, source, reading);
    sources.push_back(std::move(source));
  }
}

void read_axes(OpenObject& parent, const Json& json, const Definition& definition, Workload& workload,
               OpenReading& reading) {
  OpenObject axes = parent.object("axes");
  if (!axes.valid()) return;
  for (const auto& [name, value] : json.at("axes").items()) {
    const Axis* axis = definition.axis(name);
    const std::optional<std::int64_t> extent = axes.integer(name);
    if (!extent) continue;
    if (axis == nullptr) {
      reading.error(axes.path_of(name), "the definition declares no such axis");
    } else if (axis->constant && *axis->constant != *extent) {
      reading.error(axes.path_of(name),
                    fmt::format("found {}, but the definition fixes it to {}", *extent, *axis->constant));
    } else if (*extent < 0) {
      reading.error(axes.path_of(name), fmt::format("found {}, expected 0 or more", *extent));
    } else if (!axis->constant) {
      workload.axes.emplace_back(name, *extent);
    }
  }
}

Json sources_json(const std::vector<WorkloadInput>& sources) {
  Json group = Json::object();
  for (const WorkloadInput& source : sources) {
    Json& entry = group[source.name];
    switch (source.kind) {
      case WorkloadInput::Kind::kRandom: entry["type"] = "random"; break;
      case WorkloadInput::Kind::kScalar:
        entry["type"] = "scalar";
        // Whole numbers stay whole: a Python reader tells 2 from 2.0.
        if (source.scalar == std::floor(source.scalar) && std::abs(source.scalar) < 0x1p53) {
          entry["value"] = static_cast<std::int64_t>(source.scalar);
        } else {
          entry["value"] = source.scalar;
        }
        break;
      case WorkloadInput::Kind::kSafetensors:
        entry["type"] = "safetensors";
        entry["path"] = source.path;
        entry["tensor_key"] = source.tensor_key;
        break;
    }
  }
  return group;
}

void check_fit(const Definition& definition, const Workload& workload, OpenReading& reading) {
  if (workload.uuid.empty()) reading.error("workload.uuid", "is empty");
  for (const Axis& axis : definition.axes) {
    bool given = axis.constant.has_value();
    for (const auto& [name, extent] : workload.axes) given |= name == axis.name;
    if (!given) reading.error("workload.axes", fmt::format("var axis '{}' has no value", axis.name));
  }
  for (const TensorSpec& input : definition.inputs) {
    bool given = false;
    for (const WorkloadInput& source : workload.inputs) given |= source.name == input.name;
    if (!given) reading.error("workload.inputs", fmt::format("input '{}' is missing", input.name));
  }
}

}  // namespace

Result<Workload> workload_from_json(std::string_view text, const Definition& definition, std::string file_name,
                                    int line) {
  PTXBENCH_TRY(const Json json, parse_json(text, file_name, line > 0 ? line : 1));
  OpenReading reading{std::move(file_name), line, {}, {}};
  if (!json.is_object()) {
    reading.error("", fmt::format("found {}, expected an object", json_kind(json)));
    return fail(reading.take_error());
  }
  Workload workload;
  workload.definition = definition.name;
  const bool wrapped = json.contains("workload");
  OpenObject top(json, "", "", reading);
  if (wrapped) {
    const std::string named = top.string("definition");
    if (!named.empty() && named != definition.name)
      reading.error("definition", fmt::format("found '{}', expected '{}'", named, definition.name));
    for (const char* key : {"solution", "evaluation"}) {
      const Json* found = top.take(key);
      if (found != nullptr && !found->is_null()) reading.error(key, "a workload record has none; this is a trace");
    }
  }
  const Json& body_json = wrapped && json.at("workload").is_object() ? json.at("workload") : json;
  // A bare workload is written back inside a record, so its unknown fields are kept under that place.
  OpenObject nested = wrapped ? top.object("workload") : OpenObject(json, "", "/workload", reading);
  if (wrapped && !nested.valid()) return fail(reading.take_error());
  workload.uuid = nested.string("uuid");
  read_axes(nested, body_json, definition, workload, reading);
  read_sources(nested, body_json, "inputs", definition.inputs, workload.inputs, reading);
  if (const Json* outputs = nested.take("outputs"); outputs != nullptr && !outputs->is_null())
    read_sources(nested, body_json, "outputs", definition.outputs, workload.outputs, reading);
  if (nested.take("ptxbench") != nullptr) {
    OpenObject marks = nested.object("ptxbench");
    workload.emulator = marks.boolean("emulator", false);
    marks.leave();
  }
  nested.leave();
  if (wrapped) top.leave();
  check_fit(definition, workload, reading);
  if (!reading.errors.empty()) return fail(reading.take_error());
  workload.unknown = std::move(reading.unknown);
  return workload;
}

std::string to_json(const Workload& workload) {
  Json json = Json::object();
  json["definition"] = workload.definition;
  json["solution"] = nullptr;
  Json& body = json["workload"] = Json::object();
  body["uuid"] = workload.uuid;
  Json& axes = body["axes"] = Json::object();
  for (const auto& [name, extent] : workload.axes) axes[name] = extent;
  body["inputs"] = sources_json(workload.inputs);
  if (!workload.outputs.empty()) body["outputs"] = sources_json(workload.outputs);
  if (workload.emulator) body["ptxbench"]["emulator"] = true;
  json["evaluation"] = nullptr;
  restore_unknown(json, workload.unknown);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<AxisValues> resolve_axes(const Definition& definition, const Workload& workload) {
  AxisValues values;
  const auto problem = [&](const std::string& what) {
    return fail(ErrorKind::kInvalidInput, fmt::format("workload {} of {}: {}", workload.uuid, definition.name, what));
  };
  for (const Axis& axis : definition.axes)
    if (axis.constant) values[axis.name] = *axis.constant;
  for (const auto& [name, extent] : workload.axes) {
    const Axis* axis = definition.axis(name);
    if (axis == nullptr) return problem(fmt::format("axis '{}' is not declared", name));
    if (axis->constant && *axis->constant != extent)
      return problem(fmt::format("axis '{}' is {}, but the definition fixes it to {}", name, extent, *axis->constant));
    values[name] = extent;
  }
  for (const Axis& axis : definition.axes)
    if (!values.contains(axis.name)) return problem(fmt::format("var axis '{}' has no value", axis.name));
  for (const std::string& constraint : definition.constraints) {
    PTXBENCH_TRY(const std::int64_t holds, evaluate_expression(constraint, values));
    if (holds == 0) return problem(fmt::format("breaks the constraint '{}'", constraint));
  }
  return values;
}

std::vector<std::int64_t> extents(const TensorSpec& tensor, const AxisValues& axes) {
  std::vector<std::int64_t> shape;
  if (!tensor.shape) return shape;
  for (const std::string& axis : *tensor.shape) {
    const auto it = axes.find(axis);
    PTXBENCH_CHECK(it != axes.end(), "axis {} of tensor {} has no value", axis, tensor.name);
    shape.push_back(it->second);
  }
  return shape;
}

}  // namespace ptxbench::schema
