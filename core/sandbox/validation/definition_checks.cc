#include "core/sandbox/validation/definition_checks.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/apimachinery/structural.h"
#include "core/sandbox/model/negotiate.h"
#include "core/sandbox/validation/compiled_schema.h"
#include "core/sandbox/validation/conversion_rules.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/names.h"

namespace fleetadm::sandbox {
namespace {

using Causes = std::vector<Cause>;
constexpr std::size_t kMaxSelectableFields = 8;
constexpr std::size_t kMaxDeprecationWarning = 256;

std::string in_one_line(const std::vector<std::string>& problems) {
  std::string out;
  for (const auto& problem : problems) out += (out.empty() ? "" : ",") + problem;
  return out;
}

void check_label(const std::string& field, const std::string& name, Causes& out, const std::string& before = {}) {
  if (const auto problems = service_name_problems(before.empty() ? name : lower_case(name)); !problems.empty())
    out.push_back(bad_value(field, name, before + in_one_line(problems)));
}

void check_definition_names(const Json& names, Causes& out) {
  const std::string at = "spec.names.";
  for (const char* field : {"plural", "singular", "kind", "listKind"}) {
    if (str(names, {field}).empty()) out.push_back(required(at + field));
  }
  for (const char* field : {"plural", "singular"}) {
    if (const auto name = str(names, {field}); !name.empty()) check_label(at + field, name, out);
  }
  for (const char* field : {"kind", "listKind"}) {
    if (const auto name = str(names, {field}); !name.empty())
      check_label(at + field, name, out, "may have mixed case, but should otherwise match: ");
  }
  if (const auto kind = str(names, {"kind"}); !kind.empty() && kind == str(names, {"listKind"}))
    out.push_back(bad_value(at + "listKind", kind, "kind and listKind may not be the same"));
  for (const char* field : {"shortNames", "categories"}) {
    int index = 0;
    for (const auto& name : string_list_at(names, {field}))
      check_label(at + field + "[" + std::to_string(index++) + "]", name, out);
  }
}

void check_group(const Json& definition, Causes& out) {
  const auto group = str(definition, {"spec", "group"});
  if (group.empty()) {
    out.push_back(required("spec.group"));
  } else if (const auto problems = dns_subdomain_problems(group); !problems.empty()) {
    out.push_back(bad_value("spec.group", group, in_one_line(problems)));
  } else if (group.find('.') == std::string::npos) {
    out.push_back(bad_value("spec.group", group, "should be a domain with at least one dot"));
  }
  const bool kubernetes =
      group == "k8s.io" || group.ends_with(".k8s.io") || group == "kubernetes.io" || group.ends_with(".kubernetes.io");
  if (!kubernetes) return;
  const std::string at = "metadata.annotations[api-approved.kubernetes.io]";
  const std::string must = "protected groups must have approval annotation \"api-approved.kubernetes.io\"";
  const std::string see = ", see https://github.com/kubernetes/enhancements/pull/1111";
  const auto approval = annotation_of(definition, "api-approved.kubernetes.io");
  if (approval.empty()) {
    out.push_back(required(at, must + see));
  } else if (const auto scheme = approval.find("://");
             !approval.starts_with("unapproved") &&
             (scheme == 0 || scheme == std::string::npos || scheme + 3 == approval.size())) {
    out.push_back(bad_value(at, approval, must + " with either a URL or a reason starting with \"unapproved\"" + see));
  }
}

void check_simple_path(const std::string& field, const std::string& path, const std::vector<std::string>& roots,
                       std::string_view words, Causes& out) {
  if (path.empty()) {
    out.push_back(required(field));
  } else if (path.front() != '.') {
    out.push_back(bad_value(field, path, "must be a simple json path starting with ."));
  } else if (!roots.empty() &&
             std::none_of(roots.begin(), roots.end(), [&](const auto& root) { return path.starts_with(root); })) {
    out.push_back(bad_value(field, path, "should be a json path under " + std::string(words)));
  }
}

void check_subresources(const Json& subresources, const std::string& at, Causes& out) {
  const Json* scale = find(subresources, {"scale"});
  if (scale == nullptr || !scale->is_object()) return;
  check_simple_path(at + ".scale.specReplicasPath", str(*scale, {"specReplicasPath"}), {".spec."}, ".spec", out);
  check_simple_path(at + ".scale.statusReplicasPath", str(*scale, {"statusReplicasPath"}), {".status."}, ".status", out);
  if (const auto path = str(*scale, {"labelSelectorPath"}); !path.empty())
    check_simple_path(at + ".scale.labelSelectorPath", path, {".spec.", ".status."}, "either .spec or .status", out);
}

void check_columns(const Json& columns, const std::string& at, Causes& out) {
  static constexpr std::array kTypes = {"boolean", "date", "integer", "number", "string"};
  static constexpr std::array kFormats = {"byte", "date", "date-time", "double", "float", "int32", "int64", "password"};
  int index = 0;
  if (!columns.is_array()) return;
  for (const Json& column : columns) {
    const auto here = at + "[" + std::to_string(index++) + "].";
    if (str(column, {"name"}).empty()) out.push_back(required(here + "name"));
    const std::string types = "must be one of boolean,date,integer,number,string";
    if (const auto type = str(column, {"type"}); type.empty()) {
      out.push_back(required(here + "type", types));
    } else if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end()) {
      out.push_back(bad_value(here + "type", type, types));
    }
    if (const auto format = str(column, {"format"});
        !format.empty() && std::find(kFormats.begin(), kFormats.end(), format) == kFormats.end()) {
      out.push_back(bad_value(here + "format", format, "must be one of byte,date,date-time,double,float,int32,int64,password"));
    }
    check_simple_path(here + "JSONPath", str(column, {"jsonPath"}), {}, {}, out);
  }
}

/// Of a path of plain names; null where the schema has no such field.
const Json* schema_at(const Json& schema, std::string_view path) {
  const Json* at = &schema;
  while (at != nullptr && path.starts_with('.')) {
    path.remove_prefix(1);
    const auto dot = path.find('.');
    at = find(*at, {"properties", path.substr(0, dot)});
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot);
  }
  return path.empty() ? at : nullptr;
}

void check_selectable(const Json& fields, const Json& schema, const std::string& at, Causes& out) {
  if (!fields.is_array()) return;
  std::set<std::string> seen;
  int index = 0;
  for (const Json& one : fields) {
    const auto field = at + "[" + std::to_string(index++) + "].jsonPath";
    const auto path = str(one, {"jsonPath"});
    if (path.empty()) {
      out.push_back(required(field));
      continue;
    }
    const bool in_metadata = path == ".metadata" || path.starts_with(".metadata.");
    const Json* found = schema_at(schema, path);
    if (path.find('[') != std::string::npos) {
      out.push_back(bad_value(field, path, "is an invalid path: array notation is not allowed"));
      continue;
    }
    if (in_metadata) {
      out.push_back(bad_value(field, path, "must not point to fields in metadata"));
    } else if (found == nullptr) {
      out.push_back(bad_value(field, path, "is an invalid path: does not refer to a valid field"));
      continue;
    } else if (const auto type = str(*found, {"type"}); type != "string" && type != "boolean" && type != "integer") {
      out.push_back(bad_value(field, path,
                              "must point to a field of type string, boolean or integer. Enum string fields and strings with "
                              "formats are allowed."));
    }
    if (!seen.insert(path).second) out.push_back(duplicate(field, path));
  }
  if (seen.size() > kMaxSelectableFields) {
    out.push_back(
        {"FieldValueTooMany",
         "Too many: " + std::to_string(seen.size()) + ": must have at most " + std::to_string(kMaxSelectableFields) + " items",
         at});
  }
}

void check_schema(const Json& schema, const std::string& at, Causes& out) {
  if (!schema.is_object()) return;      // that there is one is asked of each version
  if (compiled_schema(schema)) return;  // most clusters of a process have the same definitions
  if (const auto compiled = apimachinery::Structural::compile(schema, at); !compiled) {
    for (const auto& cause : compiled.error()) out.push_back({cause.reason, cause.message, cause.field});
  }
}

/// One part of every version, checked once where all have the same.
template <class Check>
void check_each(const Json& versions, std::string_view part, const std::string& shared, Causes& out, Check&& check) {
  if (versions.empty()) return;
  const Json* first = find(versions.front(), {part});
  const auto alike = std::all_of(versions.begin(), versions.end(), [&](const Json& version) {
    const Json* own = find(version, {part});
    return own == nullptr || first == nullptr ? own == first : *own == *first;
  });
  if (alike) return check(versions.front(), "spec." + shared, out);
  int index = 0;
  for (const Json& version : versions) check(version, "spec.versions[" + std::to_string(index++) + "]." + std::string(part), out);
}

void check_versions(const Json& definition, Causes& out) {
  const Json& versions = list_at(definition, {"spec", "versions"});
  std::set<std::string> seen;
  bool unique = true;
  int storage = 0;
  int index = 0;
  for (const Json& version : versions) {
    const auto at = "spec.versions[" + std::to_string(index++) + "]";
    if (find(version, {"schema", "openAPIV3Schema"}) == nullptr) out.push_back(required(at + ".schema.openAPIV3Schema"));
    const auto name = str(version, {"name"});
    check_label(at + ".name", name, out);
    unique = seen.insert(name).second && unique;
    if (flag(version, {"storage"})) ++storage;
    if (const Json* warning = find(version, {"deprecationWarning"}); warning != nullptr && warning->is_string()) {
      const auto text = str(version, {"deprecationWarning"});
      const auto field = at + ".deprecationWarning";
      if (!flag(version, {"deprecated"})) {
        out.push_back(bad_value(field, text, "can only be set for deprecated versions"));
      } else if (text.empty()) {
        out.push_back(bad_value(field, text, "must not be an empty string"));
      } else if (text.size() > kMaxDeprecationWarning) {
        out.push_back(bad_value(field, text, "must be <= 256 characters long"));
      }
    }
  }
  if (!unique) out.push_back(bad_value("spec.versions", versions, "must contain unique version names"));
  if (storage != 1)
    out.push_back(bad_value("spec.versions", versions, "must have exactly one version marked as storage version"));
  check_each(versions, "schema", "validation", out, [](const Json& version, const std::string& at, Causes& causes) {
    if (const Json* schema = find(version, {"schema", "openAPIV3Schema"}); schema != nullptr)
      check_schema(*schema, at + ".openAPIV3Schema", causes);
  });
  check_each(versions, "subresources", "subresources", out, [](const Json& version, const std::string& at, Causes& causes) {
    check_subresources(object_at(version, {"subresources"}), at, causes);
  });
  check_each(versions, "additionalPrinterColumns", "additionalPrinterColumns", out,
             [](const Json& version, const std::string& at, Causes& causes) {
               check_columns(list_at(version, {"additionalPrinterColumns"}), at, causes);
             });
  check_each(
      versions, "selectableFields", "selectableFields", out, [](const Json& version, const std::string& at, Causes& causes) {
        check_selectable(list_at(version, {"selectableFields"}), object_at(version, {"schema", "openAPIV3Schema"}), at, causes);
      });
}

}  // namespace

std::vector<Cause> definition_problems(const Json& definition) {
  Causes out;
  const auto group = str(definition, {"spec", "group"});
  if (name_of(definition) != str(definition, {"spec", "names", "plural"}) + "." + group)
    out.push_back(bad_value("metadata.name", name_of(definition), "must be spec.names.plural+\".\"+spec.group"));
  check_group(definition, out);
  const auto scope = str(definition, {"spec", "scope"});
  if (scope.empty()) {
    out.push_back(required("spec.scope"));
  } else if (scope != "Namespaced" && scope != "Cluster") {
    out.push_back(unsupported("spec.scope", scope, {"Cluster", "Namespaced"}));
  }
  check_versions(definition, out);
  check_definition_names(object_at(definition, {"spec", "names"}), out);
  for (auto& cause : conversion_problems(object_at(definition, {"spec", "conversion"}))) out.push_back(std::move(cause));
  if (flag(definition, {"spec", "preserveUnknownFields"})) {
    out.push_back(
        bad_value("spec.preserveUnknownFields", true,
                  "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"));
  }
  return out;
}

}  // namespace fleetadm::sandbox
