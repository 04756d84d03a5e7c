// How many pods a workload may want.
#include "tests/unit/core/sandbox/controllers/lab.h"

namespace fleetadm::sandbox {
namespace {

class Replicas : public ControllerLab {
 protected:
  static Json replication_controller(const Json& replicas) {
    return {{"metadata", {{"name", "r"}}},
            {"spec",
             {{"replicas", replicas},
              {"selector", {{"app", "r"}}},
              {"template", {{"metadata", {{"labels", {{"app", "r"}}}}}, {"spec", pod_spec()}}}}}};
  }
};

TEST_F(Replicas, FewerThanNoneAreRefused) {
  for (const char* plural : {"deployments", "replicasets", "statefulsets"}) {
    const auto made = try_make("apps", plural, workload("w", {{"replicas", -1}}));
    ASSERT_FALSE(made) << plural;
    EXPECT_EQ(made.error().code, 422) << plural;
    EXPECT_NE(made.error().message.find("spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
              std::string::npos)
        << made.error().message;
  }
  EXPECT_FALSE(try_make("", "replicationcontrollers", replication_controller(-1)));
  EXPECT_TRUE(try_make("", "replicationcontrollers", replication_controller(1)));
}

/// A file of an earlier version may hold one.
TEST_F(Replicas, FewerThanNoneInTheStoreAreNone) {
  for (const char* plural : {"replicasets", "statefulsets"}) {
    const auto row = kind("apps", plural);
    Json object = workload("w", {{"replicas", -1}});
    object["metadata"]["namespace"] = "default";
    ASSERT_TRUE(engine().import_object(*row, std::move(object), as_controller("test")));
  }
  sync_replica_set(context(), "default", "w");
  sync_stateful_set(context(), "default", "w");
  EXPECT_TRUE(all("", "pods").empty());
}

}  // namespace
}  // namespace fleetadm::sandbox
