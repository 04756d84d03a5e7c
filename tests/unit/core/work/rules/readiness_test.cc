#include "core/work/rules/readiness.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tests/unit/core/work/fleet.h"

namespace fleetadm::work::testing {
namespace {

struct ReadinessCase {
  const char* name;
  const char* object;
  const char* state;
  const char* reason;
  const char* message;
  bool terminal = false;
};

void PrintTo(const ReadinessCase& one, std::ostream* out) { *out << one.name; }

class ReadinessOf : public ::testing::TestWithParam<ReadinessCase> {};

TEST_P(ReadinessOf, IsJudgedByStatus) {
  const ReadinessCase& one = GetParam();
  const Readiness found = readiness_of(parsed(one.object));
  EXPECT_EQ(to_string(found.state), one.state) << one.name;
  EXPECT_EQ(found.reason, one.reason) << one.name;
  EXPECT_EQ(found.message, one.message) << one.name;
  EXPECT_EQ(found.terminal, one.terminal) << one.name;
}

const std::vector<ReadinessCase> kWorkloads = {
    {"a deployment that its controller has not seen",
     R"({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 1}, "spec": {"replicas": 3}})", "False",
     "GenerationNotObserved", "its controller has not observed generation 1 yet"},
    {"an older generation of a deployment is ready",
     R"({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 2}, "spec": {"replicas": 1},
         "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}})",
     "False", "GenerationNotObserved", "its controller has not observed generation 2 yet"},
    {"no replica is ready",
     R"({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 1}, "spec": {"replicas": 3},
         "status": {"observedGeneration": 1, "replicas": 3, "updatedReplicas": 3, "unavailableReplicas": 3}})",
     "False", "ReplicasNotReady", "0 of 3 replicas ready"},
    {"replicas of the old template still run",
     R"({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 1}, "spec": {"replicas": 1},
         "status": {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}})",
     "False", "OldReplicasLeft", "1 of 1 replica ready, 1 old one still running"},
    {"a quota forbids the pods",
     R"({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 1}, "spec": {"replicas": 2},
         "status": {"observedGeneration": 1, "conditions": [{"type": "ReplicaFailure", "status": "True",
           "reason": "FailedCreate", "message": "exceeded quota: pods"}]}})",
     "False", "FailedCreate", "0 of 2 replicas ready: exceeded quota: pods"},
    {"past its progress deadline",
     R"({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 1}, "spec": {"replicas": 1},
         "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "conditions": [{"type": "Progressing",
           "status": "False", "reason": "ProgressDeadlineExceeded", "message": "timed out"}]}})",
     "False", "ProgressDeadlineExceeded", "0 of 1 replica ready: timed out", true},
    {"a ready deployment",
     R"({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 1}, "spec": {"replicas": 2},
         "status": {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}})",
     "True", "Ready", "2 of 2 replicas ready"},
    {"a deployment that is scaled to nothing",
     R"({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 1}, "spec": {"replicas": 0},
         "status": {"observedGeneration": 1}})",
     "True", "Ready", "0 of 0 replicas ready"},
    {"a stateful set that is updated pod by pod",
     R"({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"generation": 2}, "spec": {"replicas": 3},
         "status": {"observedGeneration": 2, "replicas": 3, "readyReplicas": 3, "updatedReplicas": 1,
           "currentRevision": "a", "updateRevision": "b"}})",
     "False", "ReplicasNotUpdated", "1 of 3 replicas updated"},
    {"a stateful set with a partition",
     R"({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"generation": 2},
         "spec": {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 2}}},
         "status": {"observedGeneration": 2, "replicas": 3, "readyReplicas": 3, "updatedReplicas": 1,
           "currentRevision": "a", "updateRevision": "b"}})",
     "True", "Ready", "3 of 3 replicas ready"},
    {"a daemon set",
     R"({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"generation": 1},
         "status": {"observedGeneration": 1, "desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberReady": 1,
           "numberAvailable": 1}})",
     "False", "PodsNotReady", "1 of 3 pods ready"},
    {"a daemon set without nodes",
     R"({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"generation": 1},
         "status": {"observedGeneration": 1, "desiredNumberScheduled": 0}})",
     "True", "Ready", "0 of 0 pods ready"},
    {"a replica set",
     R"({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"generation": 1}, "spec": {"replicas": 2},
         "status": {"observedGeneration": 1, "replicas": 2, "readyReplicas": 1, "availableReplicas": 1}})",
     "False", "ReplicasNotReady", "1 of 2 replicas ready"},
    {"a job that runs", R"({"apiVersion": "batch/v1", "kind": "Job", "spec": {"completions": 2}, "status": {"succeeded": 1}})",
     "False", "JobNotComplete", "the Job has not completed: 1 of 2 succeeded"},
    {"a job that failed",
     R"({"apiVersion": "batch/v1", "kind": "Job", "status": {"conditions": [{"type": "Failed", "status": "True",
         "reason": "BackoffLimitExceeded", "message": "too many retries"}]}})",
     "False", "BackoffLimitExceeded", "the Job failed: too many retries", true},
    {"a job that completed",
     R"({"apiVersion": "batch/v1", "kind": "Job", "status": {"conditions": [{"type": "Complete", "status": "True"}]}})", "True",
     "Completed", "the Job has completed"},
};

const std::vector<ReadinessCase> kPods = {
    {"a pod whose image cannot be pulled",
     R"({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Pending", "containerStatuses": [{"name": "web",
         "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image \"x\""}}}]}})",
     "False", "ImagePullBackOff", "container web: Back-off pulling image \"x\""},
    {"a pod that crashes",
     R"({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running", "containerStatuses": [{"name": "web",
         "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}},
         "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]}})",
     "False", "CrashLoopBackOff", "container web: it exited with code 137 (OOMKilled)"},
    {"a pod without a node",
     R"({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled",
         "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}]}})",
     "False", "Unschedulable", "0/3 nodes are available"},
    {"a pod that starts",
     R"({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{}]}, "status": {"phase": "Pending",
         "containerStatuses": [{"name": "web", "state": {"waiting": {"reason": "ContainerCreating"}}}]}})",
     "False", "PodNotReady", "0 of 1 container ready"},
    {"a pod that was evicted",
     R"({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Failed", "reason": "Evicted", "message": "low on memory"}})",
     "False", "Evicted", "low on memory", true},
    {"a ready pod",
     R"({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})",
     "True", "Ready", "the pod is ready"},
};

const std::vector<ReadinessCase> kOthers = {
    {"a claim", R"({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Pending"}})", "False", "Pending",
     "the claim is not bound"},
    {"a bound claim", R"({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Bound"}})", "True", "Bound",
     "the claim is bound"},
    {"a load balancer without an address",
     R"({"apiVersion": "v1", "kind": "Service", "spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {}}})", "False",
     "LoadBalancerPending", "the load balancer has no address yet"},
    {"a load balancer with an address",
     R"({"apiVersion": "v1", "kind": "Service", "spec": {"type": "LoadBalancer"},
         "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}})",
     "True", "Ready", ""},
    {"any other service", R"({"apiVersion": "v1", "kind": "Service", "spec": {"type": "ClusterIP"}})", "True", "Ready", ""},
    {"a disruption budget",
     R"({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "status": {"observedGeneration": 1, "currentHealthy": 1,
         "desiredHealthy": 2}})",
     "False", "InsufficientPods", "1 of 2 healthy pods"},
    {"a definition",
     R"({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "status": {"conditions": [
         {"type": "NamesAccepted", "status": "True"}]}})",
     "False", "NotEstablished", "the kind is not served yet"},
    {"a definition whose names are taken",
     R"({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "status": {"conditions": [
         {"type": "NamesAccepted", "status": "False", "reason": "PluralConflict", "message": "in use"}]}})",
     "False", "PluralConflict", "in use", true},
    {"an API service",
     R"({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "status": {"conditions": [{"type": "Available",
         "status": "False", "reason": "MissingEndpoints", "message": "no endpoints"}]}})",
     "False", "MissingEndpoints", "no endpoints"},
    {"an ingress", R"({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "status": {"loadBalancer": {}}})", "True",
     "Ready", ""},
    {"an object without status", R"({"apiVersion": "v1", "kind": "ConfigMap"})", "True", "Ready", ""},
    {"an object of a controller that is behind",
     R"({"apiVersion": "a.example/v1", "kind": "A", "metadata": {"generation": 3}, "status": {"observedGeneration": 2}})",
     "False", "GenerationNotObserved", "its controller has not observed generation 3 yet"},
    {"Ready is false",
     R"({"apiVersion": "a.example/v1", "kind": "A", "status": {"conditions": [{"type": "Ready", "status": "False",
         "reason": "No Such-Thing", "message": "m"}]}})",
     "False", "NoSuchThing", "m"},
    {"Ready is true, of an older generation",
     R"({"apiVersion": "a.example/v1", "kind": "A", "metadata": {"generation": 2}, "status": {"conditions": [{"type": "Ready",
         "status": "True", "observedGeneration": 1}]}})",
     "False", "GenerationNotObserved", "Ready is of generation 1 of 2"},
    {"only Available, and it is unknown",
     R"({"apiVersion": "a.example/v1", "kind": "A", "status": {"conditions": [{"type": "Available", "status": "Unknown"}]}})",
     "False", "NotAvailable", "Available is Unknown"},
    {"Stalled",
     R"({"apiVersion": "a.example/v1", "kind": "A", "status": {"conditions": [{"type": "Stalled", "status": "True",
         "reason": "Denied", "message": "m"}, {"type": "Ready", "status": "True"}]}})",
     "False", "Denied", "m", true},
    {"Reconciling",
     R"({"apiVersion": "a.example/v1", "kind": "A", "status": {"conditions": [{"type": "Reconciling", "status": "True"}]}})",
     "False", "Reconciling", ""},
    {"an object that is being deleted",
     R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})", "False",
     "Terminating", "the object is being deleted"},
};

INSTANTIATE_TEST_SUITE_P(Workloads, ReadinessOf, ::testing::ValuesIn(kWorkloads));
INSTANTIATE_TEST_SUITE_P(Pods, ReadinessOf, ::testing::ValuesIn(kPods));
INSTANTIATE_TEST_SUITE_P(Others, ReadinessOf, ::testing::ValuesIn(kOthers));

}  // namespace
}  // namespace fleetadm::work::testing
