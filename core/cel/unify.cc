#include "core/cel/unify.h"

#include <algorithm>
#include <utility>

namespace fleetadm::cel {

namespace {

/// Types nest as deep as expressions do; a cycle through bindings would be a defect, and ends here.
constexpr int kMaxDepth = 1000;

bool is_wild(const Type& type) { return type.is_dyn() || type.kind() == TypeKind::kError; }

/// Null may stand for values of these types.
bool is_nullable(const Type& type) {
  return type.kind() == TypeKind::kOpaque || type.kind() == TypeKind::kTimestamp || type.kind() == TypeKind::kDuration ||
         type.kind() == TypeKind::kNull;
}

bool equal_or_less_specific(const Type& a, const Type& b) {
  if (a.is_dyn() || a.is_param()) return true;
  if (b.is_dyn() || b.is_param()) return false;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case TypeKind::kType: return true;
    case TypeKind::kOpaque:
    case TypeKind::kList:
    case TypeKind::kMap:
      if (a.name() != b.name() || a.params().size() != b.params().size()) return false;
      for (std::size_t i = 0; i < a.params().size(); ++i) {
        if (!equal_or_less_specific(a.params()[i], b.params()[i])) return false;
      }
      return true;
    default: return a == b;
  }
}

Type with_params(const Type& type, std::vector<Type> params) {
  switch (type.kind()) {
    case TypeKind::kList: return Type::list(std::move(params[0]));
    case TypeKind::kMap: return Type::map(std::move(params[0]), std::move(params[1]));
    case TypeKind::kType: return Type::type(std::move(params[0]));
    default: return Type::opaque(type.name(), std::move(params));
  }
}

}  // namespace

Type Unifier::fresh() { return Type::param("_var" + std::to_string(next_++)); }

const Type* Unifier::find(const Type& type) const {
  if (!type.is_param()) return nullptr;
  const auto bound = bindings_.find(type.name());
  return bound == bindings_.end() ? nullptr : &bound->second;
}

void Unifier::set(const Type& variable, Type type) {
  const auto bound = bindings_.find(variable.name());
  trail_.push_back({variable.name(), bound == bindings_.end() ? std::nullopt : std::optional<Type>(bound->second)});
  bindings_.insert_or_assign(variable.name(), std::move(type));
}

void Unifier::roll_back(std::size_t mark) {
  while (trail_.size() > mark) {
    Undo& undo = trail_.back();
    if (undo.before) {
      bindings_.insert_or_assign(undo.name, std::move(*undo.before));
    } else {
      bindings_.erase(undo.name);
    }
    trail_.pop_back();
  }
}

bool Unifier::assignable(const Type& from, const Type& to) {
  trail_.clear();
  if (agree(from, to, 0)) return true;
  roll_back(0);
  return false;
}

bool Unifier::assignable(const std::vector<Type>& from, const std::vector<Type>& to) {
  trail_.clear();
  if (agree_all(from, to, 0)) return true;
  roll_back(0);
  return false;
}

bool Unifier::agree_all(const std::vector<Type>& from, const std::vector<Type>& to, int depth) {
  if (from.size() != to.size()) return false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!agree(from[i], to[i], depth)) return false;
  }
  return true;
}

bool Unifier::agree(const Type& from, const Type& to, int depth) {
  if (depth > kMaxDepth) return false;
  if (to.is_param()) {
    bool bound = false;
    if (bind(from, to, bound, depth + 1)) return true;
    if (bound) return false;
  }
  if (from.is_param()) {
    bool bound = false;
    return bind(to, from, bound, depth + 1);
  }
  if (is_wild(from) || is_wild(to)) return true;
  if (from.kind() == TypeKind::kNull) return is_nullable(to);
  if (to.kind() == TypeKind::kNull) return is_nullable(from);
  if (from.kind() != to.kind()) return false;
  switch (from.kind()) {
    case TypeKind::kType: return true;
    case TypeKind::kOpaque:
    case TypeKind::kList:
    case TypeKind::kMap: return from.name() == to.name() && agree_all(from.params(), to.params(), depth + 1);
    default: return true;
  }
}

bool Unifier::bind(const Type& type, const Type& variable, bool& bound, int depth) {
  bound = true;
  if (type == variable) return true;
  if (const Type* found = find(variable)) {
    const Type before = *found;
    if (type == before) return true;
    if (!agree(type, before, depth + 1)) return false;
    Type general = most_general(type, before);
    if (!occurs(variable, general)) set(variable, std::move(general));
    return true;
  }
  bound = false;
  if (occurs(variable, type)) return false;
  set(variable, type);
  return true;
}

bool Unifier::occurs(const Type& variable, const Type& within) const {
  // Chains of variables are followed in a loop: they may be long.
  Type type = within;
  for (std::size_t steps = 0; steps <= bindings_.size(); ++steps) {
    if (variable == type) return true;
    if (!type.is_param()) break;
    const Type* next = find(type);
    if (next == nullptr) return false;
    Type following = *next;
    type = std::move(following);
  }
  return std::any_of(type.params().begin(), type.params().end(), [&](const Type& param) { return occurs(variable, param); });
}

Type Unifier::substitute(const Type& type, bool unbound_to_dyn) const {
  Type current = type;
  for (std::size_t steps = 0; current.is_param() && steps <= bindings_.size(); ++steps) {
    const Type* next = find(current);
    if (next == nullptr) break;
    Type following = *next;
    current = std::move(following);
  }
  if (current.is_param()) return unbound_to_dyn ? Type::dyn() : current;
  if (current.params().empty()) return current;
  std::vector<Type> params;
  params.reserve(current.params().size());
  bool changed = false;
  for (const Type& param : current.params()) {
    params.push_back(substitute(param, unbound_to_dyn));
    changed = changed || !(params.back() == param);
  }
  return changed ? with_params(current, std::move(params)) : current;
}

Type Unifier::most_general(const Type& a, const Type& b) { return equal_or_less_specific(a, b) ? a : b; }

Type replace_params(const Type& type, const std::vector<std::string>& from, const std::vector<Type>& to) {
  if (type.is_param()) {
    const auto at = std::find(from.begin(), from.end(), type.name());
    return at == from.end() ? type : to[static_cast<std::size_t>(at - from.begin())];
  }
  if (type.params().empty()) return type;
  std::vector<Type> params;
  params.reserve(type.params().size());
  for (const Type& param : type.params()) params.push_back(replace_params(param, from, to));
  return with_params(type, std::move(params));
}

void collect_params(const Type& type, std::vector<std::string>& names) {
  if (type.is_param() && std::find(names.begin(), names.end(), type.name()) == names.end()) names.push_back(type.name());
  for (const Type& param : type.params()) collect_params(param, names);
}

}  // namespace fleetadm::cel
