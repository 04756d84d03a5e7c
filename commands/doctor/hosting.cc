// The cluster that hosts the agents of others, and each of these members.
#include <algorithm>
#include <set>
#include <utility>

#include "commands/doctor/checkup.h"
#include "core/api/hosted_member.h"
#include "core/api/kinds.h"
#include "core/install/install.h"
#include "core/registration/expiry/hosted_hops.h"
#include "core/registration/join/hosted_members.h"
#include "core/registration/join/hosted_sides.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

namespace r = kube::resources;

constexpr auto kPodPatience = std::chrono::seconds(5);

/// What the agents say of themselves, by the names of their members' Secrets.
struct Said {
  Json members;
  std::string why_not;  // they could not be asked
};

Said ask_agents(const HostingCase& the) {
  kube::ListOptions which;
  which.label_selector = "app=" + std::string(api::kHostedDeployment);
  const auto pods = the.hosting.list(r::pods(), the.ns, which);
  if (!pods) return {{}, pods.error().message};
  Said said{{}, "no pod runs them"};
  for (const Json& pod : list_at(*pods, {"items"})) {
    if (str(pod, {"status", "phase"}) != "Running" || is_deleting(pod)) continue;
    kube::Request request;
    request.path = r::pods().path(the.ns, name_of(pod) + ":8000", "proxy") + "/debug/agent";
    request.accept = "*/*";
    request.timeout = kPodPatience;
    const auto answer = the.hosting.raw(request);
    if (!answer) {
      said.why_not = answer.error().message;
      continue;
    }
    const auto page = parse_json(answer->body);
    const Json* members = page ? find(*page, {"members"}) : nullptr;
    if (members != nullptr) return {*members, {}};
    said.why_not = "pod " + name_of(pod) + " answered something else";
  }
  return said;
}

std::string log_of(const HostingCase& the) {
  return "see the log: kubectl -n " + the.ns + " logs deploy/" + std::string(api::kHostedDeployment);
}

void check_agent(Checkup& checkup, const HostingCase& the, const std::string& secret, const Said& said) {
  if (!said.why_not.empty()) return checkup.skip("agent", "it could not be asked: " + said.why_not);
  const Json* agent = find(said.members, {secret});
  if (agent == nullptr) return checkup.fail("agent", "the pod does not know Secret " + secret, log_of(the));
  const std::string phase = str(*agent, {"phase"});
  const std::string detail = str(*agent, {"detail"});
  const std::string text = phase + (detail.empty() ? "" : ": " + detail);
  if (phase == "joined") {
    checkup.ok("agent", text);
  } else if (phase == "not running") {
    checkup.fail("agent", text, "mend its Secret " + secret + ": the agent begins within a minute");
  } else {
    checkup.warn("agent", text, log_of(the));
  }
  if (const std::string trouble = str(*agent, {"token"}); !trouble.empty())
    checkup.warn("renewal of its token", trouble, "check that the pod reaches the member, and that its account is there");
}

void check_member(Checkup& checkup, const HostingCase& the, const join::HostedMember& member, const Said& said,
                  const Clock& clock, std::stop_token stop) {
  checkup.of(member.cluster + ": ");
  check_agent(checkup, the, member.secret, said);
  check_hop(checkup, "member token", registration::expiry::ask_member(member, std::move(stop)), clock);
  check_credential(checkup, the.hosting, the.ns, api::hosted_credential_secret(member.cluster), "fleetadm rejoin --mode hosted",
                   clock);
  if (!the.member) checkup.skip("managed cluster", "name it with --managed-cluster-context");
  checkup.of({});
}

/// The member itself; its name in the fleet, where it tells one and is hosted here.
std::string check_managed_side(Checkup& checkup, const HostingCase& the, const Clock& clock) {
  checkup.of("managed cluster: ");
  std::string cluster;
  if (check_server(checkup, *the.member, clock)) {
    check_crds(checkup, *the.member, "crds/spoke/", "restore them: fleetadm join --mode hosted");
    const auto by = join::hosting_by(the.hosting, the.ns);
    const auto hosted = join::hosted_as(*the.member);
    if (!by || !hosted) {
      checkup.unreadable("hosted by", by ? hosted.error() : by.error());
    } else if (!*hosted) {
      checkup.fail("hosted by", "it is hosted by nobody",
                   "check --managed-cluster-context, or join it: fleetadm join --mode hosted");
    } else if ((*hosted)->by != *by) {
      checkup.fail("hosted by", "it is hosted by " + (*hosted)->by + ", and this is " + *by,
                   "check --context and --hosted-namespace");
    } else {
      cluster = (*hosted)->cluster;
      checkup.ok("hosted by", *by + ", as " + cluster);
    }
  }
  checkup.of({});
  return cluster;
}

}  // namespace

void check_hosting(Checkup& checkup, const HostingCase& the, const Clock& clock, std::stop_token stop) {
  if (!check_deployment(checkup, the.hosting, "hosted agents", the.ns, api::kHostedDeployment))
    checkup.skip("hosted agents", "not deployed by fleetadm join in namespace " + the.ns + "; they may run elsewhere");
  std::set<std::string> missing(the.only.begin(), the.only.end());
  if (the.member) {
    if (const std::string cluster = check_managed_side(checkup, the, clock); !cluster.empty()) missing.insert(cluster);
  }
  const auto members = join::hosted_members(the.hosting, the.ns);
  if (!members) return checkup.unreadable("hosted members", members.error());
  if (members->empty()) {
    checkup.warn("hosted members", "none in namespace " + the.ns, "check --context and --hosted-namespace");
  } else {
    checkup.ok("hosted members", pluralize(members->size(), "member") + " in namespace " + the.ns);
  }
  const Said said = members->empty() ? Said{} : ask_agents(the);
  const bool only_named = !missing.empty();
  for (const join::HostedMember& member : *members) {
    if (missing.erase(member.cluster) == 0 && only_named) continue;
    check_member(checkup, the, member, said, clock, stop);
  }
  for (const std::string& cluster : missing)
    checkup.fail("hosted members", cluster + " is none of them",
                 "join it: fleetadm join --mode hosted --cluster-name " + cluster);
}

}  // namespace fleetadm::commands
