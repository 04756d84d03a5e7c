// Assignability of static types with type variables: what the checker resolves overloads with. Variables are Type::param names;
// bindings of a failed attempt are undone.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/cel/type.h"

namespace fleetadm::cel {

class Unifier {
 public:
  /// A variable that is not used yet.
  Type fresh();
  /// Whether `from` may be used where `to` is wanted; keeps the bindings this needs, or none.
  bool assignable(const Type& from, const Type& to);
  bool assignable(const std::vector<Type>& from, const std::vector<Type>& to);
  /// `type` with its bound variables replaced; unbound ones stay, or become dyn.
  Type substitute(const Type& type, bool unbound_to_dyn = false) const;
  /// The more general of two types that agree.
  static Type most_general(const Type& a, const Type& b);

 private:
  struct Undo {
    std::string name;
    std::optional<Type> before;
  };

  bool agree(const Type& from, const Type& to, int depth);
  bool agree_all(const std::vector<Type>& from, const std::vector<Type>& to, int depth);
  /// Whether `variable` is, or can be made, `type`; `bound` tells whether it had a binding before.
  bool bind(const Type& type, const Type& variable, bool& bound, int depth);
  const Type* find(const Type& type) const;
  void set(const Type& variable, Type type);
  bool occurs(const Type& variable, const Type& within) const;
  void roll_back(std::size_t mark);

  std::unordered_map<std::string, Type> bindings_;
  std::vector<Undo> trail_;
  std::size_t next_ = 0;
};

/// `type` with the parameters named in `from` replaced by `to` (an overload's own parameters by fresh variables).
Type replace_params(const Type& type, const std::vector<std::string>& from, const std::vector<Type>& to);
/// The names of all parameters in `type`, each once.
void collect_params(const Type& type, std::vector<std::string>& names);

}  // namespace fleetadm::cel
