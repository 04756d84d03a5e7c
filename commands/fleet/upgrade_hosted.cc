#include "commands/fleet/upgrade_hosted.h"

#include <algorithm>
#include <utility>

#include "core/api/agent_version.h"
#include "core/api/hosted_member.h"
#include "core/api/kinds.h"
#include "core/registration/join/hosted_sides.h"
#include "core/upgrade/member.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/names.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {

void HostedTargets::find(const std::vector<Json>& clusters, const std::vector<std::string>& targets) {
  std::map<std::string, std::size_t> members;
  for (const Json& cluster : clusters) ++members[api::hosted_by(cluster)];
  for (const Json& cluster : clusters) {
    const std::string by = api::hosted_by(cluster);
    if (by.empty() || !std::ranges::binary_search(targets, name_of(cluster))) continue;
    hosted_.emplace(name_of(cluster), judge(cluster, by, members[by]));
  }
}

HostedTargets::Hosted HostedTargets::judge(const Json& cluster, const std::string& by, std::size_t members) {
  Hosted hosted;
  hosted.told = api::agent_version(cluster);
  hosted.current = !target_.named && !target_.version.empty() && hosted.told == target_.version && upgrade::is_available(cluster);
  const std::string ns = by.substr(by.find('/') + 1);
  const bool here = is_here(by, ns);
  std::string command = "upgrade it there, with all agents of its pod: fleetadm upgrade agent --mode hosted";
  if (!here) command += " --context HOSTING_CLUSTER";
  if (ns != api::kHostedNamespace && is_dns_label(ns)) command += " --hosted-namespace " + ns;  // a command that people copy
  std::string where =
      "its agent runs on " + std::string(here ? "the hub" : "another cluster") + " (" + log::escape_terminal(by) + ")";
  if (members > 1) where += ", in one pod with those of " + pluralize(members - 1, "other member");
  hosted.elsewhere = fail(Category::kConflict, where, command).value().with_cluster(name_of(cluster));
  return hosted;
}

bool HostedTargets::is_here(const std::string& by, const std::string& ns) {
  auto known = hub_hosts_.find(ns);
  if (known == hub_hosts_.end()) known = hub_hosts_.emplace(ns, join::hosting_by(hub_, ns).value_or("")).first;
  return known->second == by;
}

void HostedTargets::add_plan_lines(std::vector<std::string>& lines) const {
  for (const auto& [name, hosted] : hosted_) {
    lines.push_back(
        name + ": " + (hosted.told.empty() ? "unknown version" : hosted.told) +
        (hosted.current ? ", up to date" : ", unchanged: " + hosted.elsewhere.message + "; " + hosted.elsewhere.hint));
  }
}

void HostedTargets::add_to(Report& report, Json& list) const {
  for (const auto& [name, hosted] : hosted_) {
    const std::string state = hosted.current ? "Succeeded" : "Hosted";
    const std::string why = hosted.current ? std::string() : hosted.elsewhere.message;
    list.push_back({{"cluster", name}, {"state", state}, {"version", hosted.told}, {"message", why}});
    report.table->rows.push_back({name, state, hosted.told.empty() ? "<none>" : hosted.told, why});
    if (hosted.current) {
      report.names.push_back("managedcluster." + api::managed_clusters().group + "/" + name);
    } else {
      report.failures.push_back(hosted.elsewhere);
    }
  }
}

}  // namespace fleetadm::commands
