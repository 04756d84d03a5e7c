#include "commands/placement/spec.h"

#include <algorithm>
#include <charconv>

#include "commands/framework/grammar.h"
#include "commands/framework/selectors.h"
#include "commands/framework/suggest.h"
#include "core/api/served_apis.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/names.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::commands {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

Result<Json> predicates_of(const SpecFlags& flags) {
  Json claims = Json::array();
  for (const std::string& claim : flags.claims) {
    FLEETADM_TRY(const Json terms, selector_expressions(claim, "claim"));
    for (const Json& term : terms) claims.push_back(term);
  }
  Json expressions = Json::array();
  for (const std::string& name : flags.apis) {
    if (!api::is_api_name(name))
      return bad_value_of("requires-api", name, "not an API",
                          "write GROUP/VERSION/KIND, for example apps/v1/Deployment or v1/Pod");
    expressions.push_back(api::serves_api(name));
  }
  Json predicates = Json::array();
  const auto add = [&](Json labels) {
    Json selector = Json::object();
    if (!labels.empty()) selector["labelSelector"] = std::move(labels);
    if (!claims.empty()) selector["claimSelector"] = {{"matchExpressions", claims}};
    if (!expressions.empty()) selector["celSelector"] = {{"celExpressions", expressions}};
    predicates.push_back({{"requiredClusterSelector", std::move(selector)}});
  };
  for (const std::string& text : flags.label_selectors) {
    FLEETADM_TRY(Json labels, parse_selector(text));
    add(std::move(labels));
  }
  if (predicates.empty() && !(claims.empty() && expressions.empty())) add(Json::object());
  return predicates;
}

Result<Json> strategy_of(const SpecFlags& flags) {
  Json strategy = Json::object();
  if (!flags.group_size.empty()) {
    const auto number = whole_number(flags.group_size);
    const auto percent = flags.group_size.ends_with('%')
                             ? whole_number(std::string_view(flags.group_size).substr(0, flags.group_size.size() - 1))
                             : std::nullopt;
    if ((!number || *number < 1) && (!percent || *percent < 1 || *percent > 100)) {
      return bad_value_of("clusters-per-group", flags.group_size, "must be a positive number or a percentage from 1% to 100%");
    }
    strategy["clustersPerDecisionGroup"] = number ? Json(*number) : Json(flags.group_size);
  }
  Json groups = Json::array();
  for (const std::string& group : flags.groups) {
    const std::size_t colon = group.find(':');
    if (colon == std::string::npos || colon == 0)
      return bad_value_of("decision-group", group, "expected NAME:SELECTOR", "for example canary:tier=canary");
    FLEETADM_TRY(Json labels, parse_selector(std::string_view(group).substr(colon + 1)));
    groups.push_back({{"groupName", group.substr(0, colon)}, {"groupClusterSelector", {{"labelSelector", std::move(labels)}}}});
  }
  if (!groups.empty()) strategy["decisionGroups"] = std::move(groups);
  return strategy;
}

}  // namespace

bool SpecFlags::any() const {
  return count || exact || !group_size.empty() ||
         !(cluster_sets.empty() && label_selectors.empty() && claims.empty() && apis.empty() && tolerations.empty() &&
           prioritizers.empty() && groups.empty());
}

void bind_spec(FlagSet& flags, SpecFlags& into) {
  cluster_sets_flag(flags, &into.cluster_sets, "Select only from these cluster sets (default: every bound one)");
  auto& count = flags.text(nullptr, "cluster-count", "How many clusters to select (default: all that qualify)", 'k');
  count.aliases = {"count"};
  count.value_name = "N";
  count.set = [&into](std::string_view value) -> Status {
    into.count = whole_number(value);
    if (!into.count || *into.count < 0 || *into.count > 2147483647)
      return fail(Category::kUsage, "must be 0 or a positive integer");
    return {};
  };
  auto& labels = flags.texts(&into.label_selectors, "selector",
                             "Labels that a cluster must have; repeat the flag for alternatives (OR)", 'l');
  labels.aliases = {"label-selector"};
  labels.value_name = "SELECTOR";
  flags.texts(&into.claims, "claim", "Cluster claims that a cluster must have; all of them").value_name = "SELECTOR";
  flags
      .comma_texts(&into.apis, "requires-api",
                   "APIs that a cluster must serve; all of them, as the cluster's score served-apis tells")
      .value_name = "GROUP/VERSION/KIND,...";
  auto& tolerations =
      flags.texts(&into.tolerations, "toleration", "Taint to tolerate, \"*\" for all; after SECONDS the toleration ends");
  tolerations.value_name = "KEY[=VALUE][:EFFECT][:SECONDS]";
  tolerations.aliases = {"tolerate"};
  auto& prioritizers = flags.texts(&into.prioritizers, "prioritizer",
                                   "Weight (-10 to 10) of Balance, Steady, ResourceAllocatableCPU, ResourceAllocatableMemory or "
                                   "AddOn/RESOURCE/SCORE");
  prioritizers.value_name = "NAME=WEIGHT";
  flags.boolean(&into.exact, "exact", "Use only the named prioritizers, without the default Balance and Steady");
  flags
      .text(&into.group_size, "clusters-per-group",
            "Largest size of a decision group, as a number or a percentage of the selected clusters")
      .value_name = "N|P%";
  flags.texts(&into.groups, "decision-group", "Decision group of the selected clusters with these labels; in order").value_name =
      "NAME:SELECTOR";
  filename_flag(flags, &into.file,
                "File with a Placement or its spec in YAML or JSON (\"-\": standard input), instead of the other flags")
      .aliases = {"spec"};
}

Result<Json> parse_toleration(std::string_view text) {
  constexpr std::string_view kForm = "write KEY[=VALUE][:EFFECT][:SECONDS], for example gpu=true:NoSelect or maintenance::10m";
  std::vector<std::string_view> parts;
  for (std::size_t from = 0;;) {
    const std::size_t colon = std::min(text.find(':', from), text.size());
    parts.push_back(text.substr(from, colon - from));
    if (colon == text.size()) break;
    from = colon + 1;
  }
  if (parts.size() > 3 || parts[0].empty()) return bad_value_of("toleration", text, "not a toleration", std::string(kForm));
  Json toleration = Json::object();
  const std::size_t equal = parts[0].find('=');
  if (parts[0] == "*") {
    toleration["operator"] = "Exists";
  } else if (equal == std::string_view::npos) {
    toleration = {{"key", std::string(parts[0])}, {"operator", "Exists"}};
  } else {
    toleration = {{"key", std::string(parts[0].substr(0, equal))},
                  {"operator", "Equal"},
                  {"value", std::string(parts[0].substr(equal + 1))}};
  }
  if (const std::string key = str(toleration, {"key"}); toleration.contains("key") && !qualified_name_problems(key).empty()) {
    return bad_value_of("toleration", text, "\"" + key + "\" is not a valid taint key", std::string(kForm));
  }
  if (parts.size() > 1 && !parts[1].empty()) {
    if (parts[1] != "NoSelect" && parts[1] != "PreferNoSelect" && parts[1] != "NoSelectIfNew") {
      return bad_value_of("toleration", text, "\"" + std::string(parts[1]) + "\" is not a taint effect",
                          taint_effect_hint(std::string(parts[1])));
    }
    toleration["effect"] = std::string(parts[1]);
  }
  if (parts.size() > 2) {
    auto seconds = whole_number(parts[2]);
    if (!seconds) {
      if (const auto duration = parse_duration(parts[2]))
        seconds = std::chrono::duration_cast<std::chrono::seconds>(*duration).count();
    }
    if (!seconds || *seconds < 0)
      return bad_value_of("toleration", text, "\"" + std::string(parts[2]) + "\" is not a valid number of seconds",
                          std::string(kForm));
    toleration["tolerationSeconds"] = *seconds;
  }
  return toleration;
}

Result<Json> parse_prioritizer(std::string_view text) {
  constexpr std::string_view kBuiltIns =
      "the built-in ones are Balance, Steady, ResourceAllocatableCPU and ResourceAllocatableMemory; "
      "others are AddOn/RESOURCE/SCORE";
  const std::size_t equal = text.rfind('=');
  const std::string_view name = text.substr(0, equal);
  std::int64_t weight = 1;
  if (equal != std::string_view::npos) {
    const auto number = whole_number(text.substr(equal + 1));
    if (!number || *number < -10 || *number > 10)
      return bad_value_of("prioritizer", text, "the weight is not a number from -10 to 10");
    weight = *number;
  }
  Json coordinate;
  if (name == "Balance" || name == "Steady" || name == "ResourceAllocatableCPU" || name == "ResourceAllocatableMemory") {
    coordinate = {{"type", "BuiltIn"}, {"builtIn", std::string(name)}};
  } else {
    const std::size_t first = name.find('/');
    const std::size_t second = first == std::string_view::npos ? first : name.find('/', first + 1);
    const bool addon = second != std::string_view::npos && name.substr(0, first) == "AddOn" && second > first + 1 &&
                       second + 1 < name.size() && name.find('/', second + 1) == std::string_view::npos;
    if (!addon) {
      return bad_value_of("prioritizer", text, "unknown prioritizer",
                          did_you_mean(name, {"Balance", "Steady", "ResourceAllocatableCPU", "ResourceAllocatableMemory"},
                                       std::string(kBuiltIns)));
    }
    coordinate = {{"type", "AddOn"},
                  {"addOn",
                   {{"resourceName", std::string(name.substr(first + 1, second - first - 1))},
                    {"scoreName", std::string(name.substr(second + 1))}}}};
  }
  return Json{{"scoreCoordinate", std::move(coordinate)}, {"weight", weight}};
}

Result<Json> spec_of(const SpecFlags& flags) {
  Json spec = Json::object();
  if (!flags.cluster_sets.empty()) spec["clusterSets"] = flags.cluster_sets;
  if (flags.count) spec["numberOfClusters"] = *flags.count;
  FLEETADM_TRY(Json predicates, predicates_of(flags));
  if (!predicates.empty()) spec["predicates"] = std::move(predicates);
  for (const std::string& text : flags.tolerations) {
    FLEETADM_TRY(Json toleration, parse_toleration(text));
    spec["tolerations"].push_back(std::move(toleration));
  }
  if (flags.exact || !flags.prioritizers.empty()) {
    Json policy{{"mode", flags.exact ? "Exact" : "Additive"}};
    for (const std::string& text : flags.prioritizers) {
      FLEETADM_TRY(Json prioritizer, parse_prioritizer(text));
      policy["configurations"].push_back(std::move(prioritizer));
    }
    spec["prioritizerPolicy"] = std::move(policy);
  }
  FLEETADM_TRY(Json strategy, strategy_of(flags));
  if (!strategy.empty()) spec["decisionStrategy"] = {{"groupStrategy", std::move(strategy)}};
  return spec;
}

Result<Json> placement_of_text(std::string_view text) {
  auto document = parse_yaml(text);
  if (!document) return fail(Category::kUsage, "the spec cannot be read: " + document.error().message, document.error().hint);
  if (!document->is_object())
    return fail(Category::kUsage, "the spec is not a mapping", "pass a Placement, or the contents of its spec");
  if (!document->contains("kind") && !document->contains("apiVersion")) return Json{{"spec", std::move(*document)}};
  if (str(*document, {"kind"}) != "Placement") {
    return fail(Category::kUsage, "the file holds a " + str(*document, {"kind"}, "nameless kind") + ", not a Placement");
  }
  Json placement{{"spec", object_at(*document, {"spec"})}};
  for (const char* member : {"name", "namespace"}) {
    if (const std::string value = str(*document, {"metadata", member}); !value.empty()) placement["metadata"][member] = value;
  }
  for (const char* member : {"labels", "annotations"}) {
    const auto values = strings_at(*document, {"metadata", member});
    // What kubectl apply keeps for itself is not ours to repeat.
    for (const auto& [key, value] : values) {
      if (key != "kubectl.kubernetes.io/last-applied-configuration") placement["metadata"][member][key] = value;
    }
  }
  return placement;
}

Result<Json> spec_of_text(std::string_view text) {
  FLEETADM_TRY(const Json placement, placement_of_text(text));
  return object_at(placement, {"spec"});
}

}  // namespace fleetadm::commands
