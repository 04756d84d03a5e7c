// cel eval: what an expression yields for an object, and what that costs.
#include <map>
#include <optional>

#include "commands/cel/cel.h"
#include "commands/framework/grammar.h"
#include "commands/framework/manifests.h"
#include "commands/framework/scenarios.h"
#include "core/cel/library/libraries.h"
#include "core/cel/library/scenario.h"
#include "core/placement/engine/cluster_object.h"
#include "core/placement/engine/decode.h"

namespace fleetadm::commands {
namespace {

struct EvalOptions {
  std::string environment = "selector";
  std::vector<std::string> files;
  std::string scenarios;
};

Status validate_eval(const EvalOptions& options, const std::vector<std::string>& args) {
  if (options.scenarios.empty()) {
    if (args.empty()) return fail(Category::kUsage, "missing argument: EXPRESSION");
    return {};
  }
  if (!args.empty() || !options.files.empty()) {
    return fail(Category::kUsage, "--scenarios cannot be combined with an expression or -f");
  }
  return {};
}

/// Scores from files, by cluster and name.
class FileScores final : public cel::ScoreSource {
 public:
  void add(const placement::Score& score) { scores_[{score.ns, score.name}] = *score.items; }
  bool empty() const { return scores_.empty(); }
  const Items* scores(std::string_view cluster, std::string_view name) const override {
    const auto at = scores_.find({std::string(cluster), std::string(name)});
    return at == scores_.end() ? nullptr : &at->second;
  }

 private:
  std::map<std::pair<std::string, std::string>, Items> scores_;
};

struct EvalInput {
  std::optional<Json> object;
  FileScores scores;
};

Result<EvalInput> read_input(Context& context, const EvalOptions& options) {
  EvalInput input;
  if (options.files.empty()) return input;
  FLEETADM_TRY(std::vector<LoadedManifest> loaded, load_manifests(context, options.files));
  for (LoadedManifest& manifest : loaded) {
    if (options.environment == "selector" && str(manifest.object, {"kind"}) == "AddOnPlacementScore") {
      input.scores.add(placement::decode_score(manifest.object));
      continue;
    }
    if (input.object) {
      return fail(Category::kUsage, manifest.where() + ": found a second object; an expression is evaluated against exactly one",
                  "pass one object (with --env selector, AddOnPlacementScores may be added)");
    }
    input.object = options.environment == "selector" ? placement::cluster_for_cel(manifest.object) : std::move(manifest.object);
  }
  return input;
}

/// A text as it is; everything else as JSON where it has that form.
std::string shown(const cel::Value& value) {
  if (value.is(cel::Kind::kString)) return std::string(value.text());
  const auto json = cel::to_json(value);
  return json && (value.is(cel::Kind::kList) || value.is(cel::Kind::kMap)) ? dump_json(*json) : cel::display(value);
}

Result<Report> answer_batch(Context& context, const std::string& path) {
  FLEETADM_TRY(const cel::ScenarioAnswerer answerer, cel::ScenarioAnswerer::make());
  return answer_scenarios(context, path, [&](const Json& line) { return answerer.answer(line); });
}

Result<Report> run_eval(Context& context, const EvalOptions& options, const std::vector<std::string>& args) {
  if (!options.scenarios.empty()) return answer_batch(context, options.scenarios);
  FLEETADM_TRY(const cel::Env env, environment_of(options.environment));
  const auto program = env.compile(args.front());
  if (!program) return report_of_failure(program.error(), options.environment);
  FLEETADM_TRY(const EvalInput input, read_input(context, options));
  std::vector<cel::Binding> bindings;
  if (input.object) {
    bindings.push_back({options.environment == "selector" ? "managedCluster" : "object", cel::Value::view(*input.object)});
  }
  if (options.environment == "message") bindings.push_back({"result", cel::Value::boolean(true)});
  const cel::Outcome outcome = program->evaluate(bindings, {}, &input.scores);
  const std::string cost = "cost " + std::to_string(outcome.cost) + " of " + std::to_string(cel::kPerCallCostLimit);
  if (!outcome.ok()) {
    return fail(Category::kInvalid, "the evaluation failed (" + cost + "): " + std::string(outcome.value.text()),
                input.object ? "" : "the expression may need an object; pass one with -f");
  }
  Report report;
  auto json = cel::to_json(outcome.value);
  report.data = {{"kind", "CelEvaluation"},
                 {"environment", options.environment},
                 {"expression", args.front()},
                 {"value", json ? std::move(*json) : Json(cel::display(outcome.value))},
                 {"type", outcome.value.runtime_type().name()},
                 {"cost", outcome.cost}};
  report.lines.push_back(shown(outcome.value));
  report.notes.push_back(cost);
  return report;
}

}  // namespace

void register_cel_eval(Registry& registry) {
  Command command;
  command.path = "cel eval";
  command.group = "Placement";
  command.summary = "Evaluate a CEL expression against an object";
  command.description =
      "Evaluates an expression against the object in a file and prints its value; the evaluation cost is "
      "printed to standard error. With --env selector the object is a ManagedCluster, seen as the "
      "scheduler sees it (variable managedCluster), and AddOnPlacementScores among the files are what "
      "scores() finds; with --env condition or message it is any object (variable object; "
      "result is true).\n\n"
      "-o json prints kind CelEvaluation, environment, expression, value, type and cost.\n\n"
      "--scenarios evaluates cases in batches, with one JSON object per line in and out; "
      "see fleetadm-scenarios(7).";
  command.args = {"[EXPRESSION]", 0, 1};
  command.examples = {
      {"Would this cluster match?",
       "kubectl get managedcluster c1 -o yaml | fleetadm cel eval "
       "'managedCluster.metadata.labels[\"env\"] == \"prod\"' -f -"},
      {"With scores", "fleetadm cel eval 'managedCluster.scores(\"load\").exists(s, s.value > 50)' -f c1.yaml -f load.yaml"},
      {"A condition rule", "fleetadm cel eval --env condition 'object.status.readyReplicas == object.spec.replicas' -f web.yaml"},
      {"Evaluate recorded cases", "fleetadm cel eval --scenarios cases.jsonl"}};
  command.make = invocation<EvalOptions>(
      [](FlagSet& flags, EvalOptions& options) {
        environment_flag(flags, &options.environment);
        filenames_flag(flags, &options.files, "File with the object, in YAML or JSON (\"-\": standard input)");
        scenarios_flag(flags, &options.scenarios);
      },
      validate_eval, run_eval);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
