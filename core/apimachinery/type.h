// What the server knows about the shape of an object: a tree of TypeNodes. Built-in kinds come from the facts that are embedded
// in the binary (templates/sandbox/types.facts: names, protobuf numbers, list and patch markers of Kubernetes 1.35); custom
// resources from their structural schema. Patches, server-side apply, field validation, protobuf and OpenAPI all read this one
// form.
//
// Nodes are immutable and live as long as their owner: those of built-in kinds for ever, those of a CRD as long as its schema.
// Facts are parsed a message at a time, when it is first asked for; all functions may be called by many threads at once.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::apimachinery {

enum class Form : unsigned char {
  kAny,  // anything: RawExtension, a JSON value, an undeclared field that is kept
  kString,
  kBool,
  kInt32,
  kInt64,
  kDouble,
  kBytes,  // base64 in JSON
  kTime,
  kMicroTime,
  kDuration,
  kQuantity,
  kIntOrString,
  kNumber,           // a schema's `number`
  kStrings,          // a list of strings that protobuf wraps in a message (ExtraValue, Verbs)
  kRaw,              // {1 raw} in protobuf, its JSON in JSON (RawExtension)
  kFieldsV1,         // the same with managed fields
  kJson,             // apiextensions JSON
  kSchemaOrBool,     // apiextensions' unions
  kSchemaOrArray,    //
  kSchemaOrStrings,  //
  kStruct,
  kMap,
  kList,
};

enum class ListType : unsigned char { kAtomic, kSet, kMap };

struct StructType;

/// One place in an object. For kList and kMap `element` is the node of the items; for kStruct type() has the fields.
struct TypeNode {
  Form form = Form::kAny;
  // Server-side apply.
  ListType list_type = ListType::kAtomic;                  // of a kList
  bool atomic = false;                                     // a kMap or kStruct that is owned as a whole
  std::vector<std::string> keys;                           // of a kList that is a map
  std::vector<std::pair<std::string, Json>> key_defaults;  // what an absent key member stands for
  // Strategic merge.
  bool patch_merge = false;        // items are merged
  bool patch_retain_keys = false;  // $retainKeys is understood
  std::string merge_key;           // empty: items are scalars (merged as a set)
  // Structural schemas.
  bool preserve_unknown = false;  // members that are not declared are kept
  bool embedded = false;          // apiVersion, kind and metadata are implied
  bool nullable = false;

  const TypeNode* element = nullptr;
  const StructType* fixed_type = nullptr;  // of a schema's kStruct
  std::string message;                     // of a fact's kStruct: "core/v1.Pod"

  /// The fields of a kStruct; nullptr for other forms.
  const StructType* type() const;
};

struct FieldType {
  std::string name;  // in JSON; of an inlined struct its name in protobuf
  int number = 0;    // in protobuf; 0: never on the wire
  bool pointer = false;
  bool inlined = false;     // a message of its own in protobuf, its members are the parent's in JSON
  bool omit_empty = false;  // zero values are left out of JSON; structs are not,
  bool omit_zero = false;   // unless this is set, too
  bool required = false;
  std::optional<Json> default_value;
  TypeNode node;
};

struct StructType {
  std::string name;                      // "core/v1.Pod"; empty for a schema's
  bool is_object = false;                // has apiVersion and kind
  bool atomic = false;                   // every place of this type is owned as a whole
  std::vector<FieldType> wire;           // as declared, in the order of the declaration
  std::vector<const FieldType*> fields;  // as JSON has them (inlined ones flattened), sorted by name

  const FieldType* find(std::string_view field) const;
  const FieldType* by_number(int number) const;
};

/// The message of that name ("core/v1.Pod"), or nullptr.
const StructType* find_message(std::string_view name);
/// The root of a built-in kind; nullptr for kinds that are not built in. `group` "" is the core group.
const TypeNode* find_kind(std::string_view group, std::string_view version, std::string_view kind);
/// The same for an object's apiVersion and kind.
const TypeNode* find_kind(std::string_view api_version, std::string_view kind);
/// "core/v1" ↔ group and version; empty where the facts have no such package.
std::string_view package_of(std::string_view group, std::string_view version);
/// Names of all messages of a package that are objects ("core/v1.Pod"), lists and options included, sorted.
std::vector<std::string_view> kinds_of(std::string_view package);
/// metadata of any object.
const TypeNode& object_meta();

/// Group and version of an apiVersion: {"", "v1"}, {"apps", "v1"}.
std::pair<std::string_view, std::string_view> split_api_version(std::string_view api_version);

}  // namespace fleetadm::apimachinery
