#include "tests/fuzz/targets.h"

#include <bit>
#include <memory>
#include <set>

#include "commands/framework/selectors.h"
#include "commands/placement/spec.h"
#include "core/cel/library/environments.h"
#include "core/cel/library/libraries.h"
#include "core/cel/library/scenario.h"
#include "core/placement/engine/cel_evaluator.h"
#include "core/placement/engine/explain.h"
#include "core/placement/engine/scenario.h"
#include "core/rollout/scenario.h"
#include "core/work/plan/scenario.h"
#include "kubeclient/base/selector.h"

namespace fleetadm::fuzz {
namespace {

constexpr std::string_view kObject = R"({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
  "metadata": {"name": "c1", "labels": {"env": "prod", "tier": "gold"}, "annotations": {"json": "{\"a\": [1, {\"b\": null}]}"}},
  "spec": {"hubAcceptsClient": true, "replicas": 3, "taints": [{"key": "team", "value": "blue", "effect": "NoSelect"}]},
  "status": {"allocatable": {"cpu": "6500m", "memory": "16Gi"}, "ratio": 0.5, "big": 9223372036854775807, "nil": null,
             "list": [1, "two", true, null, 2.5], "numbers": [4, 5, 6], "empty": [],
             "conditions": [{"type": "Available", "status": "True", "reason": "Ok", "message": "fine"}],
             "clusterClaims": [{"name": "region", "value": "eu"}, {"name": "sla", "value": "99.9"}]}})";

tl::unexpected<Error> broken(std::string what) { return fail(Category::kInternal, "broken promise: " + std::move(what)); }

class Scores final : public cel::ScoreSource {
 public:
  const Items* scores(std::string_view, std::string_view name) const override { return name == "demo" ? &items_ : nullptr; }

 private:
  Items items_{{"cpu", 42}, {"memory", -7}};
};

// --- CEL: the text becomes a program in each environment, and the program answers twice --------------------------------------

Result<std::string> run_cel_in(const cel::Env& env, bool selector, std::string_view text) {
  static const Json object = *parse_json(kObject);
  static const Scores scores;
  const auto program = env.compile(text);
  if (!program) {
    const cel::CompileFailure& failure = program.error();
    if (failure.issues.empty()) return broken("a text does not compile, and nothing says why");
    for (const cel::Issue& issue : failure.issues) {
      if (issue.line < 1 || issue.column < 1 || issue.message.empty()) return broken("an issue without position or words");
    }
    if (failure.render().empty()) return broken("an issue that cannot be shown");
    return "p" + std::to_string(static_cast<int>(failure.phase)) + " " + shape_of(failure.issues.front().message);
  }
  const auto ask = [&] {
    if (selector) return program->evaluate({{"managedCluster", cel::Value::view(object)}}, {}, &scores);
    return program->evaluate({{"object", cel::Value::view(object)}, {"result", cel::Value::boolean(true)}});
  };
  const cel::Outcome first = ask();
  const cel::Outcome second = ask();
  if (first.cost != second.cost || first.ok() != second.ok()) return broken("two evaluations, two costs or outcomes");
  const auto cost = std::to_string(std::bit_width(first.cost));
  if (!first.ok()) return "e" + cost + " " + shape_of(first.value.text());
  if (cel::display(first.value) != cel::display(second.value)) return broken("two evaluations, two values");
  const auto json = cel::to_json(first.value);
  if (json && !parse_json(dump_json(*json))) return broken("a value that is no JSON");
  return "v" + cost + " " + first.value.runtime_type().name();
}

Result<std::string> run_cel(std::string_view text) {
  static const Result<cel::Env> selector = cel::selector_environment();
  static const Result<cel::Env> condition = cel::condition_environment(true);
  if (!selector) return tl::unexpected(selector.error());
  if (!condition) return tl::unexpected(condition.error());
  FLEETADM_TRY(const std::string one, run_cel_in(*selector, true, text));
  FLEETADM_TRY(const std::string other, run_cel_in(*condition, false, text));
  return one + " | " + other;
}

// --- selectors and their small relatives, as flags write them ------------------------------------------------------------------

std::string shape_of(const Result<Json>& outcome) {
  return outcome ? "ok " + std::to_string(std::bit_width(outcome->size())) : fuzz::shape_of(outcome.error().message);
}

Result<std::string> run_selector(std::string_view text) {
  static const Labels labels{{"env", "prod"}, {"region", "eu"}, {"tier", "gold"}};
  const Result<Json> selector = commands::parse_selector(text);
  std::string shape = shape_of(selector);
  if (selector) {
    const auto compiled = Selector::compile(*selector);
    if (!compiled.error().empty()) return broken("a flag is taken whose selector is refused: " + compiled.error());
    shape += compiled.matches(labels) ? " yes" : " no";
    // What explanations print is a selector again, and the same one.
    const Result<Json> again = commands::parse_selector(compiled.text());
    if (!again) return broken("a selector's own text is no selector: " + compiled.text() + ": " + again.error().message);
    if (Selector::compile(*again).matches(labels) != compiled.matches(labels)) {
      return broken("a selector and its own text differ: " + compiled.text());
    }
  }
  if (const Result<Json> object = parse_json(text)) {
    const auto compiled = Selector::compile(*object);
    shape += " json " + fuzz::shape_of(compiled.error()) + (compiled.matches(labels) ? "yes" : "no");
    if (compiled.text().size() > 100 * text.size() + 100) return broken("a text that explodes");
  }
  shape += " | " + shape_of(commands::parse_toleration(text)) + " | " + shape_of(commands::parse_prioritizer(text));
  const std::string word(text);
  for (const commands::SpecFlags& flags :
       {commands::SpecFlags{.claims = {word}}, commands::SpecFlags{.group_size = word}, commands::SpecFlags{.groups = {word}}}) {
    shape += " | " + shape_of(commands::spec_of(flags));
  }
  shape += " | " + shape_of(commands::placement_of_text(text));
  return shape;
}

// --- lines of scenario files ---------------------------------------------------------------------------------------------------

const Result<std::shared_ptr<const placement::CelEvaluator>>& cel_evaluator() {
  static const Result<std::shared_ptr<const placement::CelEvaluator>> cel = placement::make_cel_evaluator();
  return cel;
}

Result<Json> answer_placement(const Json& line) {
  const auto& cel = cel_evaluator();
  if (!cel) return tl::unexpected(cel.error());
  FLEETADM_TRY(Json answer, placement::answer_scenario(line, cel->get()));
  const auto selected = string_list_at(answer, {"selected"});
  if (std::set<std::string>(selected.begin(), selected.end()).size() != selected.size()) {
    return broken("a cluster is selected twice");
  }
  return answer;
}

// A small case explained, too: how many clusters that tells of.
std::size_t explained(const Json& line) {
  placement::Objects objects;
  for (const Json& object : list_at(line, {"objects"})) {
    if (placement::object_kind(object)) objects.put(object);
  }
  const auto now = parse_time(str(line, {"now"}));
  const std::string key = str(line, {"placement"});
  const std::size_t slash = key.find('/');
  if (now && slash != std::string::npos &&
      objects.find(placement::ObjectKind::kPlacement, key.substr(0, slash), key.substr(slash + 1)) != nullptr) {
    const auto why = placement::explain(objects, {key.substr(0, slash), key.substr(slash + 1)}, *now,
                                        {.cel = cel_evaluator()->get(), .budget = 500});
    return why.clusters.size();
  }
  return 0;
}

Result<Json> answer_line(const Json& line) {
  static const Result<cel::ScenarioAnswerer> cel = cel::ScenarioAnswerer::make();
  if (!cel) return tl::unexpected(cel.error());
  if (line.contains("expression")) return cel->answer(line);
  if (line.contains("rule") || line.contains("rules")) return work::answer_scenario(line);
  if (line.contains("strategy") || line.contains("existing")) {
    FLEETADM_TRY([[maybe_unused]] const Json theirs, rollout::answer_scenario(line, rollout::Semantics::kUpstream));
    return rollout::answer_scenario(line, rollout::Semantics::kStrict);
  }
  return answer_placement(line);
}

// Which members an answer has, and how long its lists are.
std::string members_of(const Json& answer) {
  std::string out;
  for (const auto& [key, value] : answer.items()) {
    out += key + (value.is_array() || value.is_object() ? std::to_string(std::bit_width(value.size())) : "") + " ";
  }
  for (const Json& condition : list_at(answer, {"status", "conditions"})) {
    out += shape_of(str(condition, {"reason"}) + " " + str(condition, {"message"})) + " ";
  }
  return out + shape_of(str(answer, {"error"}));
}

Result<std::string> run_scenario(std::string_view text) {
  const Result<Json> line = parse_json(text);
  if (!line) return "no JSON: " + shape_of(line.error().message);
  if (!line->is_object()) return std::string("no object");
  const Result<Json> first = answer_line(*line);
  const Result<Json> second = answer_line(*line);
  if (first.has_value() != second.has_value()) return broken("two answers, one of them an error");
  if (!first) {
    if (first.error().category == Category::kInternal) return tl::unexpected(first.error());
    return "error: " + shape_of(first.error().message);
  }
  const std::string dumped = dump_json(*first);
  if (dumped != dump_json(*second)) return broken("two answers to one case");
  if (!parse_json(dumped)) return broken("an answer that is no JSON");
  if (text.size() < 4'000 && line->contains("objects") && explained(*line) > 4'000) return broken("clusters out of nothing");
  return members_of(*first);
}

const std::vector<std::string_view> kCelWords{"object",
                                              "managedCluster",
                                              "result",
                                              ".metadata",
                                              ".labels",
                                              ".status",
                                              ".spec",
                                              "[\"env\"]",
                                              "has(",
                                              ".all(",
                                              ".exists(",
                                              ".exists_one(",
                                              ".map(",
                                              ".filter(",
                                              "x, ",
                                              "size(",
                                              "int(",
                                              "uint(",
                                              "double(",
                                              "string(",
                                              "bytes(",
                                              "dyn(",
                                              "type(",
                                              "duration(",
                                              "timestamp(",
                                              "'1h'",
                                              "'2026-01-01T00:00:00Z'",
                                              "quantity(",
                                              "'1.5Gi'",
                                              "semver(",
                                              "'1.2.3-rc.1+b'",
                                              "isSemver(",
                                              "url(",
                                              "'https://a:1/b?c=d'",
                                              "ip(",
                                              "'::ffff:1.2.3.4'",
                                              "cidr(",
                                              "'10.0.0.0/8'",
                                              ".format([",
                                              "'%s %d %x %.3f'",
                                              ".find(",
                                              ".findAll(",
                                              ".matches(",
                                              "'(a+)+$'",
                                              ".split(",
                                              ".replace(",
                                              ".substring(",
                                              ".indexOf(",
                                              ".join(",
                                              ".charAt(",
                                              "strings.quote(",
                                              "parseJSON()",
                                              "hasConditions(",
                                              ".scores(\"demo\")",
                                              "optional.of(",
                                              "optional.none()",
                                              ".orValue(",
                                              ".?",
                                              "[?",
                                              "cel.bind(",
                                              "&&",
                                              "||",
                                              "==",
                                              "!=",
                                              "<=",
                                              ">=",
                                              " in ",
                                              "?",
                                              ":",
                                              "!",
                                              "-",
                                              "%",
                                              "null",
                                              "true",
                                              "false",
                                              "9223372036854775807",
                                              "-9223372036854775808",
                                              "18446744073709551615u",
                                              "1e308",
                                              "0x",
                                              "b'",
                                              "r'",
                                              "'''",
                                              "\"\"\"",
                                              "\\u00e9",
                                              "\\U0010ffff",
                                              "\\x",
                                              "\\377",
                                              "//",
                                              "\n",
                                              "google.protobuf.",
                                              "{",
                                              "}",
                                              "[",
                                              "]",
                                              "(",
                                              ")",
                                              ",",
                                              "format.dns1123Label()",
                                              ".validate(",
                                              ".isSorted()",
                                              ".sum()"};

const std::vector<std::string_view> kSelectorWords{"env=prod",
                                                   "tier in (gold,silver)",
                                                   "notin",
                                                   "!",
                                                   "!=",
                                                   "==",
                                                   "=",
                                                   ",",
                                                   "(",
                                                   ")",
                                                   " in ",
                                                   "*",
                                                   ":NoSelect",
                                                   ":PreferNoSelect",
                                                   ":NoSelectIfNew",
                                                   ":10m",
                                                   ":300",
                                                   "Balance",
                                                   "Steady",
                                                   "ResourceAllocatableCPU",
                                                   "AddOn/usage/cpu",
                                                   "=-10",
                                                   "20%",
                                                   "100%",
                                                   "canary:",
                                                   "cluster.open-cluster-management.io/clusterset",
                                                   "{\"matchLabels\":{",
                                                   "{\"matchExpressions\":[{\"key\":",
                                                   "\"operator\":\"In\"",
                                                   "\"operator\":\"Exists\"",
                                                   "\"values\":[",
                                                   "}]}",
                                                   "kind: Placement\n",
                                                   "spec:\n",
                                                   "  numberOfClusters: 1\n",
                                                   "metadata: {name: a}\n",
                                                   "&a ",
                                                   "*a",
                                                   "<<: ",
                                                   "!!binary ",
                                                   "---\n",
                                                   "? ",
                                                   "| ",
                                                   "- "};

const std::vector<std::string_view> kScenarioWords{"\"kind\":\"Placement\"",
                                                   "\"ManagedCluster\"",
                                                   "\"ManagedClusterSet\"",
                                                   "\"ManagedClusterSetBinding\"",
                                                   "\"PlacementDecision\"",
                                                   "\"AddOnPlacementScore\"",
                                                   "numberOfClusters",
                                                   "clusterSets",
                                                   "predicates",
                                                   "requiredClusterSelector",
                                                   "labelSelector",
                                                   "claimSelector",
                                                   "celSelector",
                                                   "celExpressions",
                                                   "tolerations",
                                                   "tolerationSeconds",
                                                   "taints",
                                                   "timeAdded",
                                                   "NoSelect",
                                                   "NoSelectIfNew",
                                                   "PreferNoSelect",
                                                   "prioritizerPolicy",
                                                   "configurations",
                                                   "scoreCoordinate",
                                                   "weight",
                                                   "Balance",
                                                   "Steady",
                                                   "decisionStrategy",
                                                   "groupStrategy",
                                                   "decisionGroups",
                                                   "clustersPerDecisionGroup",
                                                   "ExclusiveClusterSetLabel",
                                                   "validUntil",
                                                   "progressive",
                                                   "progressivePerGroup",
                                                   "maxConcurrency",
                                                   "maxFailures",
                                                   "minSuccessTime",
                                                   "progressDeadline",
                                                   "mandatoryDecisionGroups",
                                                   "existing",
                                                   "lastTransitionTime",
                                                   "\"100%\"",
                                                   "\"-1\"",
                                                   "-1",
                                                   "0",
                                                   "1e999",
                                                   "9223372036854775807",
                                                   "-9223372036854775808",
                                                   "0.5",
                                                   "\"2026-11-20T12:00:00Z\"",
                                                   "\"0001-01-01T00:00:00Z\"",
                                                   "\"9999-12-31T23:59:59Z\"",
                                                   "\"\"",
                                                   "null",
                                                   "[]",
                                                   "{}",
                                                   "true",
                                                   "\"1Gi\"",
                                                   "\"1e400\"",
                                                   "jsonPaths",
                                                   "\".status.list[*]\"",
                                                   "{.a[?(@.b==1)]}",
                                                   "WellKnownStatus",
                                                   "JSONPaths",
                                                   "messageExpression",
                                                   "CEL"};

}  // namespace

std::string shape_of(std::string_view message) {
  // Quoted input may hold quotes of its own: all from the first to the last goes.
  const std::size_t open = message.find_first_of("\"`");
  const std::size_t close = message.find_last_of("\"`");
  std::string out;
  for (std::size_t i = 0; i < message.size() && out.size() < 60; ++i) {
    const char c = message[i];
    if (i >= open && i <= close) continue;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
  }
  return out;
}

const std::vector<Target>& targets() {
  static const std::vector<Target> all = [] {
    std::vector<Target> out{{"cel", 2'000, false, kCelWords, run_cel},
                            {"selector", 500, true, kSelectorWords, run_selector},
                            {"scenario", 16'000, true, kScenarioWords, run_scenario}};
    for (auto& target : sandbox_targets()) out.push_back(std::move(target));
    for (auto& target : addon_targets()) out.push_back(std::move(target));
    for (auto& target : account_targets()) out.push_back(std::move(target));
    for (auto& target : certificate_targets()) out.push_back(std::move(target));
    for (auto& target : konnectivity_targets()) out.push_back(std::move(target));
    for (auto& target : proxy_targets()) out.push_back(std::move(target));
    for (auto& target : gateway_targets()) out.push_back(std::move(target));
    for (auto& target : frames_targets()) out.push_back(std::move(target));
    for (auto& target : streams_targets()) out.push_back(std::move(target));
    for (auto& target : push_targets()) out.push_back(std::move(target));
    return out;
  }();
  return all;
}

}  // namespace fleetadm::fuzz
