// What the workload controllers tell people of.
#include <set>

#include "tests/unit/core/sandbox/controllers/lab.h"

namespace fleetadm::sandbox {
namespace {

class WorkloadEvents : public ControllerLab {
 protected:
  /// "REASON message" of the events of a kind, with the names that the controllers made up left out.
  std::set<std::string> told(const std::string& of_kind) {
    std::set<std::string> out;
    for (const Json& one : all("", "events")) {
      if (str(one, {"involvedObject", "kind"}) != of_kind) continue;
      std::string text = str(one, {"message"});
      const auto name = str(one, {"involvedObject", "name"}) + "-";
      if (const auto at = text.find(name); at != std::string::npos)
        text.replace(at, std::min(text.find(' ', at), text.size()) - at, "NAME");
      out.insert(str(one, {"reason"}) + " " + text);
    }
    return out;
  }
};
using Texts = std::set<std::string>;

TEST_F(WorkloadEvents, OfADeploymentAndItsSets) {
  make("apps", "deployments", workload("web", {{"replicas", 2}}));
  sync_deployment(context(), "default", "web");
  EXPECT_EQ(told("Deployment"), Texts{"ScalingReplicaSet Scaled up replica set NAME from 0 to 2"});
  ASSERT_EQ(all("apps", "replicasets").size(), 1U);
  const Json set = all("apps", "replicasets")[0];
  EXPECT_EQ(annotation_of(set, "deployment.kubernetes.io/desired-replicas"), "2");
  EXPECT_EQ(annotation_of(set, "deployment.kubernetes.io/max-replicas"), "3");
  EXPECT_EQ(name_of(set).find_first_not_of("bcdfghjklmnpqrstvwxz2456789", 4), std::string::npos) << name_of(set);

  sync_replica_set(context(), "default", name_of(set));
  EXPECT_EQ(told("ReplicaSet"), Texts{"SuccessfulCreate Created pod: NAME"});
  edit("apps", "deployments", "web", [](Json& next) { next["spec"]["replicas"] = 1; });
  sync_deployment(context(), "default", "web");
  EXPECT_TRUE(told("Deployment").contains("ScalingReplicaSet Scaled down replica set NAME from 2 to 1"));
  sync_replica_set(context(), "default", name_of(set));
  EXPECT_TRUE(told("ReplicaSet").contains("SuccessfulDelete Deleted pod: NAME"));
}

TEST_F(WorkloadEvents, OfAStatefulSet) {
  make("apps", "statefulsets", workload("db", {{"replicas", 1}, {"serviceName", "db"}}));
  sync_stateful_set(context(), "default", "db");
  EXPECT_EQ(told("StatefulSet"), Texts{"SuccessfulCreate Create Pod NAME in StatefulSet db successful"});
}

TEST_F(WorkloadEvents, OfAJobToItsEnd) {
  make("batch", "jobs", job("once"));
  sync_job(context(), "default", "once");
  ASSERT_EQ(all("", "pods").size(), 1U);
  set_pod(name_of(all("", "pods")[0]), "Succeeded");
  sync_job(context(), "default", "once");
  sync_job(context(), "default", "once");
  EXPECT_EQ(told("Job"), (Texts{"SuccessfulCreate Created pod: NAME", "Completed Job completed"}));
}

TEST_F(WorkloadEvents, OfPodsThatAreRefused) {
  make("", "resourcequotas", {{"metadata", {{"name", "none"}}}, {"spec", {{"hard", {{"pods", "0"}}}}}});
  edit(
      "", "resourcequotas", "none",
      [](Json& next) {
        at_or_make(next, {"status", "hard", "pods"}) = "0";
        at_or_make(next, {"status", "used", "pods"}) = "0";
      },
      "status");
  make("batch", "jobs", job("once"));
  sync_job(context(), "default", "once");
  const auto texts = told("Job");
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_TRUE(texts.begin()->starts_with("FailedCreate Error creating: pods ")) << *texts.begin();
}

}  // namespace
}  // namespace fleetadm::sandbox
