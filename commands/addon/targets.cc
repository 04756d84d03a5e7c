#include "commands/addon/targets.h"

#include <algorithm>

#include "commands/framework/grammar.h"
#include "commands/framework/write_report.h"

namespace fleetadm::commands {

std::vector<std::string> AddonTargets::all_names(const std::vector<std::string>& args) const {
  std::vector<std::string> all;
  for (const auto* some : {&names, &args}) {
    for (const std::string& name : *some) {
      if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
    }
  }
  return all;
}

void bind_addon_targets(FlagSet& flags, AddonTargets& targets) {
  Flag& names = flags.comma_texts(&targets.names, "names", "Names of add-ons, as the arguments");
  names.value_name = "NAME,…";
  names.complete = Complete::kAddons;
  clusters_flag(flags, &targets.where.clusters, "cluster names");
  flags.text(&targets.where.selector, "selector", "clusters that currently match this label selector", 'l').value_name =
      "SELECTOR";
  placement_flag(flags, &targets.where.placement, "the clusters that this placement selects, now and later");
}

Status validate_addon_targets(const AddonTargets& targets, const std::vector<std::string>& args) {
  const auto names = targets.all_names(args);
  if (names.empty()) return fail(Category::kUsage, "no add-on is named", "name it as an argument or with --names");
  for (const std::string& name : names) FLEETADM_CHECK(check_name("add-on name", name));
  const int ways = static_cast<int>(!targets.where.clusters.empty()) + static_cast<int>(!targets.where.selector.empty()) +
                   static_cast<int>(!targets.where.placement.empty());
  if (ways != 1) {
    return fail(Category::kUsage, ways == 0 ? "no clusters given" : "conflicting cluster selection",
                "use one of --clusters, -l and --placement");
  }
  for (const std::string& cluster : targets.where.clusters) FLEETADM_CHECK(check_name("cluster", cluster));
  return {};
}

}  // namespace fleetadm::commands
