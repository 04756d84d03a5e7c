#include "core/sandbox/admission/type_check.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "core/apimachinery/kind_types.h"
#include "core/sandbox/admission/expressions.h"
#include "core/sandbox/engine/custom.h"

namespace fleetadm::sandbox::admission {
namespace {

constexpr std::size_t kMaxKinds = 10;

using apimachinery::DeclaredTypes;

/// Sorted; empty where one is a wildcard.
std::vector<std::string> exact(const Json& rule, const char* key) {
  auto words = string_list_at(rule, {key});
  const bool any =
      std::any_of(words.begin(), words.end(), [](const std::string& one) { return one.find('*') != std::string::npos; });
  if (any) return {};
  std::sort(words.begin(), words.end());
  return words;
}

std::vector<std::string> whole_resources(const Json& rule) {
  auto words = string_list_at(rule, {"resources"});
  std::erase_if(words, [](const std::string& one) { return one.find_first_of("*/") != std::string::npos; });
  std::sort(words.begin(), words.end());
  return words;
}

struct ByName {
  bool operator()(const KindPtr& a, const KindPtr& b) const {
    return std::tie(a->group, a->version, a->kind) < std::tie(b->group, b->version, b->kind);
  }
};

std::set<KindPtr, ByName> named_kinds(const KindTable& kinds, const Json& policy) {
  std::set<KindPtr, ByName> out;
  for (const Json& rule : list_at(policy, {"spec", "matchConstraints", "resourceRules"})) {
    std::size_t found = 0;
    for (const auto& group : exact(rule, "apiGroups")) {
      for (const auto& version : exact(rule, "apiVersions")) {
        for (const auto& resource : whole_resources(rule)) {
          const auto kind = kinds.find(group, version, resource);
          if (!kind) continue;
          out.insert(kind);
          if (++found == kMaxKinds) return out;
        }
      }
    }
  }
  return out;
}

std::optional<DeclaredTypes> types_of(const Kind& kind, const std::string& name) {
  if (kind.custom != nullptr) {
    if (kind.custom->shape == nullptr) return std::nullopt;
    return apimachinery::declare_kind(*kind.custom->shape, name);
  }
  const auto* root = apimachinery::find_kind(kind.group, kind.version, kind.kind);
  return root == nullptr ? std::nullopt : std::optional(apimachinery::declare_kind(*root, name));
}

std::optional<DeclaredTypes> types_of_params(const KindTable& kinds, const Json& policy) {
  const std::string version = str(policy, {"spec", "paramKind", "apiVersion"});
  if (version.empty()) return std::nullopt;
  const auto [group, number] = apimachinery::split_api_version(version);
  const auto kind = kinds.find_kind(group, str(policy, {"spec", "paramKind", "kind"}));
  return kind && kind->version == number ? types_of(*kind, "params") : std::nullopt;
}

std::string shown(const Kind& kind) { return kind.group + "/" + kind.version + ", Kind=" + kind.kind; }

class Checker {
 public:
  Checker(const KindTable& kinds, const Json& policy) : params_(types_of_params(kinds, policy)) {
    for (const KindPtr& kind : named_kinds(kinds, policy)) {
      auto types = types_of(*kind, kind->kind);
      if (!types) continue;
      KnownTypes known{types->self, params_ ? std::optional(params_->self) : std::nullopt, std::move(types->structs)};
      if (params_) known.structs.insert(known.structs.end(), params_->structs.begin(), params_->structs.end());
      Compiler& compiler = targets_.emplace_back(shown(*kind), Compiler(std::move(known))).second;
      for (const Json& one : list_at(policy, {"spec", "variables"}))
        compiler.add_variable(str(one, {"name"}), str(one, {"expression"}));
    }
  }

  void check(const std::string& expression, const std::string& field, Json& warnings) {
    std::string text;
    for (auto& [kind, compiler] : targets_) {
      const auto failed = compiler.check(expression);
      if (failed) text += (text.empty() ? "" : "\n") + kind + ": " + *failed + "\n";
    }
    if (!text.empty()) warnings.push_back({{"fieldRef", field}, {"warning", text}});
  }

 private:
  std::optional<DeclaredTypes> params_;
  std::vector<std::pair<std::string, Compiler>> targets_;
};

}  // namespace

Json expression_warnings(const KindTable& kinds, const Json& policy) {
  Checker checker(kinds, policy);
  Json warnings = Json::array();
  const Json& validations = list_at(policy, {"spec", "validations"});
  for (std::size_t i = 0; i < validations.size(); ++i) {
    const std::string field = "spec.validations[" + std::to_string(i) + "].";
    checker.check(str(validations[i], {"expression"}), field + "expression", warnings);
    const std::string message = str(validations[i], {"messageExpression"});
    if (!message.empty()) checker.check(message, field + "messageExpression", warnings);
  }
  return warnings;
}

}  // namespace fleetadm::sandbox::admission
