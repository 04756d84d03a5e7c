#include "core/sandbox/engine/custom.h"

#include <algorithm>
#include <set>

#include "core/sandbox/convert/converter.h"
#include "core/sandbox/convert/review.h"
#include "core/sandbox/model/negotiate.h"
#include "core/sandbox/validation/compiled_schema.h"
#include "core/sandbox/validation/conversion_rules.h"
#include "core/sandbox/validation/definition_checks.h"
#include "kubeclient/base/ascii.h"

namespace fleetadm::sandbox {
namespace {

void default_definition(Json& crd) {
  Json& names = at_or_make(crd, {"spec", "names"});
  if (str(names, {"singular"}).empty()) names["singular"] = lower_case(str(names, {"kind"}));
  if (str(names, {"listKind"}).empty()) names["listKind"] = str(names, {"kind"}) + "List";
  default_conversion(crd);
}

Json* condition_of(Json& crd, const std::string& type) {
  Json& list = at_or_make(crd, {"status", "conditions"});
  if (!list.is_array()) list = Json::array();
  for (Json& one : list) {
    if (str(one, {"type"}) == type) return &one;
  }
  return nullptr;
}

bool set_condition(Json& crd, const std::string& type, bool holds, const std::string& reason, const std::string& message,
                   Instant now) {
  const std::string status = holds ? "True" : "False";
  Json* at = condition_of(crd, type);
  if (at != nullptr && str(*at, {"status"}) == status && str(*at, {"reason"}) == reason) return false;
  Json next = {
      {"type", type}, {"status", status}, {"reason", reason}, {"message", message}, {"lastTransitionTime", format_time(now)}};
  if (at != nullptr) {
    *at = std::move(next);
  } else {
    at_or_make(crd, {"status", "conditions"}).push_back(std::move(next));
  }
  return true;
}

bool holds(const Json& crd, std::string_view type) {
  for (const Json& one : list_at(crd, {"status", "conditions"})) {
    if (str(one, {"type"}) == type) return str(one, {"status"}) == "True";
  }
  return false;
}

/// Anywhere in a schema; a property of that name counts, too, which only costs time.
bool has_default(const Json& schema) {
  if (schema.is_object() && schema.contains("default")) return true;
  return schema.is_structured() && std::any_of(schema.begin(), schema.end(), has_default);
}

std::string storage_version_of(const Json& crd) {
  for (const Json& version : list_at(crd, {"spec", "versions"})) {
    if (flag(version, {"storage"})) return str(version, {"name"});
  }
  return {};
}

std::vector<std::string> names_of(const Json& crd) {
  auto out = string_list_at(crd, {"spec", "names", "shortNames"});
  out.push_back(str(crd, {"spec", "names", "plural"}));
  out.push_back(str(crd, {"spec", "names", "singular"}));
  return out;
}

using Schemas = std::map<std::string, std::shared_ptr<const CompiledSchema>, std::less<>>;  // by version

/// Null where every version reads alike.
std::shared_ptr<const convert::Converter> make_converter(const Json& definition, const Schemas& schemas,
                                                         const convert::Place& place) {
  const Json& versions = list_at(definition, {"spec", "versions"});
  if (versions.size() < 2) return nullptr;
  const bool by_webhook = str(definition, {"spec", "conversion", "strategy"}) == "Webhook";
  const Json& schema = object_at(versions.front(), {"schema", "openAPIV3Schema"});
  const bool alike = std::all_of(versions.begin(), versions.end(), [&](const Json& version) {
    return object_at(version, {"schema", "openAPIV3Schema"}) == schema;
  });
  if (alike && !by_webhook) return nullptr;
  convert::Converter::Options options;
  options.group = str(definition, {"spec", "group"});
  options.kind = str(definition, {"spec", "names", "kind"});
  options.storage_version = storage_version_of(definition);
  const auto stored = string_list_at(definition, {"status", "storedVersions"});
  options.first_version = stored.empty() ? options.storage_version : stored.front();
  for (const auto& [name, one] : schemas) options.shapes.emplace(name, one->shape);
  if (by_webhook) {
    const Json& webhook = object_at(definition, {"spec", "conversion", "webhook"});
    options.webhook = std::make_shared<const convert::Webhook>(object_at(webhook, {"clientConfig"}), place);
    options.review_version = convert::review_version(string_list_at(webhook, {"conversionReviewVersions"}));
  }
  return std::make_shared<const convert::Converter>(std::move(options));
}

std::shared_ptr<CustomKind> custom_of(const Json& definition, const Json& version,
                                      const std::shared_ptr<const CompiledSchema>& schema) {
  auto custom = std::make_shared<CustomKind>();
  custom->definition = name_of(definition);
  custom->schema = std::shared_ptr<const Json>(schema, &schema->text);
  custom->shape = schema->shape;
  custom->storage_version = storage_version_of(definition);
  custom->columns = list_at(version, {"additionalPrinterColumns"});
  custom->terminating = is_deleting(definition);
  custom->has_status = find(version, {"subresources", "status"}) != nullptr;
  if (const Json* scale = find(version, {"subresources", "scale"}); scale != nullptr && scale->is_object())
    custom->scale = *scale;
  if (flag(version, {"deprecated"}))
    custom->deprecation = str(version, {"deprecationWarning"},
                              str(definition, {"spec", "group"}) + "/" + str(version, {"name"}) + " " +
                                  str(definition, {"spec", "names", "kind"}) + " is deprecated");
  return custom;
}

KindPtr row_of(const Json& definition, const Json& version, std::shared_ptr<const CustomKind> custom) {
  const Json& names = object_at(definition, {"spec", "names"});
  Kind row;
  row.group = str(definition, {"spec", "group"});
  row.version = str(version, {"name"});
  row.plural = str(names, {"plural"});
  row.singular = str(names, {"singular"});
  row.kind = str(names, {"kind"});
  row.list_kind = str(names, {"listKind"});
  row.namespaced = str(definition, {"spec", "scope"}) == "Namespaced";
  row.verbs = {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
  row.short_names = string_list_at(names, {"shortNames"});
  row.categories = string_list_at(names, {"categories"});
  row.storage = row.group + "/" + row.plural;
  for (const Json& field : list_at(version, {"selectableFields"})) {
    auto path = str(field, {"jsonPath"});
    if (!path.empty() && path.front() == '.') path.erase(0, 1);
    row.selectable.push_back(std::move(path));
  }
  if (custom->has_status) row.subresources.push_back({"status", "", "", "", {"get", "patch", "update"}});
  if (!custom->scale.is_null()) row.subresources.push_back({"scale", "autoscaling", "v1", "Scale", {"get", "patch", "update"}});
  // What was stored before a default was declared has it when it is read.
  if (has_default(*custom->schema)) {
    row.on_read = [shape = custom->shape](Json object) {
      shape->default_values(object);
      return object;
    };
  }
  row.custom = std::move(custom);
  return std::make_shared<const Kind>(std::move(row));
}

}  // namespace

std::vector<KindPtr> rows_of(const Json& definition, const convert::Place& place) {
  std::vector<KindPtr> out;
  if (!holds(definition, "Established")) return out;
  Schemas schemas;
  for (const Json& version : list_at(definition, {"spec", "versions"})) {
    // What is none was refused when it was written; a file from elsewhere may hold one.
    if (auto schema = compiled_schema(object_at(version, {"schema", "openAPIV3Schema"})))
      schemas.emplace(str(version, {"name"}), std::move(schema));
  }
  const auto converter = make_converter(definition, schemas, place);
  for (const Json& version : list_at(definition, {"spec", "versions"})) {
    const auto schema = schemas.find(str(version, {"name"}));
    if (!flag(version, {"served"}) || schema == schemas.end()) continue;
    auto custom = custom_of(definition, version, schema->second);
    custom->converter = converter;
    out.push_back(row_of(definition, version, std::move(custom)));
  }
  return out;
}

bool establish(Json& definition, const std::vector<Json>& others, Instant now) {
  std::string taken;
  for (const Json& other : others) {
    if (name_of(other) == name_of(definition) || str(other, {"spec", "group"}) != str(definition, {"spec", "group"}) ||
        !holds(other, "NamesAccepted"))
      continue;
    const auto theirs = names_of(other);
    for (const auto& name : names_of(definition)) {
      if (std::find(theirs.begin(), theirs.end(), name) != theirs.end()) taken = name;
    }
    if (str(other, {"spec", "names", "kind"}) == str(definition, {"spec", "names", "kind"}))
      taken = str(definition, {"spec", "names", "kind"});
  }
  bool changed = false;
  if (taken.empty()) {
    changed = set_condition(definition, "NamesAccepted", true, "NoConflicts", "no conflicts found", now);
    const bool waits = !holds(definition, "Established") && has_bad_ca_bundle(object_at(definition, {"spec", "conversion"}));
    changed = (waits ? set_condition(definition, "Established", false, "InvalidCABundle",
                                     "The conversion webhook CABundle is invalid", now)
                     : set_condition(definition, "Established", true, "InitialNamesAccepted",
                                     "the initial names have been accepted", now)) ||
              changed;
    Json names = object_at(definition, {"spec", "names"});
    if (object_at(definition, {"status", "acceptedNames"}) != names) {
      at_or_make(definition, {"status", "acceptedNames"}) = std::move(names);
      changed = true;
    }
  } else {
    changed = set_condition(definition, "NamesAccepted", false, "Conflict", "\"" + taken + "\" is already in use", now);
    if (!holds(definition, "Established"))
      changed = set_condition(definition, "Established", false, "NotAccepted", "not all names are accepted", now) || changed;
  }
  auto stored = string_list_at(definition, {"status", "storedVersions"});
  for (const Json& version : list_at(definition, {"spec", "versions"})) {
    const auto name = str(version, {"name"});
    if (!flag(version, {"storage"}) || std::find(stored.begin(), stored.end(), name) != stored.end()) continue;
    stored.push_back(name);
    at_or_make(definition, {"status", "storedVersions"}) = stored;
    changed = true;
  }
  return changed;
}

Strategy definition_strategy() {
  Strategy out;
  out.defaults = default_definition;
  out.validates_imports = true;
  out.before_removal = [](Json& crd) {
    auto finalizers = string_list_at(crd, {"metadata", "finalizers"});
    std::erase(finalizers, kDefinitionCleanup);
    finalizers.emplace_back(kDefinitionCleanup);
    at_or_make(crd, {"metadata", "finalizers"}) = finalizers;
  };
  out.create = [](const StrategyContext& context, Json& crd) -> ApiStatus {
    if (const auto problems = definition_problems(crd); !problems.empty()) return invalid(context.kind, name_of(crd), problems);
    // Served from the answer on: nothing has to be waited for in one process.
    establish(crd, context.engine.list(context.kind), context.now);
    return {};
  };
  out.update = [](const StrategyContext& context, Json& crd, const Json& old) -> ApiStatus {
    auto problems = definition_problems(crd);
    if (str(crd, {"spec", "scope"}) != str(old, {"spec", "scope"}))
      problems.push_back(bad_value("spec.scope", str(crd, {"spec", "scope"}), "field is immutable"));
    if (str(crd, {"spec", "group"}) != str(old, {"spec", "group"}))
      problems.push_back(bad_value("spec.group", str(crd, {"spec", "group"}), "field is immutable"));
    if (const auto kind = str(crd, {"spec", "names", "kind"});
        holds(old, "Established") && kind != str(old, {"spec", "names", "kind"}))
      problems.push_back(bad_value("spec.names.kind", kind, "field is immutable"));
    std::set<std::string> versions;
    for (const Json& version : list_at(crd, {"spec", "versions"})) versions.insert(str(version, {"name"}));
    if (context.options.subresource.empty()) {
      int index = 0;
      for (const auto& name : string_list_at(crd, {"status", "storedVersions"})) {
        if (!versions.contains(name))
          problems.push_back(bad_value("status.storedVersions[" + std::to_string(index) + "]", name,
                                       "missing from spec.versions; " + name +
                                           " was previously a storage version, and must remain in " +
                                           "spec.versions until a storage migration ensures no data remains persisted in " +
                                           name + " and removes " + name + " from status.storedVersions"));
        ++index;
      }
    }
    if (holds(old, "Established") && !has_bad_ca_bundle(object_at(old, {"spec", "conversion"}))) {
      for (auto& cause : ca_bundle_problems(object_at(crd, {"spec", "conversion"}))) problems.push_back(std::move(cause));
    }
    if (!problems.empty()) return invalid(context.kind, name_of(crd), problems);
    if (context.options.subresource.empty() && !is_deleting(crd)) establish(crd, context.engine.list(context.kind), context.now);
    return {};
  };
  return out;
}

namespace {

ApiStatus check_shape(const Kind& kind, const Json& object, const Json* old, bool only_status) {
  std::vector<Cause> causes;
  for (auto& cause : kind.custom->shape->validate(object, old, only_status))
    causes.push_back({cause.reason, cause.message, cause.field});
  if (causes.empty()) return {};
  return invalid(kind, name_of(object), causes);
}

}  // namespace

ApiStatus check_custom_create(const Kind& kind, Json& object) {
  kind.custom->shape->default_values(object);
  return check_shape(kind, object, nullptr, false);
}

ApiStatus check_custom_update(const Kind& kind, Json& object, const Json& old, const std::string& subresource) {
  kind.custom->shape->default_values(object);
  return check_shape(kind, object, &old, subresource == "status");
}

}  // namespace fleetadm::sandbox
