// placement explain: why a placement takes a cluster, or does not, and what would change that.
#include "core/placement/engine/explain.h"

#include <algorithm>

#include "commands/framework/grammar.h"
#include "commands/framework/inputs.h"
#include "commands/framework/suggest.h"
#include "commands/framework/write_report.h"
#include "commands/placement/placement.h"
#include "commands/placement/what_if.h"
#include "core/api/kinds.h"
#include "core/placement/engine/cel_evaluator.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::commands {
namespace {

using placement::Change;
using placement::Explained;
using placement::ObjectKind;
using placement::Objects;
using placement::Stage;

struct ExplainOptions {
  InputFlags inputs;
  std::vector<std::string> what_if;
  std::string cluster;
};

Result<Objects::Key> find_placement(const Context& context, const ExplainOptions& options, const std::string& name,
                                    const std::string& ns, const Objects& objects) {
  if (objects.find(ObjectKind::kPlacement, ns, name) != nullptr) return Objects::Key{ns, name};
  std::vector<std::string> elsewhere;
  for (const auto& [key, object] : objects.of(ObjectKind::kPlacement)) {
    if (key.second == name) elsewhere.push_back(key.first);
  }
  // Files speak for themselves: without -n, the one namespace that has the name is meant.
  if (!options.inputs.files.empty() && context.global().config.ns.empty() && elsewhere.size() == 1) {
    return Objects::Key{elsewhere.front(), name};
  }
  std::string hint = did_you_mean(name, objects.names(ObjectKind::kPlacement, ns));
  if (hint.empty() && !elsewhere.empty()) hint = "there is one in namespace " + joined(elsewhere, ", ") + "; use -n";
  return fail(Category::kNotFound, "there is no placement \"" + name + "\" in namespace \"" + ns + "\"", std::move(hint));
}

std::string changes_text(const Explained& one, const std::string& ns) {
  std::string text;
  for (const Change& change : one.changes) text += (text.empty() ? "" : "; ") + placement::change_text(change, ns);
  if (one.alternative) text += (text.empty() ? "" : ", or ") + placement::change_text(*one.alternative, ns);
  if (one.unranked) text += "; then its rank decides (see --cluster)";
  return text;
}

// "Balance 100, Steady 2x100"
std::string shares_text(const Explained& one) {
  std::string text;
  for (const auto& share : one.shares) {
    text += (text.empty() ? "" : ", ") + share.prioritizer + " ";
    if (share.weight != 1) text += std::to_string(share.weight) + "x";
    text += share.score ? std::to_string(*share.score) : "none";
  }
  return text;
}

Json change_json(const Change& change, const std::string& ns) {
  Json out{{"change", std::string(placement::change_word(change.kind))}, {"text", placement::change_text(change, ns)}};
  if (!change.key.empty()) out["key"] = change.key;
  if (!change.value.empty()) out["value"] = change.value;
  if (!change.effect.empty()) out["effect"] = change.effect;
  if (change.kind == Change::Kind::kLimit || change.kind == Change::Kind::kPoints) out["number"] = change.number;
  return out;
}

Json row_json(const Explained& one, const std::string& ns) {
  Json out{{"cluster", one.cluster}, {"stage", std::string(placement::stage_word(one.stage))}, {"decided", one.decided}};
  if (!one.rule.empty()) out["rule"] = one.rule;
  if (one.rank) out["rank"] = *one.rank;
  if (one.sum) out["score"] = *one.sum;
  if (one.rank) {
    out["prioritizers"] = Json::array();
    for (const auto& share : one.shares) {
      Json entry{{"name", share.prioritizer}, {"weight", share.weight}};
      if (share.score) entry["score"] = *share.score;
      out["prioritizers"].push_back(std::move(entry));
    }
  }
  if (one.group) out["decisionGroup"] = {{"index", *one.group}, {"name", one.group_name}};
  if (one.stage == Stage::kSelected) return out;
  out["changes"] = Json::array();
  for (const Change& change : one.changes) out["changes"].push_back(change_json(change, ns));
  if (one.alternative) out["alternative"] = change_json(*one.alternative, ns);
  if (one.unranked) out["unranked"] = true;
  return out;
}

Result<Report> run_explain(Context& context, const ExplainOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const std::string ns, input_namespace(context, options.inputs));
  FLEETADM_TRY(Inputs inputs, read_inputs(context, options.inputs, ns));
  FLEETADM_CHECK(apply_what_if(context, options.what_if, ns, inputs));
  FLEETADM_TRY(const Objects::Key key, find_placement(context, options, args.front(), ns, inputs.objects));
  if (!options.cluster.empty() && inputs.objects.find(ObjectKind::kCluster, "", options.cluster) == nullptr) {
    return fail(Category::kNotFound, "there is no cluster \"" + options.cluster + "\"",
                did_you_mean(options.cluster, inputs.objects.names(ObjectKind::kCluster)));
  }
  FLEETADM_TRY(const auto cel, placement::make_cel_evaluator());
  const placement::Explanation all =
      placement::explain(inputs.objects, key, inputs.now, {.cel = cel.get(), .cluster = options.cluster});

  Report report;
  report.table = Table{
      {{"CLUSTER"}, {"STAGE"}, {"RANK"}, {"SCORE"}, {"PRIORITIZERS", true}, {"RULE"}, {"TO ADMIT IT"}}, {}, "No clusters found."};
  Json rows = Json::array();
  for (const Explained& one : all.clusters) {
    rows.push_back(row_json(one, key.first));
    std::string rule = one.rule;
    if (one.group && (*one.group > 0 || !one.group_name.empty())) {
      rule = "decision group " + std::to_string(*one.group) + (one.group_name.empty() ? "" : " (" + one.group_name + ")");
    }
    report.table->rows.push_back({one.cluster, std::string(placement::stage_word(one.stage)),
                                  one.rank ? std::to_string(*one.rank) : "", one.sum ? std::to_string(*one.sum) : "",
                                  shares_text(one), std::move(rule), changes_text(one, key.first)});
    report.names.push_back(full_name(api::managed_clusters(), one.cluster));
  }
  Json conditions = Json::array();
  for (const auto& one : all.pass.conditions) {
    conditions.push_back({{"type", one.type}, {"status", one.status}, {"reason", one.reason}, {"message", one.message}});
  }
  report.notes = inputs.notes;
  for (const auto& one : all.pass.conditions) {
    const bool good = (one.type == "PlacementSatisfied") == (one.status == "True");
    if (!good) report.notes.push_back(key.first + "/" + key.second + ": " + one.reason + ": " + one.message);
  }
  if (!all.pass.failure.empty())
    report.notes.push_back(key.first + "/" + key.second + " cannot be scheduled: " + all.pass.failure);
  report.data = {
      {"kind", "PlacementExplanation"},      {"namespace", key.first},  {"name", key.second}, {"now", format_time(inputs.now)},
      {"conditions", std::move(conditions)}, {"items", std::move(rows)}};
  return report;
}

}  // namespace

void register_placement_explain(Registry& registry) {
  Command command;
  command.path = "placement explain";
  command.group = "Placement";
  command.aliases = {"explain placement"};
  command.summary = "Explain why each cluster is or is not selected";
  command.description =
      "Prints one row per cluster: the first stage that excluded it (SetBinding, Predicate, Taint, "
      "Score, Limit, DecisionGroup; Selected if none did), the text of the rule, its rank and score with "
      "each prioritizer's share, and the smallest change that would select it. "
      "Each change is verified with the scheduler: applying the change selects the cluster. "
      "It explains the next decision, based on what is on the hub now, or in the -f files.\n\n"
      "-o json prints kind PlacementExplanation, namespace, name, now, conditions, and items: "
      "a list of cluster, stage, rule, decided (it is in the current decisions), rank, score, "
      "prioritizers (name, weight, score), decisionGroup (index, name), changes "
      "(applied together they select the cluster: change, text, key, value, effect, number) and "
      "alternative (the missing score).";
  command.args = {"NAME", 1, 1, false, Complete::kPlacements};
  command.examples = {{"Why does web not select c7?", "fleetadm placement explain web -n apps --cluster c7"},
                      {"All clusters, with each prioritizer's share", "fleetadm placement explain web -n apps -o wide"},
                      {"From files", "fleetadm placement explain web -f fleet.yaml -o json"}};
  command.make = invocation<ExplainOptions>(
      [](FlagSet& flags, ExplainOptions& options) {
        cluster_flag(flags, &options.cluster, "only this cluster");
        bind_inputs(flags, options.inputs);
        what_if_flag(flags, &options.what_if);
      },
      [](const ExplainOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_explain);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
