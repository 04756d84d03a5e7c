#include "core/work/plan/preview.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/work/rules/condition_rules.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"

namespace fleetadm::work {
namespace {

std::string plural_of(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::string_view vowels = "aeiou";
  if (word == "endpoints") return word;
  for (const std::string_view hiss : {"s", "x", "ch", "sh", "z"}) {
    if (word.ends_with(hiss)) return word + "es";
  }
  if (word.size() > 1 && word.back() == 'y' && vowels.find(word[word.size() - 2]) == std::string_view::npos) {
    word.pop_back();
    return word + "ies";
  }
  return word + "s";
}

std::string_view name_of_strategy(StrategyType type) {
  switch (type) {
    case StrategyType::kUpdate: return "Update";
    case StrategyType::kCreateOnly: return "CreateOnly";
    case StrategyType::kServerSideApply: return "ServerSideApply";
    case StrategyType::kReadOnly: return "ReadOnly";
  }
  return "Update";
}

bool same_place(const Manifest& a, const Manifest& b) {
  return a.group == b.group && a.kind == b.kind && a.ns == b.ns && a.name == b.name;
}

}  // namespace

Result<kube::Resource> guessed_resource(const std::string& api_version, const std::string& kind) {
  if (kind.empty()) return fail(Category::kInvalid, "there is no kind");
  const kube::GroupVersion gv = kube::parse_api_version(api_version);
  return kube::Resource{gv.group, gv.version, plural_of(kind), kind, true};
}

std::vector<ObjectPreview> preview_objects(const Json& work, const std::vector<Json>& objects, const FeedbackOptions& options) {
  const std::vector<Manifest> manifests = decode_manifests(work, guessed_resource);
  Json as_work = Json::object();
  at_or_make(as_work, {"spec", "workload", "manifests"}) = objects;
  std::vector<ObjectPreview> previews;
  for (Manifest& object : decode_manifests(as_work, guessed_resource)) {
    ObjectPreview preview;
    const auto own =
        std::find_if(manifests.begin(), manifests.end(), [&](const Manifest& one) { return same_place(one, object); });
    preview.in_work = own != manifests.end();
    object.ordinal = preview.in_work ? own->ordinal : -1;
    preview.meta = object.meta();
    const ManifestOptions rules = options_for(work, object);
    preview.has_rules = !rules.feedback_rules.empty() || !rules.condition_rules.empty();
    preview.strategy = name_of_strategy(rules.strategy.type);
    preview.owned = is_owned(work, object) && rules.strategy.type != StrategyType::kReadOnly;
    preview.feedback = feedback_of(rules.feedback_rules, object.object, options);
    preview.conditions = evaluate_condition_rules(rules.condition_rules, object.object);
    previews.push_back(std::move(preview));
  }
  return previews;
}

Json preview_conditions(const std::vector<ObjectPreview>& objects) {
  std::vector<ManifestResult> results;
  for (const ObjectPreview& object : objects) {
    ManifestResult result;
    result.meta = object.meta;
    result.availability = Availability::kAvailable;
    result.was_read = true;
    result.rule_conditions = object.conditions;
    results.push_back(std::move(result));
  }
  Json status = Json::object();
  at_or_make(status, {"resourceStatus", "manifests"}) = manifest_statuses(Json::array(), results, 1, Instant{});
  aggregate_conditions(status, 1, false, Instant{});
  Json conditions = Json::array();
  for (Json condition : list_at(status, {"conditions"})) {
    if (str(condition, {"type"}) == kConditionAvailable) continue;
    condition.erase("lastTransitionTime");
    condition.erase("observedGeneration");
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

}  // namespace fleetadm::work
