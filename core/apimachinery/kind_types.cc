#include "core/apimachinery/kind_types.h"

#include <set>

#include "core/apimachinery/schema_types.h"

namespace fleetadm::apimachinery {
namespace {

class KindDeclarer {
 public:
  explicit KindDeclarer(std::string prefix) : prefix_(std::move(prefix)) {}

  cel::Type declare(const TypeNode& node) {
    switch (node.form) {
      case Form::kString: return cel::Type::string();
      case Form::kBool: return cel::Type::boolean();
      case Form::kInt32:
      case Form::kInt64: return cel::Type::integer();
      case Form::kDouble:
      case Form::kNumber: return cel::Type::real();
      case Form::kBytes: return cel::Type::bytes();
      case Form::kTime:
      case Form::kMicroTime: return cel::Type::timestamp();
      case Form::kStrings: return cel::Type::list(cel::Type::string());
      case Form::kList: return cel::Type::list(node.element == nullptr ? cel::Type::dyn() : declare(*node.element));
      case Form::kMap:
        return cel::Type::map(cel::Type::string(), node.element == nullptr ? cel::Type::dyn() : declare(*node.element));
      case Form::kStruct: return declare_struct(node);
      default: return cel::Type::dyn();
    }
  }

  std::vector<cel::Struct> structs;

 private:
  /// Messages may hold themselves: each is declared once.
  cel::Type declare_struct(const TypeNode& node) {
    const StructType* type = node.type();
    if (type == nullptr || type->name.empty()) return cel::Type::dyn();
    const std::string name = prefix_ + "." + type->name;
    if (!declared_.insert(name).second) return cel::Type::opaque(name);
    cel::Struct made{name, {}};
    if (type->is_object) made.fields = {{"apiVersion", cel::Type::string()}, {"kind", cel::Type::string()}};
    for (const FieldType* field : type->fields) {
      const std::string known = rule_name(field->name);
      if (!known.empty()) made.fields.push_back({known, declare(field->node)});
    }
    structs.push_back(std::move(made));
    return cel::Type::opaque(name);
  }

  std::string prefix_;
  std::set<std::string> declared_;
};

}  // namespace

DeclaredTypes declare_kind(const TypeNode& root, const std::string& name) {
  KindDeclarer declarer(name);
  cel::Type self = declarer.declare(root);
  return {std::move(self), std::move(declarer.structs)};
}

DeclaredTypes declare_kind(const Structural& schema, const std::string& name) {
  DeclaredTypes types = declare_types(schema.root(), true, name);
  KindDeclarer metadata(name);
  const cel::Type meta = metadata.declare(object_meta());
  for (cel::Struct& one : types.structs) {
    if (one.name != name) continue;
    for (cel::Variable& field : one.fields) {
      if (field.name == "metadata") field.type = meta;
    }
  }
  types.structs.insert(types.structs.end(), metadata.structs.begin(), metadata.structs.end());
  return types;
}

}  // namespace fleetadm::apimachinery
