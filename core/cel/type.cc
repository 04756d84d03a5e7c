#include "core/cel/type.h"

#include <algorithm>
#include <limits>

namespace fleetadm::cel {

struct Type::Node {
  TypeKind kind;
  std::string name;
  std::vector<Type> params;
  std::size_t weight;
};

Type Type::make(TypeKind kind, std::string name, std::vector<Type> params) {
  constexpr std::size_t kCeiling = std::numeric_limits<std::size_t>::max() / 8;
  std::size_t weight = 1;
  for (const Type& param : params) weight = std::min(kCeiling, weight + param.weight());
  return Type(std::make_shared<const Node>(Node{kind, std::move(name), std::move(params), weight}));
}

Type Type::dyn() {
  static const Type type = make(TypeKind::kDyn, "dyn", {});
  return type;
}

Type Type::error() {
  static const Type type = make(TypeKind::kError, "error", {});
  return type;
}

Type Type::null() {
  static const Type type = make(TypeKind::kNull, "null_type", {});
  return type;
}

Type Type::boolean() {
  static const Type type = make(TypeKind::kBool, "bool", {});
  return type;
}

Type Type::integer() {
  static const Type type = make(TypeKind::kInt, "int", {});
  return type;
}

Type Type::unsigned_integer() {
  static const Type type = make(TypeKind::kUint, "uint", {});
  return type;
}

Type Type::real() {
  static const Type type = make(TypeKind::kDouble, "double", {});
  return type;
}

Type Type::string() {
  static const Type type = make(TypeKind::kString, "string", {});
  return type;
}

Type Type::bytes() {
  static const Type type = make(TypeKind::kBytes, "bytes", {});
  return type;
}

Type Type::timestamp() {
  static const Type type = make(TypeKind::kTimestamp, "google.protobuf.Timestamp", {});
  return type;
}

Type Type::duration() {
  static const Type type = make(TypeKind::kDuration, "google.protobuf.Duration", {});
  return type;
}

Type Type::type() {
  static const Type type = make(TypeKind::kType, "type", {});
  return type;
}

Type Type::list(Type element) { return make(TypeKind::kList, "list", {std::move(element)}); }

Type Type::map(Type key, Type value) { return make(TypeKind::kMap, "map", {std::move(key), std::move(value)}); }

Type Type::type(Type of) { return make(TypeKind::kType, "type", {std::move(of)}); }

Type Type::param(std::string name) { return make(TypeKind::kParam, std::move(name), {}); }

Type Type::opaque(std::string name, std::vector<Type> params) {
  return make(TypeKind::kOpaque, std::move(name), std::move(params));
}

Type Type::optional(Type of) { return make(TypeKind::kOpaque, "optional_type", {std::move(of)}); }

TypeKind Type::kind() const { return node_->kind; }

const std::string& Type::name() const { return node_->name; }

const std::vector<Type>& Type::params() const { return node_->params; }

std::size_t Type::weight() const { return node_->weight; }

bool Type::is_optional() const { return node_->kind == TypeKind::kOpaque && node_->name == "optional_type"; }

bool Type::operator==(const Type& other) const {
  if (node_ == other.node_) return true;
  return node_->kind == other.node_->kind && node_->weight == other.node_->weight && node_->name == other.node_->name &&
         node_->params == other.node_->params;
}

std::string to_string(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kError: return "!error!";
    case TypeKind::kNull: return "null";
    case TypeKind::kTimestamp: return "timestamp";
    case TypeKind::kDuration: return "duration";
    default: break;
  }
  if (type.params().empty()) return type.name();
  std::string text = type.name() + "(";
  for (std::size_t i = 0; i < type.params().size(); ++i) {
    if (i != 0) text += ", ";
    text += to_string(type.params()[i]);
  }
  return text + ")";
}

}  // namespace fleetadm::cel
