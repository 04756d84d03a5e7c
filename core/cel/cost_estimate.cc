#include "core/cel/cost_estimate.h"

#include <unordered_map>
#include <vector>

#include "core/cel/call_estimate.h"
#include "core/cel/size_range.h"

namespace fleetadm::cel {
namespace {

using Path = std::vector<std::string>;

constexpr std::uint64_t kListLiteral = 10;
constexpr std::uint64_t kMapLiteral = 30;
constexpr SizeRange kUnknownSize{0, kUnbounded};

bool is_scalar(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kBool:
    case TypeKind::kInt:
    case TypeKind::kUint:
    case TypeKind::kDouble:
    case TypeKind::kTimestamp:
    case TypeKind::kDuration: return true;
    default: return false;
  }
}

class Estimator {
 public:
  explicit Estimator(const MaxSizes& sizes) : sizes_(sizes) {}

  CostRange cost(const Expr& expr) {
    switch (expr.kind) {
      case Expr::Kind::kLiteral: return {};
      case Expr::Kind::kIdent: return ident(expr);
      case Expr::Kind::kSelect: return select(expr);
      case Expr::Kind::kCall: return call(expr);
      case Expr::Kind::kList:
      case Expr::Kind::kMap: return container(expr);
      case Expr::Kind::kComprehension: return fold(expr);
    }
    return {};
  }

 private:
  struct Local {
    std::string name;
    Path path;                    // empty: not part of a variable
    const Expr* list = nullptr;   // whose elements it stands for
    const Expr* value = nullptr;  // what it is bound to
  };

  const Local* local(const std::string& name) const {
    for (auto it = locals_.rbegin(); it != locals_.rend(); ++it) {
      if (it->name == name) return &*it;
    }
    return nullptr;
  }

  Path path_of(const Expr& expr) const {
    const auto at = paths_.find(&expr);
    return at == paths_.end() ? Path() : at->second;
  }

  CostRange ident(const Expr& expr) {
    const Local* known = expr.global ? nullptr : local(expr.name);
    paths_[&expr] = known != nullptr ? known->path : Path{expr.name};
    return fixed_range(1);
  }

  CostRange select(const Expr& expr) {
    CostRange sum = cost(*expr.target);
    Path path = path_of(*expr.target);
    if (!path.empty()) {
      path.push_back(expr.name);
      paths_[&expr] = std::move(path);
    }
    if (expr.test_only) return sum;  // presence is free
    const TypeKind kind = expr.target->type.kind();
    const bool charged =
        kind == TypeKind::kMap || kind == TypeKind::kParam || (kind == TypeKind::kOpaque && !expr.target->type.is_optional());
    return charged ? sum_of(sum, fixed_range(1)) : sum;
  }

  std::optional<SizeRange> known_size(const Expr& expr) const {
    if (const auto at = computed_.find(&expr); at != computed_.end()) return at->second;
    if (expr.kind == Expr::Kind::kLiteral) {
      if (expr.literal.is(Kind::kString) || expr.literal.is(Kind::kBytes))
        return fixed_range(expr.literal.is(Kind::kString) ? code_points(expr.literal.text()) : expr.literal.text().size());
      return fixed_range(1);
    }
    if (expr.kind == Expr::Kind::kList) return fixed_range(expr.args.size());
    if (expr.kind == Expr::Kind::kMap) return fixed_range(expr.args.size() / 2);
    if (const Path path = path_of(expr); !path.empty()) {
      if (const auto most = sizes_(path)) return SizeRange{0, *most};
    }
    if (is_scalar(expr.type)) return fixed_range(1);
    if (expr.kind == Expr::Kind::kIdent) {
      const Local* known = local(expr.name);
      if (known != nullptr && known->list != nullptr) return element_size(*known->list);
      if (known != nullptr && known->value != nullptr) return known_size(*known->value);
    }
    return std::nullopt;
  }
  SizeRange size_of(const Expr& expr) const { return known_size(expr).value_or(kUnknownSize); }

  /// Of the elements of a list that the expression itself makes.
  std::optional<SizeRange> element_size(const Expr& list) const {
    if (const auto at = elements_.find(&list); at != elements_.end()) return at->second;
    if (list.kind != Expr::Kind::kList) return std::nullopt;
    std::optional<SizeRange> all;
    for (const ExprPtr& one : list.args) {
      const auto size = known_size(*one);
      if (!size) return std::nullopt;
      all = all ? either_of(*all, *size) : *size;
    }
    return all;
  }

  EstimatedArgument argument(const Expr& expr) const {
    EstimatedArgument out{size_of(expr), {}, expr.type.kind() == TypeKind::kList, {}, expr.type.name()};
    if (expr.kind == Expr::Kind::kLiteral && expr.literal.is(Kind::kInt)) out.integer = expr.literal.as_int();
    if (!out.list) return out;
    const TypeKind element = expr.type.params()[0].kind();
    if (element != TypeKind::kString && element != TypeKind::kBytes) return out;
    out.element = kUnknownSize;
    if (Path path = path_of(expr); !path.empty()) {
      path.emplace_back("@items");
      if (const auto most = sizes_(path)) out.element = SizeRange{0, *most};
    }
    return out;
  }

  CostRange call(const Expr& expr) {
    if (expr.name == op::kAnd || expr.name == op::kOr) {
      const CostRange left = cost(*expr.args[0]);
      return {left.min, sum_of(left, cost(*expr.args[1])).max};
    }
    if (expr.name == op::kConditional) return conditional(expr);
    CostRange sum;
    for (const ExprPtr& one : expr.args) sum = sum_of(sum, cost(*one));
    std::vector<EstimatedArgument> arguments;
    if (expr.target != nullptr) {
      sum = sum_of(sum, cost(*expr.target));
      arguments.push_back(argument(*expr.target));
    }
    for (const ExprPtr& one : expr.args) arguments.push_back(argument(*one));
    std::optional<CostRange> own;
    std::optional<SizeRange> result;
    for (const Overload* overload : expr.overloads) {
      const auto estimate = estimate_call(expr.name, overload->id, arguments);
      const CostRange cost = estimate ? estimate->cost : fixed_range(1);
      own = own ? either_of(*own, cost) : cost;
      if (estimate && estimate->result) result = result ? either_of(*result, *estimate->result) : *estimate->result;
      note_index(expr, overload->id);
    }
    if (result) computed_[&expr] = *result;
    if (expr.name == op::kAdd && expr.args.size() == 2) note_elements(expr);
    return own ? sum_of(sum, *own) : CostRange();
  }

  CostRange conditional(const Expr& expr) {
    const CostRange condition = cost(*expr.args[0]);
    const CostRange branches = either_of(cost(*expr.args[1]), cost(*expr.args[2]));
    computed_[&expr] = either_of(size_of(*expr.args[1]), size_of(*expr.args[2]));
    const auto left = element_size(*expr.args[1]);
    const auto right = element_size(*expr.args[2]);
    if (left || right) elements_[&expr] = left && right ? either_of(*left, *right) : left ? *left : *right;
    return sum_of(condition, branches);
  }

  void note_index(const Expr& expr, std::string_view overload) {
    const bool list = overload == "index_list";
    if (!list && overload != "index_map") return;
    Path path = path_of(*expr.args[0]);  // may be empty, see fold()
    path.emplace_back(list ? "@items" : "@values");
    paths_[&expr] = std::move(path);
  }

  void note_elements(const Expr& sum) {
    const auto left = element_size(*sum.args[0]);
    const auto right = element_size(*sum.args[1]);
    if (left || right) elements_[&sum] = left && right ? either_of(*left, *right) : left ? *left : *right;
  }

  CostRange container(const Expr& expr) {
    CostRange sum = fixed_range(expr.kind == Expr::Kind::kList ? kListLiteral : kMapLiteral);
    for (const ExprPtr& one : expr.args) sum = sum_of(sum, cost(*one));
    return sum;
  }

  CostRange fold(const Expr& expr) {
    const Comprehension& parts = *expr.fold;
    CostRange sum = sum_of(cost(*parts.range), cost(*parts.init));
    const bool binds = parts.element == kUnused;  // a name for a value: no loop
    locals_.push_back({parts.accumulator, binds ? path_of(*parts.init) : Path(), nullptr, parts.init.get()});
    if (binds) {
      sum = sum_of(sum, cost(*parts.result));
      locals_.pop_back();
      if (const auto size = known_size(*parts.result)) computed_[&expr] = *size;
      return sum;
    }
    // Of a list that is no part of a variable this is a path of one word, to which upstream gives the size of `self`; so do we.
    Path element = path_of(*parts.range);
    element.emplace_back(parts.range->type.kind() == TypeKind::kMap ? "@keys" : "@items");
    locals_.push_back({parts.element, std::move(element), parts.range.get(), nullptr});
    const CostRange loop = cost(*parts.condition);
    const CostRange step = cost(*parts.step);
    locals_.pop_back();
    sum = sum_of(sum, cost(*parts.result));
    locals_.pop_back();
    const SizeRange rounds = size_of(*parts.range);
    if (parts.init->kind == Expr::Kind::kList || parts.init->kind == Expr::Kind::kMap) {
      computed_[&expr] = rounds;
      if (const auto made = element_size(*parts.step)) elements_[&expr] = *made;
    }
    return sum_of(sum, product_of(rounds, sum_of(step, loop)));
  }

  const MaxSizes& sizes_;
  std::vector<Local> locals_;
  std::unordered_map<const Expr*, Path> paths_;
  std::unordered_map<const Expr*, SizeRange> computed_;
  std::unordered_map<const Expr*, SizeRange> elements_;
};

}  // namespace

CostRange estimate_cost(const Expr& root, const MaxSizes& sizes) { return Estimator(sizes).cost(root); }

}  // namespace fleetadm::cel
