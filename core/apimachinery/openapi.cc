#include "core/apimachinery/openapi.h"

#include <algorithm>
#include <set>

#include "core/apimachinery/openapi_texts.h"
#include "core/apimachinery/type.h"

namespace fleetadm::apimachinery {
namespace {

/// "core/v1.Pod" as the published documents name it.
std::string published_name(std::string_view message) {
  const auto slash = message.find('/');
  if (slash == std::string_view::npos) return std::string(message);
  const std::string package(message.substr(0, slash));
  const std::string rest(message.substr(slash + 1));  // "v1.Pod"
  if (package == "meta") return "io.k8s.apimachinery.pkg.apis.meta." + rest;
  if (package == "apiextensions") return "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions." + rest;
  if (package == "apiregistration") return "io.k8s.kube-aggregator.pkg.apis.apiregistration." + rest;
  return "io.k8s.api." + package + "." + rest;
}

constexpr std::string_view kQuantity = "io.k8s.apimachinery.pkg.api.resource.Quantity";
constexpr std::string_view kIntOrString = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
constexpr std::string_view kRawExtension = "io.k8s.apimachinery.pkg.runtime.RawExtension";
constexpr std::string_view kTime = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";
constexpr std::string_view kMicroTime = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";
constexpr std::string_view kFields = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1";
constexpr std::string_view kAnyJson = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON";
constexpr std::string_view kSchemaProps = "apiextensions/v1.JSONSchemaProps";

/// Collects schemas, each with what it refers to.
class Schemas {
 public:
  explicit Schemas(std::string prefix) : prefix_(std::move(prefix)) {}

  Json take() { return std::move(schemas_); }
  bool contains(const std::string& name) const { return schemas_.contains(name); }
  void put(const std::string& name, Json schema) { schemas_[name] = std::move(schema); }

  Json reference(std::string_view name) { return {{"$ref", prefix_ + std::string(name)}}; }

  /// A reference to a message, which is added.
  Json message(std::string_view name) {
    const std::string published = published_name(name);
    if (!contains(published)) {
      put(published, Json::object());  // messages may refer to themselves
      Json made = schema_of(name);
      put(published, std::move(made));
    }
    return reference(published);
  }

  void mark_kind(const std::string& published, std::string_view group, std::string_view version, std::string_view kind) {
    Json& kinds = schemas_[published]["x-kubernetes-group-version-kind"];
    if (!kinds.is_array()) kinds = Json::array();
    kinds.push_back({{"group", group}, {"version", version}, {"kind", kind}});
  }

 private:
  Json schema_of(std::string_view name) {
    Json schema = {{"type", "object"}};
    const StructType* type = find_message(name);
    if (type == nullptr) return schema;
    Json required = Json::array();
    for (const FieldType* field : type->fields) {
      const bool of_root = type->is_object && (field->name == "apiVersion" || field->name == "kind" || field->name == "metadata");
      Json made = described(member(*field), description_of(of_root ? "" : name, field->name));
      add_values(made, values_of(name, field->name));
      schema["properties"][field->name] = std::move(made);
      if (field->required) required.push_back(field->name);
    }
    if (!required.empty()) schema["required"] = std::move(required);
    if (type->atomic) schema["x-kubernetes-map-type"] = "atomic";
    return schema;
  }

  Json member(const FieldType& field) {
    Json schema = value(field.node, field.pointer);
    const TypeNode& node = field.node;
    if (field.default_value) schema["default"] = *field.default_value;
    if (node.form == Form::kList) {
      schema["x-kubernetes-list-type"] = node.list_type == ListType::kMap   ? "map"
                                         : node.list_type == ListType::kSet ? "set"
                                                                            : "atomic";
      if (!node.keys.empty()) schema["x-kubernetes-list-map-keys"] = node.keys;
    }
    if (node.form == Form::kMap && node.atomic) schema["x-kubernetes-map-type"] = "atomic";
    std::string strategy = node.patch_merge ? "merge" : "";
    if (node.patch_retain_keys) strategy += strategy.empty() ? "retainKeys" : ",retainKeys";
    if (!strategy.empty()) schema["x-kubernetes-patch-strategy"] = strategy;
    if (!node.merge_key.empty()) schema["x-kubernetes-patch-merge-key"] = node.merge_key;
    return schema;
  }

  /// A reference stands alone: what is said beside it needs a schema around it.
  static Json described(Json schema, std::string_view text) {
    if (text.empty()) return schema;
    if (schema.contains("$ref")) schema = {{"allOf", Json::array({std::move(schema)})}};
    schema["description"] = text;
    return schema;
  }

  /// To the items of lists and maps.
  static void add_values(Json& schema, std::string_view values) {
    if (values.data() == nullptr) return;
    Json* place = &schema;
    for (const char* inner : {"items", "additionalProperties"}) {
      if (schema.contains(inner)) place = &schema[inner];
    }
    Json& list = (*place)["enum"] = Json::array();
    while (true) {
      const auto bar = values.find('|');
      list.push_back(values.substr(0, bar));
      if (bar == std::string_view::npos) break;
      values.remove_prefix(bar + 1);
    }
  }

  Json named(std::string_view name, Json schema) {
    if (!contains(std::string(name))) put(std::string(name), std::move(schema));
    return reference(name);
  }

  /// A schema or something else: nothing is said of what may stand there.
  Json schema_union(std::string_view ending) {
    message(kSchemaProps);
    return named(published_name(kSchemaProps) + std::string(ending), Json::object());
  }

  Json value(const TypeNode& node, bool pointer) {
    switch (node.form) {
      case Form::kString: return {{"type", "string"}};
      case Form::kBool: return {{"type", "boolean"}};
      case Form::kInt32: return {{"type", "integer"}, {"format", "int32"}};
      case Form::kInt64: return {{"type", "integer"}, {"format", "int64"}};
      case Form::kDouble:
      case Form::kNumber: return {{"type", "number"}, {"format", "double"}};
      case Form::kBytes: return {{"type", "string"}, {"format", "byte"}};
      case Form::kTime: return named(kTime, {{"type", "string"}, {"format", "date-time"}});
      case Form::kMicroTime: return named(kMicroTime, {{"type", "string"}, {"format", "date-time"}});
      case Form::kDuration: return {{"type", "string"}};
      case Form::kQuantity: return named(kQuantity, {{"oneOf", {{{"type", "string"}}, {{"type", "number"}}}}});
      case Form::kIntOrString:
        return named(kIntOrString, {{"format", "int-or-string"}, {"oneOf", {{{"type", "integer"}}, {{"type", "string"}}}}});
      case Form::kStrings: return {{"type", "array"}, {"items", {{"type", "string"}}}};
      case Form::kRaw: return named(kRawExtension, {{"type", "object"}});
      case Form::kFieldsV1: return named(kFields, {{"type", "object"}});
      case Form::kSchemaOrBool: return schema_union("OrBool");
      case Form::kSchemaOrArray: return schema_union("OrArray");
      case Form::kSchemaOrStrings: return schema_union("OrStringArray");
      case Form::kJson: return named(kAnyJson, Json::object());
      case Form::kStruct: {
        Json reference_to = message(node.message);
        if (pointer) return reference_to;
        return {{"allOf", Json::array({std::move(reference_to)})}, {"default", Json::object()}};
      }
      case Form::kMap: return {{"type", "object"}, {"additionalProperties", value(*node.element, false)}};
      case Form::kList: return {{"type", "array"}, {"items", value(*node.element, false)}};
      default: return Json::object();
    }
  }

  std::string prefix_;
  Json schemas_ = Json::object();
};

Json parameter(std::string_view name, std::string_view type, std::string_view in = "query") {
  Json made = {{"name", name}, {"in", in}, {"schema", {{"type", type}, {"uniqueItems", true}}}};
  if (in == "path") made["required"] = true;
  return made;
}

bool has(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

class Document {
 public:
  Document(std::string_view group, std::string_view version, Schemas& schemas)
      : group_(group), version_(version), schemas_(schemas) {}

  void add(const OpenApiResource& resource, Json& paths) {
    const bool custom = resource.custom_schema != nullptr;
    const std::string name = schema_name(group_, version_, resource.kind, custom);
    const std::string list_kind = resource.list_kind.empty() ? resource.kind + "List" : resource.list_kind;
    const std::string list_name = schema_name(group_, version_, list_kind, custom);
    if (custom) {
      add_custom(resource, name, list_kind, list_name);
    } else if (!add_builtin(resource.kind, name)) {
      return;
    } else if (has(resource.verbs, "list")) {
      add_builtin(list_kind, list_name);
    }
    const std::string root = group_.empty() ? "/api/" + version_ : "/apis/" + group_ + "/" + version_;
    const std::string base = root + (resource.namespaced ? "/namespaces/{namespace}/" : "/") + resource.plural;
    Json collection = Json::object();
    if (has(resource.verbs, "list")) collection["get"] = operation("list", resource, list_name, false, false);
    if (has(resource.verbs, "create")) collection["post"] = operation("post", resource, name, true, false);
    if (has(resource.verbs, "deletecollection"))
      collection["delete"] = operation("deletecollection", resource, name, false, false);
    put(paths, base, std::move(collection), resource, false);
    Json item = Json::object();
    if (has(resource.verbs, "get")) item["get"] = operation("get", resource, name, false, false);
    if (has(resource.verbs, "update")) item["put"] = operation("put", resource, name, true, false);
    if (has(resource.verbs, "patch")) item["patch"] = operation("patch", resource, name, true, true);
    if (has(resource.verbs, "delete")) item["delete"] = operation("delete", resource, name, false, false);
    put(paths, base + "/{name}", std::move(item), resource, true);
    if (!has(resource.subresources, "status")) return;
    Json status = {{"get", operation("get", resource, name, false, false)},
                   {"put", operation("put", resource, name, true, false)},
                   {"patch", operation("patch", resource, name, true, true)}};
    put(paths, base + "/{name}/status", std::move(status), resource, true);
  }

 private:
  bool add_builtin(const std::string& kind, const std::string& published) {
    const std::string_view package = package_of(group_, version_);
    const std::string message = std::string(package) + "." + kind;
    if (package.empty() || find_message(message) == nullptr) return false;
    schemas_.message(message);
    schemas_.mark_kind(published, group_, version_, kind);
    return true;
  }

  void add_custom(const OpenApiResource& resource, const std::string& name, const std::string& list_kind,
                  const std::string& list_name) {
    Json schema = resource.custom_schema->is_object() ? *resource.custom_schema : Json({{"type", "object"}});
    const bool open = !resource.custom_schema->is_object() || flag(schema, {"x-kubernetes-preserve-unknown-fields"});
    if (!open || schema.contains("properties") || resource.custom_schema->is_object()) {
      Json& properties = at_or_make(schema, {"properties"});
      if (!properties.is_object()) properties = Json::object();
      add_type_properties(properties);
      properties["metadata"] = {{"allOf", Json::array({schemas_.message("meta/v1.ObjectMeta")})},
                                {"description", description_of("", "metadata")}};
    }
    schemas_.put(name, std::move(schema));
    schemas_.mark_kind(name, group_, version_, resource.kind);
    Json list = {{"type", "object"},
                 {"required", {"items"}},
                 {"properties",
                  {{"items", {{"type", "array"}, {"items", schemas_.reference(name)}}},
                   {"metadata", {{"allOf", Json::array({schemas_.message("meta/v1.ListMeta")})}}}}}};
    add_type_properties(list["properties"]);
    schemas_.put(list_name, std::move(list));
    schemas_.mark_kind(list_name, group_, version_, list_kind);
  }

  static void add_type_properties(Json& properties) {
    for (const char* name : {"apiVersion", "kind"})
      properties[name] = {{"type", "string"}, {"description", description_of("", name)}};
  }

  Json operation(std::string_view action, const OpenApiResource& resource, const std::string& name, bool has_body,
                 bool is_patch) {
    const Json content = {{"schema", schemas_.reference(name)}};
    Json made = {{"x-kubernetes-action", action},
                 {"x-kubernetes-group-version-kind", {{"group", group_}, {"version", version_}, {"kind", resource.kind}}},
                 {"responses", {{"200", {{"description", "OK"}, {"content", {{"application/json", content}}}}}}}};
    if (!has_body) return made;
    Json parameters = Json::array();
    for (const char* word : {"dryRun", "fieldManager", "fieldValidation"}) parameters.push_back(parameter(word, "string"));
    if (is_patch) parameters.push_back(parameter("force", "boolean"));
    made["parameters"] = std::move(parameters);
    Json& types = made["requestBody"]["content"];
    if (is_patch) {
      const Json patch = {{"schema", schemas_.message("meta/v1.Patch")}};
      for (const char* type : {"application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"})
        types[type] = patch;
      if (resource.custom_schema == nullptr) types["application/strategic-merge-patch+json"] = patch;
    } else {
      types["*/*"] = content;
    }
    return made;
  }

  static void put(Json& paths, const std::string& path, Json operations, const OpenApiResource& resource, bool named) {
    if (operations.empty()) return;
    Json parameters = Json::array();
    if (named) parameters.push_back(parameter("name", "string", "path"));
    if (resource.namespaced) parameters.push_back(parameter("namespace", "string", "path"));
    parameters.push_back(parameter("pretty", "string"));
    operations["parameters"] = std::move(parameters);
    paths[path] = std::move(operations);
  }

  std::string group_, version_;
  Schemas& schemas_;
};

/// What version 2 of OpenAPI cannot say is left out.
void lower_schema(Json& schema) {
  if (schema.is_array()) {
    for (Json& item : schema) lower_schema(item);
    return;
  }
  if (!schema.is_object()) return;
  // Old clients take a schema with members for the whole truth.
  const bool open = flag(schema, {"x-kubernetes-preserve-unknown-fields"});
  const bool nullable = flag(schema, {"nullable"});
  if (open || nullable) {
    schema.erase("items");
    schema.erase("properties");
    if (nullable || str(schema, {"type"}) == "object") schema.erase("type");
  }
  if (str(schema, {"type"}) == "array" && !schema.contains("items")) schema.erase("type");
  for (const char* word : {"oneOf", "anyOf", "not", "nullable", "default"}) {
    if (schema.contains(word) && !(std::string_view(word) == "default" && !schema["default"].is_object())) schema.erase(word);
  }
  if (const auto all = schema.find("allOf"); all != schema.end()) {
    if (all->is_array() && all->size() == 1 && all->front().contains("$ref")) schema["$ref"] = Json(all->front()["$ref"]);
    schema.erase("allOf");
  }
  for (const char* word : {"items", "additionalProperties"}) {
    if (schema.contains(word)) lower_schema(schema[word]);
  }
  if (schema.contains("properties")) {
    for (auto& [name, property] : schema["properties"].items()) lower_schema(property);
  }
}

}  // namespace

std::string schema_name(std::string_view group, std::string_view version, std::string_view kind, bool custom) {
  if (!custom) {
    const std::string_view package = package_of(group, version);
    if (!package.empty()) return published_name(std::string(package) + "." + std::string(kind));
  }
  std::string name;
  std::string_view rest = group;
  while (!rest.empty()) {
    const auto dot = rest.rfind('.');
    name += std::string(dot == std::string_view::npos ? rest : rest.substr(dot + 1)) + ".";
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(0, dot);
  }
  return name + std::string(version) + "." + std::string(kind);
}

Json openapi_v3(std::string_view group, std::string_view version, const std::vector<OpenApiResource>& resources,
                std::string_view info_version) {
  Schemas schemas("#/components/schemas/");
  Json paths = Json::object();
  Document document(group, version, schemas);
  for (const OpenApiResource& resource : resources) document.add(resource, paths);
  schemas.message("meta/v1.DeleteOptions");
  schemas.mark_kind(published_name("meta/v1.DeleteOptions"), group, version, "DeleteOptions");
  return {{"openapi", "3.0.0"},
          {"info", {{"title", "Kubernetes"}, {"version", info_version}}},
          {"paths", std::move(paths)},
          {"components", {{"schemas", schemas.take()}}}};
}

Json openapi_v2(const std::vector<OpenApiGroup>& groups, std::string_view info_version) {
  Schemas schemas("#/definitions/");
  Json paths = Json::object();
  for (const OpenApiGroup& group : groups) {
    Document document(group.group, group.version, schemas);
    for (const OpenApiResource& resource : group.resources) document.add(resource, paths);
  }
  Json definitions = schemas.take();
  for (auto& [name, definition] : definitions.items()) {
    Json kinds = definition.contains("x-kubernetes-group-version-kind") ? definition["x-kubernetes-group-version-kind"] : Json();
    if (flag(definition, {"x-kubernetes-preserve-unknown-fields"})) {
      definition = {{"type", "object"}};
    } else {
      lower_schema(definition);
    }
    if (kinds.is_array()) definition["x-kubernetes-group-version-kind"] = std::move(kinds);
  }
  // Clients read the definitions; the operations of version 3 have another form.
  return {{"swagger", "2.0"},
          {"info", {{"title", "Kubernetes"}, {"version", info_version}}},
          {"paths", Json::object()},
          {"definitions", std::move(definitions)}};
}

}  // namespace fleetadm::apimachinery
