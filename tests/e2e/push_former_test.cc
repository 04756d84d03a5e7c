// A push member that joined before works were applied as a user goes on, and the next join replaces what the hub has there.
#include <gtest/gtest.h>
#include <set>

#include "tests/support/push_fleet.h"

namespace fleetadm::testkit {
namespace {

const std::string kRbac = "/apis/rbac.authorization.k8s.io/v1/";

class PushJoinFormer : public PushFleet {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    ASSERT_NO_FATAL_FAILURE(begin(1, false));
    before() = inventory(member());
    ASSERT_NO_FATAL_FAILURE(begin_hub());
  }
  static std::set<std::string>& before() {
    static std::set<std::string> names;
    return names;
  }
  static const KubeServer& member() { return fleet()->spoke(1); }
  static std::string id() { return uid_of(fleet()->hub().get("/api/v1/namespaces/kube-system")).substr(0, 8); }
  static std::string ns() { return "fleetadm-push-" + id(); }
  static std::string role(const std::string& which) { return "open-cluster-management:" + ns() + which; }
  static bool is_there(const std::string& path) { return !member().get(path).is_null(); }

  static void make(const std::string& collection, const char* kind, const std::string& name, Json more) {
    const bool core = collection.starts_with("/api/");
    Json object{{"apiVersion", core ? "v1" : "rbac.authorization.k8s.io/v1"},
                {"kind", kind},
                {"metadata",
                 {{"name", name},
                  {"labels", {{"fleetadm.io/part", "push-" + id()}}},
                  {"ownerReferences", Json::array({{{"apiVersion", "v1"},
                                                    {"kind", "Namespace"},
                                                    {"name", ns()},
                                                    {"uid", uid_of(member().get("/api/v1/namespaces/" + ns()))}}})}}}};
    if (collection.find("/namespaces/") != std::string::npos) object["metadata"].erase("ownerReferences");
    object.update(more);
    const auto made = member().create(collection, object);
    ASSERT_EQ(made.status, 201) << made.body;
  }
  static Json bound(const char* kind, const std::string& name, const char* account) {
    return {{"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", kind}, {"name", name}}},
            {"subjects", Json::array({{{"kind", "ServiceAccount"}, {"name", account}, {"namespace", ns()}}})}};
  }
  static Json rule(const char* resource, const char* name, const char* verb) {
    return {{"apiGroups", {""}}, {"resources", {resource}}, {"resourceNames", {name}}, {"verbs", {verb}}};
  }
  /// What a join made before, in the place of what it makes now.
  static void make_former() {
    const Json rules = member().get(kRbac + "clusterroles/" + role(":works:rules"))["rules"];
    ASSERT_FALSE(rules.empty());
    const char* works = "fleetadm-push-work";
    make("/api/v1/namespaces/" + ns() + "/serviceaccounts", "ServiceAccount", works, Json::object());
    const std::string confined = "open-cluster-management:fleetadm-push";
    make(kRbac + "namespaces/" + ns() + "/roles", "Role", confined,
         {{"rules", Json::array({rule("serviceaccounts", works, "impersonate"),
                                 rule("serviceaccounts/token", "fleetadm-push", "create")})}});
    make(kRbac + "namespaces/" + ns() + "/rolebindings", "RoleBinding", confined, bound("Role", confined, "fleetadm-push"));
    const Json labelled{{"matchLabels", {{"open-cluster-management.io/aggregate-to-work", "true"}}}};
    const Json everything{{"apiGroups", {"*"}}, {"resources", {"*"}}, {"verbs", {"*"}}};
    make(kRbac + "clusterroles", "ClusterRole", role(":work"), {{"rules", rules}});
    make(kRbac + "clusterroles", "ClusterRole", role(":work:aggregate"),
         {{"aggregationRule", {{"clusterRoleSelectors", Json::array({labelled})}}}});
    make(kRbac + "clusterroles", "ClusterRole", role(":work:full"), {{"rules", Json::array({everything})}});
    for (const char* which : {":work", ":work:aggregate", ":work:full"})
      make(kRbac + "clusterrolebindings", "ClusterRoleBinding", role(which), bound("ClusterRole", role(which), works));
    make(kRbac + "clusterrolebindings", "ClusterRoleBinding", role(":work:admin"), bound("ClusterRole", "admin", works));

    Json own = member().get(kRbac + "clusterroles/" + role(""));
    Json kept = Json::array();
    for (const Json& one : own["rules"]) {
      if (dump_json(one).find("impersonate") == std::string::npos) kept.push_back(one);
    }
    own["rules"] = kept;
    ASSERT_EQ(member().request("PUT", kRbac + "clusterroles/" + role(""), dump_json(own)).status, 200);
    ASSERT_LT(member().request("DELETE", kRbac + "clusterrolebindings/" + role(":works")).status, 300);
    for (const char* which : {":works", ":works:rules"})
      ASSERT_LT(member().request("DELETE", kRbac + "clusterroles/" + role(which)).status, 300);
    const Json none{{"metadata", {{"annotations", {{"fleetadm.io/works-as", nullptr}}}}}};
    const auto set = fleet()->hub().request("PATCH", kPushSecrets + "c1", dump_json(none), "application/merge-patch+json");
    ASSERT_EQ(set.status, 200) << set.body;
  }
  static bool wrote_as(const std::string& user, std::uintmax_t since) {
    const auto writes_map = [&](const AuditEntry& one) {
      const bool writes = one.verb == "create" || one.verb == "patch" || one.verb == "update";
      return writes && one.acting() == user && one.uri.find("/configmaps") != std::string::npos;
    };
    return eventually([&] { return !member().audit_since(since, writes_map).empty(); });
  }
  static std::string left_there() {
    std::string text;
    eventually(
        [&] {
          text.clear();
          for (const std::string& name : inventory(member())) {
            if (!before().contains(name)) text += name + "\n";
          }
          return text.empty();
        },
        std::chrono::minutes(2));
    return text;
  }
};

TEST_F(PushJoinFormer, GoesOnIsReplacedByTheNextJoinAndLeavesNothing) {
  const Ran joined = join("c1", {"--wait=available"});
  ASSERT_EQ(joined.code, 0) << joined.both();
  const std::string user = "cluster:hub:" + ns() + ":works";
  EXPECT_EQ(annotation_of(fleet()->hub().get(kPushSecrets + "c1"), "fleetadm.io/works-as"), user);
  auto from = member().audit_position();
  work("c1", "first");
  ASSERT_TRUE(map_is(1, "first", true));
  EXPECT_TRUE(wrote_as(user, from));

  ASSERT_NO_FATAL_FAILURE(make_former());
  from = member().audit_position();
  work("c1", "second");
  ASSERT_TRUE(map_is(1, "second", true));
  EXPECT_TRUE(wrote_as("system:serviceaccount:" + ns() + ":fleetadm-push-work", from));

  const Ran dry = join("c1", {"--dry-run=server"});
  ASSERT_EQ(dry.code, 0) << dry.both();
  const Ran again = join("c1", {"--wait=available"});
  ASSERT_EQ(again.code, 0) << again.both();
  const auto changed = [](const Ran& ran) {
    std::set<std::string> names;
    for (const Json& change : list_at(ran.json(), {"changes"})) {
      if (str(change, {"action"}) != "unchanged")
        names.insert(str(change, {"action"}) + " " + str(change, {"kind"}) + " " + str(change, {"name"}));
    }
    return names;
  };
  EXPECT_EQ(changed(dry), changed(again)) << "a dry run tells what is written";
  EXPECT_TRUE(changed(again).contains("deleted ServiceAccount fleetadm-push-work"));
  EXPECT_FALSE(is_there("/api/v1/namespaces/" + ns() + "/serviceaccounts/fleetadm-push-work"));
  for (const char* kind : {"roles", "rolebindings"})
    EXPECT_FALSE(is_there(kRbac + "namespaces/" + ns() + "/" + kind + "/open-cluster-management:fleetadm-push")) << kind;
  for (const char* which : {":work", ":work:aggregate", ":work:admin", ":work:full"}) {
    EXPECT_FALSE(is_there(kRbac + "clusterroles/" + role(which))) << which;
    EXPECT_FALSE(is_there(kRbac + "clusterrolebindings/" + role(which))) << which;
  }
  EXPECT_TRUE(is_there(kRbac + "clusterrolebindings/" + role(":works:full"))) << "what was given once stays";
  from = member().audit_position();
  work("c1", "third");
  ASSERT_TRUE(map_is(1, "third", true));
  EXPECT_TRUE(wrote_as(user, from));
  EXPECT_TRUE(map_is(1, "second", true));
  EXPECT_TRUE(changed(join("c1")).empty());

  const Ran left = unjoin("c1", {"--allow-removals"});
  ASSERT_EQ(left.code, 0) << left.both();
  EXPECT_EQ(left_there(), "");
}

TEST_F(PushJoinFormer, LeavesNothingWithoutAnotherJoin) {
  const Ran joined = join("c1", {"--wait=available"});
  ASSERT_EQ(joined.code, 0) << joined.both();
  ASSERT_NO_FATAL_FAILURE(make_former());
  work("c1", "first");
  ASSERT_TRUE(map_is(1, "first", true));
  const Ran left = unjoin("c1", {"--allow-removals"});
  ASSERT_EQ(left.code, 0) << left.both();
  EXPECT_EQ(left_there(), "");
}

}  // namespace
}  // namespace fleetadm::testkit
