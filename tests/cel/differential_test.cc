// Our evaluator beside the reference: random expressions, value (with its type) or phase of the failure, and cost.
#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include <map>
#include <optional>
#include <regex>
#include <stdexcept>

#include "core/cel/library/environments.h"
#include "core/cel/library/libraries.h"
#include "core/cel/library/opaque_values.h"
#include "tests/cel/generator.h"
#include "tests/cel/oracle.h"
#include "tests/cel/render.h"
#include "tests/support/equipment.h"

namespace fleetadm::testkit {
namespace {

constexpr std::size_t kExpressions = 10'000;

constexpr const char* kObject = R"({"apiVersion": "apps/v1", "kind": "Deployment",
  "metadata": {"name": "web", "namespace": "default", "generation": 3, "labels": {"app": "a", "app.kubernetes.io/name": "x"}},
  "spec": {"replicas": 3},
  "status": {"replicas": 2, "ratio": 0.5, "whole": 2.0, "big": 9223372036854775807, "nil": null, "list": [1, "two", true, null, 2.5],
             "numbers": [4, 5, 6], "empty": [], "conditions": [
               {"type": "Available", "status": "True", "reason": "Ok", "message": "fine"},
               {"type": "Progressing", "status": "False", "message": ""}]}})";

constexpr const char* kCluster = R"({"metadata": {"name": "c1", "labels": {"env": "prod", "tier": "gold", "a": "b"},
  "annotations": {"json": "{\"a\": [1, {\"b\": null}], \"c\": \"x\"}"}}, "spec": {"hubAcceptsClient": true,
  "taints": [{"key": "team", "value": "blue", "effect": "NoSelect", "timeAdded": "2026-11-20T11:55:00Z"}]},
  "status": {"allocatable": {"cpu": "6500m", "memory": "16Gi"}, "conditions": null, "version": {"kubernetes": "v1.31.4"},
             "clusterClaims": [{"name": "region", "value": "eu"}, {"name": "sla", "value": "99.9"}]}})";

class Scores final : public cel::ScoreSource {
 public:
  const Items* scores(std::string_view cluster, std::string_view name) const override {
    return cluster == "c1" && name == "demo" ? &items_ : nullptr;
  }

 private:
  Items items_{{"cpu", 42}, {"memory", -7}};
};

struct Answer {
  std::string value;
  std::string phase;
  std::uint64_t cost = 0;
  std::string error;

  bool same(const Answer& other) const { return value == other.value && phase == other.phase && cost == other.cost; }
  /// The reference's functions of OCM meet an argument that is an error with a failed type assertion, and charge nothing for the
  /// call that cel-go then reports as an internal error. The evaluation ends as ours does.
  bool fell_over() const { return phase == "evaluate" && error.find("interface conversion: *types.Err") != std::string::npos; }
  std::string text() const {
    return (phase.empty() ? value : phase + " (" + error.substr(0, 160) + ")") + " at cost " + std::to_string(cost);
  }
};

/// The reference knows what add() and sub() of quantities yield by the left side of == and != only: on the right it is "no such
/// overload" (and so unequal to everything, and equal within lists and maps). Ours compares by the amount: a listed difference.
bool compares_a_sum(const std::string& expression, const Answer& reference, const Answer& ours) {
  static const std::regex on_the_right(R"([=!]=.*\.(add|sub)\()");
  if (expression.find("quantity(") == std::string::npos || !std::regex_search(expression, on_the_right)) return false;
  const auto is_bool = [](const Answer& answer) { return answer.value == "true" || answer.value == "false"; };
  return (reference.error == "no such overload" && ours.phase.empty()) || (is_bool(reference) && is_bool(ours));
}

Answer answer_of(const Json& reference) {
  return {str(reference, {"value"}), str(reference, {"phase"}), static_cast<std::uint64_t>(num(reference, {"cost"})),
          str(reference, {"error"})};
}

class Ours {
 public:
  Ours() : object_(parsed(kObject)), cluster_(parsed(kCluster)) {
    auto selector = cel::selector_environment();
    auto condition = cel::condition_environment(true);
    if (!selector || !condition) throw std::runtime_error((selector ? condition : selector).error().message);
    selector_ = std::move(*selector);
    condition_ = std::move(*condition);
  }

  Answer answer(bool selector, const std::string& expression) const {
    const auto program = (selector ? *selector_ : *condition_).compile(expression);
    if (!program) return {"", "compile", 0, program.error().render()};
    const cel::Outcome outcome =
        selector ? program->evaluate({{"managedCluster", cel::Value::view(cluster_)}}, {}, &scores_)
                 : program->evaluate({{"object", cel::Value::view(object_)}, {"result", cel::Value::boolean(true)}});
    if (!outcome.ok()) return {"", "evaluate", outcome.cost, std::string(outcome.value.text())};
    return {render(outcome.value), "", outcome.cost, ""};
  }

 private:
  static Json parsed(const char* text) {
    auto json = parse_json(text);
    return json ? std::move(*json) : Json();
  }

  Json object_;
  Json cluster_;
  Scores scores_;
  std::optional<cel::Env> selector_;
  std::optional<cel::Env> condition_;
};

/// Whether the reference answers a question differently when it is asked again: loops over a map go in Go's random order.
bool is_random(const Json& question) {
  const auto answers = ask_oracle(std::vector<Json>(16, question));
  if (!answers) return false;
  const Answer first = answer_of(answers->front());
  return std::any_of(answers->begin(), answers->end(), [&](const Json& answer) { return !first.same(answer_of(answer)); });
}

std::uint64_t seed() {
  const char* text = std::getenv("FLEETADM_CEL_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

TEST(CelDifferential, AnswersAsTheReferenceDoes) {
  CelGenerator generator(seed());
  std::vector<Json> questions;
  std::map<std::string, int> seen;
  while (questions.size() < kExpressions) {
    const bool selector = questions.size() % 3 == 0;
    const std::string expression = generator.expression(selector);
    if (!seen.emplace(expression, 0).second && questions.size() < kExpressions / 2) continue;
    questions.push_back(
        {{"id", std::to_string(questions.size())},
         {"env", selector ? "selector" : "condition"},
         {"expression", expression},
         {"object", *parse_json(selector ? kCluster : kObject)},
         {"scores", *parse_json(R"({"c1/demo": [{"name": "cpu", "value": 42}, {"name": "memory", "value": -7}]})")}});
  }
  const auto answers = ask_oracle(questions);
  if (!answers && answers.error().category == Category::kUnavailable && !testkit::in_ci()) {
    GTEST_SKIP() << answers.error().message << ": " << answers.error().hint;
  }
  ASSERT_TRUE(answers.has_value()) << answers.error().message;

  const Ours ours;
  std::map<std::string, int> phases;
  int different = 0;
  int random = 0;
  int sums = 0;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const std::string expression = str(questions[i], {"expression"});
    const Answer wanted = answer_of((*answers)[i]);
    const Answer got = ours.answer(str(questions[i], {"env"}) == "selector", expression);
    ++phases[wanted.phase.empty() ? "value" : wanted.phase];
    if (wanted.same(got) || (wanted.fell_over() && got.phase == wanted.phase)) continue;
    if (compares_a_sum(expression, wanted, got)) {
      ++sums;
      continue;
    }
    if (is_random(questions[i])) {
      ++random;
      continue;
    }
    if (++different <= 40) {
      ADD_FAILURE() << str(questions[i], {"env"}) << ": " << expression << "\n  reference: " << wanted.text()
                    << "\n  ours:      " << got.text();
    }
  }
  std::cout << questions.size() << " expressions (seed " << seed() << "):";
  for (const auto& [phase, count] : phases) std::cout << " " << count << " " << phase;
  std::cout << ", " << different << " different, " << random << " random in the reference, " << sums
            << " with a sum on the right of ==\n";
  EXPECT_EQ(different, 0);
  EXPECT_LT(random, 20);
  EXPECT_LT(sums, 10);
  EXPECT_GT(phases["value"], static_cast<int>(kExpressions) / 3);
}

}  // namespace
}  // namespace fleetadm::testkit
