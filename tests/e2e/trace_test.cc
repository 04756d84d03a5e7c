// What our hub and agent write for join, accept and the life of a work, held against what upstream's programs wrote for the same
// steps (recorded traces): the same verbs on the same objects, and created objects of the same content. Fewer is fine; every
// difference is listed here with its reason.
#include <algorithm>
#include <gtest/gtest.h>
#include <regex>

#include "tests/support/fleet.h"
#include "tests/support/vectors.h"

namespace fleetadm::testkit {
namespace {

// "hub registration create /api/…": who did what to which object, names that differ from run to run replaced.
std::string normal_path(std::string path) {
  path = path.substr(0, path.find('?'));
  path = std::regex_replace(path, std::regex("certificatesigningrequests/[^/]+"), "certificatesigningrequests/<csr>");
  path = std::regex_replace(path, std::regex("/events/[^/]+"), "/events/<event>");
  return std::regex_replace(path, std::regex("appliedmanifestworks/[0-9a-f]{64}a?-"), "appliedmanifestworks/<hash>-");
}

struct Write {
  std::string what;  // "hub registration create /apis/…"
  Json body;         // of creates
};

// Writes of ours that upstream did not make, with the reason. Of upstream's there is none that ours lack.
const std::map<std::string, std::string>& our_own() {
  static const std::map<std::string, std::string> reasons{
      {"spoke agent update /api/v1/namespaces/open-cluster-management-agent/secrets/hub-kubeconfig-secret",
       "the agent keeps its ID and its pending key in the secret from the first start, so the issued certificate is an update"},
      {"spoke agent delete /apis/apps/v1/namespaces/default/deployments/web",
       "in the recording it had left the work before the work was deleted"},
      {"hub registration update /api/v1/namespaces/open-cluster-management-hub/secrets/fleetadm-hub-webhook",
       "upstream's operator, which is not in the recording, makes the certificate of the conversion webhook; here the hub does"},
      {"hub registration patch "
       "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clustermanagementaddons.addon.open-cluster-management.io",
       "so it tells the API server its CA"},
      {"hub registration patch "
       "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/managedclusteraddons.addon.open-cluster-management.io",
       "so it tells the API server its CA"},
  };
  return reasons;
}

// A repeated event becomes a series (a patch) instead of another object; whether one repeats is a matter of time.
bool is_event_series(const std::string& what) {
  return what.ends_with("patch /apis/events.k8s.io/v1/namespaces/c1/events/<event>");
}

std::string our_actor(const AuditEntry& entry) {
  if (entry.user == "system:serviceaccount:open-cluster-management-hub:fleetadm-hub") return "registration";
  if (entry.user == "system:serviceaccount:open-cluster-management:agent-registration-bootstrap") return "bootstrap";
  if (entry.user.starts_with("system:open-cluster-management:c1:")) return "agent";
  // As itself, or as the account that works are applied as: a real server's log names who asks, a sandbox's whom it asks as.
  if (entry.user.starts_with("system:serviceaccount:open-cluster-management-agent:fleetadm-agent")) return "agent";
  return {};
}

Result<std::vector<Write>> recorded() {
  std::vector<Write> writes;
  FLEETADM_CHECK(test::for_each_vector("traces.jsonl.gz", [&](const Json& line) {
    const std::string actor = str(line, {"side"}) + " " + str(line, {"who"}) + " ";
    writes.push_back({actor + str(line, {"verb"}) + " " + normal_path(str(line, {"path"})), object_at(line, {"request"})});
  }));
  return writes;
}

std::vector<Write> made(const KubeServer& server, const std::string& side, std::uintmax_t from) {
  std::vector<Write> writes;
  for (const AuditEntry& entry : server.audit_since(from)) {
    const std::string actor = our_actor(entry);
    // Reviews store nothing; the lease of the hub's replicas is leader election, which the recorded programs had switched off.
    const bool own_lease = entry.resource == "leases" && entry.ns != "c1";
    if (!entry.is_write() || actor.empty() || entry.code >= 300 || entry.resource.ends_with("reviews") || own_lease) continue;
    writes.push_back({side + " " + actor + " " + entry.verb + " " + normal_path(entry.uri), entry.request});
  }
  return writes;
}

std::set<std::string> names(const std::vector<Write>& writes) {
  std::set<std::string> all;
  for (const Write& write : writes) all.insert(write.what);
  return all;
}

// The parts of a created object that carry its meaning: lists whose order means nothing are sorted.
Json meaning(const Json& object) {
  Json out = Json::object();
  for (const char* part : {"rules", "subjects", "roleRef"}) {
    if (const Json* found = find(object, {part})) out[part] = *found;
  }
  if (Json& rules = out["rules"]; rules.is_array()) {
    for (Json& rule : rules) {
      for (auto& words : rule) std::sort(words.begin(), words.end());
    }
    std::sort(rules.begin(), rules.end());
  }
  if (Json& subjects = out["subjects"]; subjects.is_array()) std::sort(subjects.begin(), subjects.end());
  out["name"] = name_of(object);
  out["labels"] = object_at(object, {"metadata", "labels"});
  out["labels"].erase("kubernetes.io/metadata.name");
  out["finalizers"] = list_at(object, {"metadata", "finalizers"});
  return out;
}

constexpr std::string_view kManifests = R"(apiVersion: v1
kind: ConfigMap
metadata: {name: cm1, namespace: default}
data: {a: "VALUE"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: nginx}]}
)";

std::string manifests(const std::string& value, const std::string& replicas) {
  std::string text = std::regex_replace(std::string(kManifests), std::regex("VALUE"), value);
  return std::regex_replace(text, std::regex("REPLICAS"), replicas);
}

TEST(Trace, OurWritesAreUpstreamsWrites) {
  FLEETADM_NEEDS_KUBE_SERVERS();
  const auto theirs = recorded();
  ASSERT_TRUE(theirs) << theirs.error().message;
  auto started = Fleet::start(1);
  ASSERT_TRUE(started) << started.error().message;
  Fleet& fleet = **started;

  const auto must = [&](const std::vector<std::string>& args) {
    Ran ran = fleet.run(args);
    EXPECT_EQ(ran.code, 0) << args.front() << ": " << ran.both();
    return ran;
  };
  const auto hub_from = fleet.hub().audit_position();
  const auto spoke_from = fleet.spoke(1).audit_position();
  const Json ticket = must({"init", "--context", "hub", "--wait", "-o", "json"}).json();
  must({"join", "--context", "c1", "--cluster-name", "c1", "--hub-apiserver", str(ticket, {"hub-apiserver"}), "--hub-token",
        str(ticket, {"hub-token"}), "--ca-cert-hash", str(ticket, {"ca-cert-hash"}), "--wait"});
  must({"accept", "c1", "--context", "hub", "--yes", "--wait=available"});
  const std::string path = "/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks/w1";
  must({"work", "create", "w1", "-f", fleet.folder().write("one.yaml", manifests("1", "1")), "--clusters", "c1", "--context",
        "hub", "--wait=available"});
  must({"work", "apply", "w1", "-f", fleet.folder().write("two.yaml", manifests("2", "2")), "--clusters", "c1", "--context",
        "hub"});
  EXPECT_TRUE(eventually([&] {
    return str(fleet.spoke(1).get("/api/v1/namespaces/default/configmaps/cm1"), {"data", "a"}) == "2";
  }));
  EXPECT_TRUE(eventually([&] {
    return num(fleet.spoke(1).get("/apis/apps/v1/namespaces/default/deployments/web"), {"spec", "replicas"}) == 2;
  }));
  must({"work", "delete", "w1", "--clusters", "c1", "--context", "hub", "--wait"});

  auto ours = made(fleet.hub(), "hub", hub_from);
  const auto spoke_ours = made(fleet.spoke(1), "spoke", spoke_from);
  ours.insert(ours.end(), spoke_ours.begin(), spoke_ours.end());
  ASSERT_GT(theirs->size(), 30U);
  ASSERT_GT(ours.size(), 20U);

  for (const std::string& what : names(ours)) {
    EXPECT_TRUE(names(*theirs).contains(what) || our_own().contains(what) || is_event_series(what))
        << "ours alone, without a reason: " << what;
  }
  for (const std::string& what : names(*theirs)) {
    EXPECT_TRUE(names(ours).contains(what)) << "upstream's alone: " << what;
  }
  for (const auto& [what, why] : our_own())
    EXPECT_TRUE(names(ours).contains(what) && !names(*theirs).contains(what)) << "no difference any more: " << what;
  std::cout << ours.size() << " writes of ours, " << theirs->size() << " of upstream's for the same steps\n";

  // Roles, bindings, namespaces and leases: the same content.
  int compared = 0;
  for (const Write& their : *theirs) {
    const bool role = their.what.find("rbac.authorization.k8s.io") != std::string::npos || their.what.ends_with("/leases") ||
                      their.what.ends_with("/namespaces");
    if (their.what.find(" create ") == std::string::npos || !role) continue;
    const auto same = std::find_if(ours.begin(), ours.end(), [&](const Write& our) {
      return our.what == their.what && name_of(our.body) == name_of(their.body);
    });
    if (same == ours.end()) {
      ADD_FAILURE() << "not created: " << their.what << " " << name_of(their.body);
      continue;
    }
    EXPECT_EQ(meaning(same->body), meaning(their.body)) << their.what;
    ++compared;
  }
  EXPECT_GE(compared, 7);
}

}  // namespace
}  // namespace fleetadm::testkit
