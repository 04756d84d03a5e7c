// Static types of CEL expressions, and the values of type `type`. A Type is a cheap handle to an immutable node.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fleetadm::cel {

enum class TypeKind : unsigned char {
  kDyn,
  kError,  // the type of an expression that did not check; it agrees with everything
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kTimestamp,
  kDuration,
  kList,    // one parameter
  kMap,     // key and value
  kType,    // no or one parameter
  kParam,   // a type parameter of an overload, or a variable of the checker
  kOpaque,  // an abstract type by name, with parameters: optional_type(V), kubernetes.Quantity
};

class Type {
 public:
  Type() : Type(dyn()) {}

  static Type dyn();
  static Type error();
  static Type null();
  static Type boolean();
  static Type integer();
  static Type unsigned_integer();
  static Type real();
  static Type string();
  static Type bytes();
  static Type timestamp();
  static Type duration();
  static Type list(Type element);
  static Type map(Type key, Type value);
  /// The type of types; with a parameter, the type of that type's name (`int` is of type(int)).
  static Type type();
  static Type type(Type of);
  static Type param(std::string name);
  static Type opaque(std::string name, std::vector<Type> params = {});
  static Type optional(Type of);

  TypeKind kind() const;
  /// The runtime name, as type(x) compares and prints it: "int", "list", "google.protobuf.Timestamp", "kubernetes.Quantity".
  const std::string& name() const;
  const std::vector<Type>& params() const;
  /// Number of nodes written out as a tree; saturates. The checker refuses types that grow beyond reason.
  std::size_t weight() const;
  bool is_dyn() const { return kind() == TypeKind::kDyn; }
  bool is_optional() const;
  bool is_param() const { return kind() == TypeKind::kParam; }

  /// Exactly the same type, parameters included.
  bool operator==(const Type& other) const;

 private:
  struct Node;
  explicit Type(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  static Type make(TypeKind kind, std::string name, std::vector<Type> params);

  std::shared_ptr<const Node> node_;
};

/// For people: "list(int)", "map(string, dyn)", "optional_type(V)", "google.protobuf.Duration" as "duration".
std::string to_string(const Type& type);

}  // namespace fleetadm::cel
