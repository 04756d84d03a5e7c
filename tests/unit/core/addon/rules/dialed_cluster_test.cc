// Add-ons of clusters that the hub dials: what only an agent could do is said, and the rest is judged by works.
#include "core/addon/rules/dialed_cluster.h"

#include <gtest/gtest.h>

#include "core/addon/rules/config_hash.h"
#include "core/addon/rules/registration.h"
#include "core/addon/rules/template_agent.h"
#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/controller/controller.h"

namespace fleetadm::addon {
namespace {

class DialedCluster : public ::testing::Test {
 protected:
  void put_cluster(bool dialed, const std::string& available = "True") {
    Json cluster{
        {"apiVersion", "cluster.open-cluster-management.io/v1"}, {"kind", "ManagedCluster"}, {"metadata", {{"name", "c1"}}}};
    if (dialed) cluster["metadata"]["labels"] = {{std::string(api::kModeLabel), std::string(api::kPushMode)}};
    controller::set_condition(at_or_make(cluster, {"status", "conditions"}), api::kConditionAvailable, available, "x", "", now);
    objects.put(std::move(cluster));
  }
  void put_template(bool registers) {
    Json spec{{"agentSpec", {{"workload", {{"manifests", Json::array()}}}}}};
    if (registers) {
      const Json rights{{"type", "CurrentCluster"}, {"currentCluster", {{"clusterRoleName", "cr1"}}}};
      spec["registration"] = Json::array({{{"type", "KubeClient"}, {"kubeClient", {{"hubPermissions", Json::array({rights})}}}}});
    }
    Json made{{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
              {"kind", "AddOnTemplate"},
              {"metadata", {{"name", "t1"}}},
              {"spec", std::move(spec)}};
    hash = config_spec_hash(made);
    objects.put(std::move(made));
  }
  void put_addon(bool from_template, const std::string& mode = {}) {
    Json addon{{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
               {"kind", "ManagedClusterAddOn"},
               {"metadata",
                {{"name", "hello"},
                 {"namespace", "c1"},
                 {"uid", "u-1"},
                 {"ownerReferences", Json::array({{{"kind", "ClusterManagementAddOn"}, {"name", "hello"}}})}}},
               {"status", Json::object()}};
    if (from_template) {
      addon["status"]["configReferences"] = Json::array({{{"group", "addon.open-cluster-management.io"},
                                                          {"resource", "addontemplates"},
                                                          {"desiredConfig", {{"name", "t1"}, {"specHash", hash}}}}});
    }
    if (!mode.empty()) addon["status"]["healthCheck"] = {{"mode", mode}};
    objects.put(std::move(addon));
  }
  void put_work(const char* available) {
    Json work{{"apiVersion", "work.open-cluster-management.io/v1"},
              {"kind", "ManifestWork"},
              {"metadata",
               {{"name", "of-hello"}, {"namespace", "c1"}, {"labels", {{"open-cluster-management.io/addon-name", "hello"}}}}}};
    if (available != nullptr)
      controller::set_condition(at_or_make(work, {"status", "conditions"}), "Available", available, "x", "it is not there", now);
    objects.put(std::move(work));
  }
  void run(const Pass& pass) {
    EXPECT_TRUE(pass.errors.empty());
    for (const Json& object : pass.changed) objects.put(object);
    for (const ObjectRef& gone : pass.deleted) EXPECT_TRUE(objects.remove(gone.type, gone.ns, gone.name));
  }
  void register_it() { run(registration_pass(objects, "c1", "hello", now, rollout::Semantics::kStrict)); }
  ObjectPtr addon() const { return objects.get(managed_cluster_addons(), "c1", "hello"); }
  std::string said(std::string_view type) const {
    const Json* condition = controller::find_condition(*addon(), type);
    return condition == nullptr ? "" : str(*condition, {"status"}) + " " + str(*condition, {"reason"});
  }
  std::string judged() {
    run(dialed_health_pass(objects, "c1", "hello", now));
    return said("Available");
  }

  const Instant now = *parse_time("2026-03-01T12:00:00Z");
  std::string hash;  // of the template
  MemoryObjects objects;
};

TEST_F(DialedCluster, AnAddonThatRegistersIsRefusedAndSaysWhy) {
  put_cluster(false);
  put_template(true);
  put_addon(true);
  register_it();
  EXPECT_EQ(said(kRegistrationApplied), "True SetPermissionApplied");
  EXPECT_EQ(objects.list(role_bindings()).size(), 1U);
  EXPECT_FALSE(template_agent(objects, *addon(), rollout::Semantics::kStrict)->held);

  put_cluster(true);
  register_it();
  EXPECT_EQ(said(kRegistrationApplied), "False NoAgent");
  EXPECT_TRUE(list_at(*addon(), {"status", "registrations"}).empty());
  EXPECT_TRUE(objects.list(role_bindings()).empty()) << "nobody has the rights";
  EXPECT_TRUE(template_agent(objects, *addon(), rollout::Semantics::kStrict)->held) << "its pods would wait for a Secret";
}

TEST_F(DialedCluster, AnAddonThatDoesNotIsDeployedAsAnywhere) {
  put_cluster(true);
  put_template(false);
  put_addon(true);
  register_it();
  EXPECT_EQ(said(kRegistrationApplied), "True SetPermissionApplied");
  EXPECT_FALSE(template_agent(objects, *addon(), rollout::Semantics::kStrict)->held);
}

TEST_F(DialedCluster, WithoutALeaseItsWorksSpeak) {
  put_cluster(true);
  put_addon(false, "Lease");
  EXPECT_EQ(judged(), "Unknown WorkNotFound");
  put_work(nullptr);
  EXPECT_EQ(judged(), "Unknown WorkNotApplied");
  put_work("False");
  EXPECT_EQ(judged(), "False WorkNotApplied");
  put_work("True");
  EXPECT_EQ(judged(), "True WorkApplied");
  put_cluster(true, "Unknown");
  put_work("False");
  EXPECT_EQ(judged(), "True WorkApplied") << "what is not heard from is told by others";
}

TEST_F(DialedCluster, WhoeverJudgesItselfIsLeftAlone) {
  put_work("True");
  put_cluster(false);
  put_addon(false, "Lease");
  EXPECT_EQ(judged(), "") << "its agent tells";
  put_cluster(true);
  put_addon(false, "Customized");
  EXPECT_EQ(judged(), "");
}

}  // namespace
}  // namespace fleetadm::addon
