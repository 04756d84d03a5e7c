// From a compiled schema to the form that patches, managed fields and field validation read.
#include <algorithm>

#include "core/apimachinery/schema_node.h"

namespace fleetadm::apimachinery {
namespace {

Form form_of(const SchemaNode& node) {
  if (node.int_or_string) return Form::kIntOrString;
  if (node.type == "string") return Form::kString;
  if (node.type == "integer") return Form::kInt64;
  if (node.type == "number") return Form::kNumber;
  if (node.type == "boolean") return Form::kBool;
  return Form::kAny;
}

void shape_list(SchemaNode& node) {
  TypeNode& shape = node.shape;
  shape.form = Form::kList;
  shape.list_type = node.list_type;
  shape.keys = node.keys;
  static const TypeNode kAnything;
  shape.element = node.items != nullptr ? &node.items->shape : &kAnything;
  if (node.items == nullptr) return;
  for (const std::string& key : node.keys) {
    const SchemaNode* property = node.items->property(key);
    if (property != nullptr && property->default_value) shape.key_defaults.emplace_back(key, *property->default_value);
  }
}

/// The fields of an object: those that are declared, and those that every one has.
void declare_fields(SchemaNode& node, bool root) {
  TypeNode& shape = node.shape;
  shape.form = Form::kStruct;
  shape.preserve_unknown = node.preserve_unknown || node.additional_any;
  StructType& fields = node.shape_fields;
  fields.is_object = root || node.embedded;
  for (auto& [key, property] : node.properties) {
    if (fields.is_object && (key == "apiVersion" || key == "kind" || key == "metadata")) continue;
    FieldType field;
    field.name = key;
    field.node = property.shape;
    fields.wire.push_back(std::move(field));
  }
  if (fields.is_object) {
    for (const char* member : {"apiVersion", "kind", "metadata"}) {
      FieldType field;
      field.name = member;
      if (std::string_view(member) == "metadata") {
        field.node = object_meta();
      } else {
        field.node.form = Form::kString;
      }
      fields.wire.push_back(std::move(field));
    }
  }
  for (const FieldType& field : fields.wire) fields.fields.push_back(&field);
  std::sort(fields.fields.begin(), fields.fields.end(), [](const FieldType* a, const FieldType* b) { return a->name < b->name; });
  shape.fixed_type = &fields;
}

}  // namespace

void make_shape(SchemaNode& node, bool root) {
  TypeNode& shape = node.shape;
  shape.nullable = node.nullable;
  shape.preserve_unknown = node.preserve_unknown;
  shape.embedded = node.embedded;
  if (node.type == "array") return shape_list(node);
  if (node.type != "object") {
    shape.form = form_of(node);
    return;
  }
  shape.atomic = node.map_atomic;
  if (node.additional != nullptr && node.properties.empty()) {
    shape.form = Form::kMap;
    shape.element = &node.additional->shape;
    return;
  }
  if (node.properties.empty() && !root && !node.embedded) {
    // Nothing is declared: everything below is deduced.
    shape.form = Form::kAny;
    shape.preserve_unknown = node.preserve_unknown || node.additional_any;
    if (!shape.preserve_unknown) {
      shape.form = Form::kStruct;
      shape.fixed_type = &node.shape_fields;
    }
    return;
  }
  declare_fields(node, root);
}

}  // namespace fleetadm::apimachinery
