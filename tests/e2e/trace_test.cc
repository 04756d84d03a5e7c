// What our hub and agent write for join, accept and the life of a work, held against what upstream's programs wrote for the same
// steps (recorded traces): the same verbs on the same objects, and created objects of the same content. Fewer is fine; every
// difference is listed here with its reason.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <regex>

#include "tests/e2e/traces.h"
#include "tests/support/fleet.h"

namespace fleetadm::testkit {
namespace {

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
  const auto theirs = recorded_writes("traces.jsonl.gz");
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

  auto ours = our_writes(fleet.hub(), "hub", hub_from);
  const auto spoke_ours = our_writes(fleet.spoke(1), "spoke", spoke_from);
  ours.insert(ours.end(), spoke_ours.begin(), spoke_ours.end());
  ASSERT_GT(theirs->size(), 30U);
  ASSERT_GT(ours.size(), 20U);

  for (const std::string& what : what_was_written(ours)) {
    EXPECT_TRUE(what_was_written(*theirs).contains(what) || our_own().contains(what) || is_event_series(what))
        << "ours alone, without a reason: " << what;
  }
  for (const std::string& what : what_was_written(*theirs)) {
    EXPECT_TRUE(what_was_written(ours).contains(what)) << "upstream's alone: " << what;
  }
  for (const auto& [what, why] : our_own())
    EXPECT_TRUE(what_was_written(ours).contains(what) && !what_was_written(*theirs).contains(what))
        << "no difference any more: " << what;
  std::cout << ours.size() << " writes of ours, " << theirs->size() << " of upstream's for the same steps\n";

  // Roles, bindings, namespaces and leases: the same content.
  int compared = 0;
  for (const TracedWrite& their : *theirs) {
    const bool role = their.what.find("rbac.authorization.k8s.io") != std::string::npos || their.what.ends_with("/leases") ||
                      their.what.ends_with("/namespaces");
    if (their.what.find(" create ") == std::string::npos || !role) continue;
    const auto same = std::find_if(ours.begin(), ours.end(), [&](const TracedWrite& our) {
      return our.what == their.what && name_of(our.body) == name_of(their.body);
    });
    if (same == ours.end()) {
      ADD_FAILURE() << "not created: " << their.what << " " << name_of(their.body);
      continue;
    }
    EXPECT_EQ(meaning_of(same->body), meaning_of(their.body)) << their.what;
    ++compared;
  }
  EXPECT_GE(compared, 7);
}

}  // namespace
}  // namespace fleetadm::testkit
