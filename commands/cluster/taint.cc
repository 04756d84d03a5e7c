// cluster taint: adds and removes taints, as kubectl taint does for nodes, behind the guard.
#include <algorithm>

#include "commands/cluster/cluster.h"
#include "commands/cluster/edit.h"
#include "commands/framework/selectors.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

struct TaintOptions {
  ClusterSelection selection;
  GuardOptions guard;
  bool overwrite = false;
};

struct TaintChange {
  std::string key;
  std::string value;
  std::string effect;  // empty (of a removal): every effect
  bool remove = false;
};

constexpr const char* kTaintForm = "write KEY[=VALUE]:EFFECT to add a taint, KEY[:EFFECT]- to remove it";

Result<TaintChange> parse_taint(const std::string& word) {
  TaintChange change;
  std::string text = word;
  change.remove = text.ends_with('-');
  if (change.remove) text.pop_back();
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos) change.effect = text.substr(colon + 1);
  const std::string left = text.substr(0, colon);
  const std::size_t equal = left.find('=');
  change.key = left.substr(0, equal);
  if (equal != std::string::npos) change.value = left.substr(equal + 1);
  if (!qualified_name_problems(change.key).empty())
    return fail(Category::kUsage, "\"" + word + "\": \"" + change.key + "\" is not a valid taint key", kTaintForm);
  if (change.effect.empty() && (!change.remove || colon != std::string::npos))
    return fail(Category::kUsage, "\"" + word + "\": the effect is missing", kTaintForm);
  if (!change.effect.empty() && change.effect != "NoSelect" && change.effect != "PreferNoSelect" &&
      change.effect != "NoSelectIfNew") {
    return fail(Category::kUsage, "\"" + word + "\": \"" + change.effect + "\" is not an effect",
                taint_effect_hint(change.effect));
  }
  if (change.value.size() > 1024)
    return fail(Category::kUsage, "\"" + change.key + "\": the value is limited to 1024 characters");
  return change;
}

bool concerns(const TaintChange& change, const Json& taint) {
  return str(taint, {"key"}) == change.key && (change.effect.empty() || str(taint, {"effect"}) == change.effect);
}

Status edit_taints(Json& cluster, const std::vector<TaintChange>& changes, bool overwrite) {
  for (const TaintChange& change : changes) {
    Json kept = Json::array();
    bool there = false;
    for (const Json& taint : list_at(cluster, {"spec", "taints"})) {
      if (!concerns(change, taint)) {
        kept.push_back(taint);
        continue;
      }
      if (change.remove) continue;
      there = str(taint, {"value"}) == change.value;
      if (there) {
        kept.push_back(taint);
      } else if (!overwrite) {
        return fail(Category::kConflict,
                    "taint " + change.key + ":" + change.effect + " already has the value \"" + str(taint, {"value"}) + "\"",
                    "to change it, add --overwrite");
      }
    }
    if (!change.remove && !there) {
      Json taint{{"key", change.key}, {"effect", change.effect}};
      if (!change.value.empty()) taint["value"] = change.value;
      kept.push_back(std::move(taint));  // the hub adds timeAdded
    }
    if (kept != list_at(cluster, {"spec", "taints"})) at_or_make(cluster, {"spec", "taints"}) = std::move(kept);
  }
  return {};
}

/// Arguments are names of clusters up to the first taint.
Status split_taint_args(const std::vector<std::string>& args, std::vector<std::string>& names, std::vector<TaintChange>& taints) {
  for (const std::string& arg : args) {
    const bool taint = arg.find_first_of("=:") != std::string::npos || arg.ends_with('-');
    if (!taint && taints.empty()) {
      names.push_back(arg);
      continue;
    }
    if (!taint) return fail(Category::kUsage, "\"" + arg + "\" is not a taint", "names of clusters come before the taints");
    FLEETADM_TRY(TaintChange change, parse_taint(arg));
    const bool twice = std::any_of(taints.begin(), taints.end(), [&](const TaintChange& one) {
      return one.key == change.key && (one.effect == change.effect || one.effect.empty() || change.effect.empty());
    });
    if (twice) return fail(Category::kUsage, "taint \"" + change.key + "\" is given twice", "give each taint once");
    taints.push_back(std::move(change));
  }
  if (taints.empty()) return fail(Category::kUsage, "no taints are given", kTaintForm);
  return {};
}

Result<Report> run_taint(Context& context, const TaintOptions& options, const std::vector<std::string>& args) {
  ClusterSelection selection = options.selection;
  std::vector<TaintChange> taints;
  FLEETADM_CHECK(split_taint_args(args, selection.names, taints));
  FLEETADM_CHECK(validate_cluster_selection(selection));
  ClusterEdit edit;
  edit.what = "tainting";
  edit.done = "tainted";
  if (std::all_of(taints.begin(), taints.end(), [](const TaintChange& one) { return one.remove; })) {
    edit.what = "removing taints from";
    edit.done = "untainted";
  }
  edit.edit = [&](Json& cluster) { return edit_taints(cluster, taints, options.overwrite); };
  // Tolerations for a time count from the taint's beginning, which the hub notes.
  edit.consequence = [now = context.clock().now()](Json& cluster) {
    for (Json& taint : at_or_make(cluster, {"spec", "taints"})) {
      if (str(taint, {"timeAdded"}).empty()) taint["timeAdded"] = format_time(now);
    }
  };
  return edit_clusters(context, selection, options.guard, edit);
}

}  // namespace

void register_cluster_taint(Registry& registry) {
  Command command;
  command.path = "cluster taint";
  command.group = "Clusters";
  command.summary = "Add or remove taints of clusters";
  command.description =
      "KEY[=VALUE]:EFFECT adds a taint, KEY:EFFECT- removes it, KEY- removes it with every effect. "
      "NoSelect makes placements drop the cluster unless they tolerate the taint; NoSelectIfNew only "
      "prevents them from selecting it; PreferNoSelect makes it the last choice.";
  command.description += kGuardText;
  command.args = {"[NAME...] KEY[=VALUE]:EFFECT|KEY[:EFFECT]-...", 1, -1, false, Complete::kClusters};
  command.examples = {{"Drain a cluster for maintenance", "fleetadm cluster taint c1 maintenance:NoSelect"},
                      {"See which works would be lost", "fleetadm cluster taint c1 maintenance:NoSelect --plan"},
                      {"Take it back", "fleetadm cluster taint c1 maintenance:NoSelect-"}};
  command.make = invocation<TaintOptions>(
      [](FlagSet& flags, TaintOptions& options) {
        bind_cluster_selection(flags, options.selection);
        flags.boolean(&options.overwrite, "overwrite", "Change taints that have another value");
        bind_guard(flags, options.guard);
      },
      [](const TaintOptions&, const std::vector<std::string>&) -> Status { return {}; }, run_taint);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
