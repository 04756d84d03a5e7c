#include "core/work/rules/feedback.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "kubeclient/base/go_json.h"
#include "kubeclient/base/jsonpath.h"

namespace fleetadm::work {
namespace {

struct WellKnown {
  std::string_view api_version;
  std::string_view kind;
  std::string_view name;
  std::string_view path;
};

constexpr auto kWellKnown = std::to_array<WellKnown>({
    {"apps/v1", "Deployment", "ReadyReplicas", ".status.readyReplicas"},
    {"apps/v1", "Deployment", "Replicas", ".status.replicas"},
    {"apps/v1", "Deployment", "AvailableReplicas", ".status.availableReplicas"},
    {"apps/v1", "DaemonSet", "NumberReady", ".status.numberReady"},
    {"apps/v1", "DaemonSet", "DesiredNumberScheduled", ".status.desiredNumberScheduled"},
    {"apps/v1", "DaemonSet", "NumberAvailable", ".status.numberAvailable"},
    {"batch/v1", "Job", "JobComplete", ".status.conditions[?(@.type==\"Complete\")].status"},
    {"batch/v1", "Job", "JobSucceeded", ".status.succeeded"},
    {"v1", "Pod", "PodReady", ".status.conditions[?(@.type==\"Ready\")].status"},
    {"v1", "Pod", "PodPhase", ".status.phase"},
});

struct NamedPath {
  std::string name;
  std::string version;
  std::string path;
};

std::string_view go_type(const Json& value) {
  if (value.is_object()) return "map[string]interface {}";
  if (value.is_array()) return "[]interface {}";
  return "float64";
}

/// The fieldValue of a value; nullopt where there is nothing to report.
Result<std::optional<Json>> field_value(const NamedPath& path, const Json& value, const FeedbackOptions& options) {
  Json field = Json::object();
  if (value.is_null()) return std::optional<Json>();
  if (value.is_number_integer()) {
    field["type"] = "Integer";
    field["integer"] = value;
  } else if (value.is_string()) {
    field["type"] = "String";
    field["string"] = value;
  } else if (value.is_boolean()) {
    field["type"] = "Boolean";
    field["boolean"] = value;
  } else if (options.raw_json) {
    std::string raw = dump_go_json(value);
    if (raw.size() > options.max_raw_length) {
      return fail(Category::kInvalid, "the length of returned json raw string for name " + path.name +
                                          " is larger than the maximum length " + std::to_string(options.max_raw_length));
    }
    field["type"] = "JsonRaw";
    field["jsonRaw"] = std::move(raw);
  } else {
    return fail(Category::kInvalid,
                "the type " + std::string(go_type(value)) + " of the value for " + path.name + " is not found");
  }
  return std::optional(std::move(field));
}

Result<std::optional<Json>> read_path(const NamedPath& path, const Json& object, const FeedbackOptions& options) {
  Result<std::vector<Json>> items = select_json_path(path.path, object);
  if (!items) {
    const std::string why = items.error().message;
    const std::string what =
        why == "unterminated array" ? "failed to parse json path " + path.path + " of " : "failed to find value for ";
    return fail(Category::kInvalid, what + path.name + " with error: " + why);
  }
  if (items->empty()) return std::optional<Json>();
  if (options.raw_json && items->size() > 1) {
    Json all = Json::array();
    for (Json& item : *items) all.push_back(std::move(item));
    return field_value(path, all, options);
  }
  return field_value(path, items->front(), options);
}

std::string version_of(const Json& object) {
  const std::string api_version = str(object, {"apiVersion"});
  const std::size_t slash = api_version.find('/');
  return slash == std::string::npos ? api_version : api_version.substr(slash + 1);
}

}  // namespace

FeedbackResult feedback_of_rule(const Json& rule, const Json& object, const FeedbackOptions& options) {
  FeedbackResult result;
  std::vector<std::string> errors;
  std::vector<NamedPath> paths;
  const std::string type = str(rule, {"type"});
  if (type == "WellKnownStatus") {
    for (const WellKnown& known : kWellKnown) {
      if (known.api_version == str(object, {"apiVersion"}) && known.kind == str(object, {"kind"})) {
        paths.push_back({std::string(known.name), {}, std::string(known.path)});
      }
    }
    if (paths.empty()) {
      std::string group_version = str(object, {"apiVersion"});
      if (group_version.find('/') == std::string::npos) group_version = "/" + group_version;
      errors.push_back("cannot find the wellknown statuses for resource with gvk " + group_version +
                       ", Kind=" + str(object, {"kind"}));
    }
  } else {
    for (const Json& entry : list_at(rule, {"jsonPaths"})) {
      paths.push_back({str(entry, {"name"}), str(entry, {"version"}), str(entry, {"path"})});
    }
  }
  for (const NamedPath& path : paths) {
    if (!path.version.empty() && path.version != version_of(object)) {
      errors.push_back("version set in the path " + path.name + " is not matched for the related resource");
      continue;
    }
    Result<std::optional<Json>> value = read_path(path, object, options);
    if (!value) {
      errors.push_back(value.error().message);
    } else if (*value) {
      result.values.push_back(Json::object({{"name", path.name}, {"fieldValue", std::move(**value)}}));
    }
  }
  for (const std::string& error : errors) result.error += (result.error.empty() ? "" : ", ") + error;
  if (errors.size() > 1) result.error = "[" + result.error + "]";
  return result;
}

FeedbackResult feedback_of(const Json& rules, const Json& object, const FeedbackOptions& options) {
  FeedbackResult result;
  if (!rules.is_array()) return result;
  for (const Json& rule : rules) {
    FeedbackResult one = feedback_of_rule(rule, object, options);
    for (Json& value : one.values) {
      // The list is keyed by name on the wire: the last one wins, at the first one's place.
      bool known = false;
      for (Json& other : result.values) {
        if (str(other, {"name"}) != str(value, {"name"})) continue;
        other = value;
        known = true;
      }
      if (!known) result.values.push_back(std::move(value));
    }
    if (!one.error.empty()) result.error += (result.error.empty() ? "" : ", ") + one.error;
  }
  return result;
}

}  // namespace fleetadm::work
