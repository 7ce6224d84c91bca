// Definitions: FlashInfer Trace's JSON, read strictly and written back with what was unknown.
#include <algorithm>

#include "ptxbench/schema/definition.h"
#include "ptxbench/schema/enum_text.h"
#include "ptxbench/schema/expression.h"
#include "ptxbench/schema/open_json.h"

namespace ptxbench::schema {
namespace {

constexpr std::pair<Operation, std::string_view> kOperations[] = {
    {Operation::kGemmNt, "gemm_nt"},
    {Operation::kAttentionForward, "attention_forward"},
    {Operation::kAttentionBackward, "attention_backward"},
};

std::string axis_list(const Definition& definition) {
  std::string list;
  for (const Axis& axis : definition.axes) list += (list.empty() ? "" : ", ") + axis.name;
  return list.empty() ? "none" : list;
}

std::string dtype_list() {
  std::string list;
  for (int i = 0; i <= static_cast<int>(DType::kBool); ++i)
    list += (list.empty() ? "" : ", ") + std::string(to_string(static_cast<DType>(i)));
  return list;
}

bool usable_as_file_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.size() <= 200 &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return c > ' ' && c != 127 && c != '/' && c != '\\'; });
}

void read_axes(OpenObject& top, const Json& json, Definition& definition, OpenReading& reading) {
  OpenObject axes = top.object("axes");
  if (!axes.valid()) return;
  for (const auto& [name, value] : json.at("axes").items()) {
    OpenObject entry = axes.object(name);
    if (!entry.valid()) continue;
    Axis axis{name, std::nullopt, ""};
    const std::string type = entry.string("type");
    if (type == "const") {
      const std::optional<std::int64_t> value_field = entry.integer("value");
      if (!value_field) {
        if (entry.take("value") == nullptr) reading.error(entry.path_of("value"), "missing: a const axis has a value");
      } else if (*value_field < 0) {
        reading.error(entry.path_of("value"), fmt::format("found {}, expected 0 or more", *value_field));
      }
      axis.constant = value_field.value_or(0);
    } else if (type == "var") {
      if (entry.take("value") != nullptr)
        reading.error(entry.path_of("value"), "a var axis has no value here; the workload gives it");
    } else if (entry.take("type") != nullptr) {
      reading.error(entry.path_of("type"), fmt::format("found '{}', expected 'const' or 'var'", type));
    }
    axis.description = entry.optional_string("description");
    entry.leave();
    definition.axes.push_back(std::move(axis));
  }
  for (const Axis& axis : definition.axes)
    if (axis.name.empty()) reading.error("axes", "an axis has an empty name");
}

std::optional<std::vector<std::string>> read_shape(OpenObject& entry, const Definition& definition,
                                                   OpenReading& reading) {
  const Json* shape = entry.require("shape");
  if (shape == nullptr || shape->is_null()) return std::nullopt;
  std::vector<std::string> axes;
  if (!shape->is_array()) {
    entry.wrong("shape", "a list of axis names, or null for a scalar", *shape);
    return axes;
  }
  for (std::size_t i = 0; i < shape->size(); ++i) {
    const Json& element = (*shape)[i];
    const std::string key = fmt::format("shape[{}]", i);
    if (!element.is_string()) {
      entry.wrong(key, "an axis name", element);
      continue;
    }
    axes.push_back(element.get<std::string>());
    if (definition.axis(axes.back()) == nullptr)
      reading.error(entry.path_of(key),
                    fmt::format("axis '{}' is not declared (axes: {})", axes.back(), axis_list(definition)));
  }
  return axes;
}

void read_tensors(OpenObject& top, const Json& json, const char* key, const Definition& definition,
                  std::vector<TensorSpec>& tensors, OpenReading& reading) {
  OpenObject group = top.object(key);
  if (!group.valid()) return;
  for (const auto& [name, value] : json.at(key).items()) {
    OpenObject entry = group.object(name);
    if (!entry.valid()) continue;
    TensorSpec tensor;
    tensor.name = name;
    tensor.shape = read_shape(entry, definition, reading);
    const std::string dtype = entry.string("dtype");
    if (const auto known = dtype_from(dtype)) {
      tensor.dtype = *known;
    } else if (entry.take("dtype") != nullptr && !dtype.empty()) {
      reading.error(entry.path_of("dtype"), fmt::format("'{}' is not a dtype (known: {})", dtype, dtype_list()));
    }
    tensor.description = entry.optional_string("description");
    entry.leave();
    tensors.push_back(std::move(tensor));
  }
}

// FlashInfer wants Python that parses and defines run() at top level. Whether it parses needs Python; that a line
// defines run() is what can be told here.
bool defines_run(std::string_view source) {
  std::size_t start = 0;
  while (start < source.size()) {
    const std::string_view line = source.substr(start, source.find('\n', start) - start);
    if (line.starts_with("def run(") || line.starts_with("def run (")) return true;
    const std::size_t end = source.find('\n', start);
    if (end == std::string_view::npos) break;
    start = end + 1;
  }
  return false;
}

void check_axis_expression(const std::string& path, const std::string& text, const Definition& definition,
                           OpenReading& reading) {
  const auto is_axis = [&](std::string_view name) { return definition.axis(name) != nullptr; };
  if (const Status status = check_expression(text, is_axis); !status) reading.error(path, status.error().message);
}

std::map<std::string, std::vector<std::string>> read_target_families(OpenObject& entry, const Json& json) {
  std::map<std::string, std::vector<std::string>> families;
  OpenObject targets = entry.object("target_families");
  if (!targets.valid()) return families;
  for (const auto& [target, list] : json.at("target_families").items()) families[target] = targets.strings(target);
  return families;
}

void read_extension(OpenObject& top, const Json& json, Definition& definition, OpenReading& reading) {
  const Json* found = top.take("ptxbench");
  if (found == nullptr) return;
  OpenObject entry = top.object("ptxbench");
  if (!entry.valid()) return;
  TaskExtension extension;
  const std::string operation = entry.string("operation");
  if (const auto known = enum_from_text(kOperations, operation)) {
    extension.operation = *known;
  } else if (!operation.empty()) {
    reading.error(entry.path_of("operation"),
                  fmt::format("'{}' is not one of gemm_nt, attention_forward, attention_backward", operation));
  }
  extension.causal = entry.boolean("causal", false);
  extension.required_flops = entry.string("required_flops");
  extension.convention_flops = entry.string("convention_flops");
  for (const char* key : {"required_flops", "convention_flops"}) {
    const Json* text = entry.take(key);
    if (text != nullptr && text->is_string())
      check_axis_expression(entry.path_of(key), text->get<std::string>(), definition, reading);
  }
  extension.families = entry.strings("families");
  if (extension.families.empty()) reading.error(entry.path_of("families"), "expected at least one input family");
  extension.target_families = read_target_families(entry, json.at("ptxbench"));
  extension.headline = entry.boolean("headline", false);
  extension.emulator_sibling = entry.optional_string("emulator_sibling");
  extension.full_sibling = entry.optional_string("full_sibling");
  if (!extension.emulator_sibling.empty() && !extension.full_sibling.empty())
    reading.error(entry.path(), "emulator_sibling and full_sibling exclude each other");
  entry.leave();
  definition.extension = std::move(extension);
}

void check_whole(const Definition& definition, OpenReading& reading) {
  if (!definition.name.empty() && !usable_as_file_name(definition.name))
    reading.error("name",
                  fmt::format("'{}' cannot be a file name: no spaces, slashes or leading dot", definition.name));
  if (definition.inputs.empty()) reading.error("inputs", "expected at least one");
  if (definition.outputs.empty()) reading.error("outputs", "expected at least one");
  for (const TensorSpec& output : definition.outputs)
    for (const TensorSpec& input : definition.inputs)
      if (input.name == output.name)
        reading.error("outputs." + output.name, "an input has the same name; name it differently");
  if (!definition.reference.empty() && !defines_run(definition.reference))
    reading.error("reference", "has no top-level 'def run(...)'");
  for (std::size_t i = 0; i < definition.constraints.size(); ++i)
    check_axis_expression(fmt::format("constraints[{}]", i), definition.constraints[i], definition, reading);
}

Json shape_json(const TensorSpec& tensor) {
  if (!tensor.shape) return nullptr;
  Json shape = Json::array();
  for (const std::string& axis : *tensor.shape) shape.push_back(axis);
  return shape;
}

Json tensors_json(const std::vector<TensorSpec>& tensors) {
  Json group = Json::object();
  for (const TensorSpec& tensor : tensors) {
    Json& entry = group[tensor.name];
    entry["shape"] = shape_json(tensor);
    entry["dtype"] = std::string(to_string(tensor.dtype));
    if (!tensor.description.empty()) entry["description"] = tensor.description;
  }
  return group;
}

Json extension_json(const TaskExtension& extension) {
  Json json = Json::object();
  json["operation"] = std::string(to_string(extension.operation));
  json["causal"] = extension.causal;
  json["required_flops"] = extension.required_flops;
  json["convention_flops"] = extension.convention_flops;
  json["families"] = extension.families;
  Json& targets = json["target_families"] = Json::object();
  for (const auto& [target, families] : extension.target_families) targets[target] = families;
  if (extension.headline) json["headline"] = true;
  if (!extension.emulator_sibling.empty()) json["emulator_sibling"] = extension.emulator_sibling;
  if (!extension.full_sibling.empty()) json["full_sibling"] = extension.full_sibling;
  return json;
}

}  // namespace

std::string_view to_string(Operation operation) { return enum_to_text(kOperations, operation); }

const Axis* Definition::axis(std::string_view axis_name) const {
  for (const Axis& axis : axes)
    if (axis.name == axis_name) return &axis;
  return nullptr;
}

Result<Definition> definition_from_json(std::string_view text, std::string file_name) {
  PTXBENCH_TRY(const Json json, parse_json(text, file_name));
  OpenReading reading{std::move(file_name), 0, {}, {}};
  Definition definition;
  if (!json.is_object()) {
    reading.error("", fmt::format("found {}, expected an object", json_kind(json)));
    return fail(reading.take_error());
  }
  OpenObject top(json, "", "", reading);
  definition.name = top.string("name");
  if (definition.name.empty() && top.take("name") != nullptr) reading.error("name", "is empty");
  definition.op_type = top.string("op_type");
  read_axes(top, json, definition, reading);
  read_tensors(top, json, "inputs", definition, definition.inputs, reading);
  read_tensors(top, json, "outputs", definition, definition.outputs, reading);
  definition.reference = top.string("reference");
  definition.constraints = top.strings("constraints");
  definition.tags = top.strings("tags");
  definition.description = top.optional_string("description");
  read_extension(top, json, definition, reading);
  top.leave();
  check_whole(definition, reading);
  if (!reading.errors.empty()) return fail(reading.take_error());
  definition.unknown = std::move(reading.unknown);
  return definition;
}

std::string to_json(const Definition& definition, int indent) {
  Json json = Json::object();
  json["name"] = definition.name;
  json["op_type"] = definition.op_type;
  if (!definition.description.empty()) json["description"] = definition.description;
  if (!definition.tags.empty()) json["tags"] = definition.tags;
  Json& axes = json["axes"] = Json::object();
  for (const Axis& axis : definition.axes) {
    Json& entry = axes[axis.name];
    entry["type"] = axis.constant ? "const" : "var";
    if (axis.constant) entry["value"] = *axis.constant;
    if (!axis.description.empty()) entry["description"] = axis.description;
  }
  if (!definition.constraints.empty()) json["constraints"] = definition.constraints;
  json["inputs"] = tensors_json(definition.inputs);
  json["outputs"] = tensors_json(definition.outputs);
  json["reference"] = definition.reference;
  if (definition.extension) json["ptxbench"] = extension_json(*definition.extension);
  restore_unknown(json, definition.unknown);
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ptxbench::schema
