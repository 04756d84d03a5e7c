// What a hub has on a push member, and what it had there before works were applied as a user.
#include "core/registration/join/push_objects.h"

#include <gtest/gtest.h>
#include <set>

#include "core/api/kinds.h"
#include "core/registration/join/push_departure.h"
#include "core/registration/join/push_former.h"
#include "tests/support/fake_api.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;

constexpr const char* kHubId = "01234567-89ab";
constexpr const char* kNs = "fleetadm-push-01234567";
const std::string kPart = api::push_part_on_member(kHubId);
const std::string kRoles = std::string("open-cluster-management:") + kNs;

std::vector<Json> objects_beside(const Json& admin) {
  auto objects = push_objects({kHubId, "member", api::MemberNames::kOwn}, "c1", "owner", false);
  EXPECT_TRUE(objects);
  if (!objects) return {};
  follow_admin(admin, *objects);
  return std::move(*objects);
}

/// As text; the roles that are bound to the user of works.
std::pair<std::set<std::string>, std::set<std::string>> rights_of_works(const std::vector<Json>& objects) {
  std::set<std::string> selectors;
  std::set<std::string> roles;
  for (const Json& object : objects) {
    for (const Json& one : list_at(object, {"aggregationRule", "clusterRoleSelectors"})) {
      for (const auto& [key, value] : strings_at(one, {"matchLabels"})) selectors.insert(key + "=" + value);
    }
    for (const Json& subject : list_at(object, {"subjects"})) {
      if (str(subject, {"name"}) == api::push_works_user(kNs)) roles.insert(str(object, {"roleRef", "name"}));
    }
  }
  return {selectors, roles};
}

Json admin_role(const Json& more) {
  Json role{{"metadata", {{"name", "admin"}}}, {"rules", Json::array()}};
  role.update(more);
  return role;
}

Json selector(const char* label) { return {{"matchLabels", {{label, "true"}}}}; }

TEST(PushObjects, WorksHaveWhatTheMembersAdminIsMadeOf) {
  using Names = std::set<std::string>;
  const std::string own = std::string("fleetadm.io/works-of=") + kNs;
  const std::string work = "open-cluster-management.io/aggregate-to-work=true";
  const Names one_role{kRoles + ":works"};
  const auto usual = rights_of_works(
      objects_beside(admin_role({{"aggregationRule",
                                  {{"clusterRoleSelectors",
                                    Json::array({selector("rbac.authorization.k8s.io/aggregate-to-admin")})}}}})));
  EXPECT_EQ(usual.first, (Names{own, work, "rbac.authorization.k8s.io/aggregate-to-admin=true"}));
  EXPECT_EQ(usual.second, one_role);
  const auto others = rights_of_works(objects_beside(
      admin_role({{"aggregationRule", {{"clusterRoleSelectors", Json::array({selector("example.com/less")})}}}})));
  EXPECT_EQ(others.first, (Names{own, work, "example.com/less=true"})) << "no more than that role";
  EXPECT_EQ(others.second, one_role);
  const auto by_hand = rights_of_works(objects_beside(admin_role(Json::object())));
  EXPECT_EQ(by_hand.first, (Names{own, work}));
  EXPECT_EQ(by_hand.second, (Names{kRoles + ":works", "admin"}));
}

TEST(PushObjects, TheSecretSaysAsWhomWorksAreApplied) {
  EXPECT_EQ(annotation_of(push_secret("c1", "id", "k", "somebody"), api::kWorksAsAnnotation), "somebody");
  EXPECT_EQ(find(push_secret("c1", "id", "k", ""), {"metadata", "annotations", api::kWorksAsAnnotation}), nullptr);
}

class FormerPushTest : public ::testing::Test {
 protected:
  void put(const kube::Resource& type, const std::string& ns, const std::string& name, const std::string& part = kPart) {
    Json object{{"apiVersion", type.api_version()},
                {"kind", type.kind},
                {"metadata", {{"name", name}, {"labels", {{std::string(install::kPartLabel), part}}}}}};
    if (!ns.empty()) object["metadata"]["namespace"] = ns;
    api_->put(type, object);
  }
  void put_former() {
    put(r::service_accounts(), kNs, "fleetadm-push");
    put(r::service_accounts(), kNs, "fleetadm-push-work");
    for (const kube::Resource& type : {r::roles(), r::role_bindings()}) put(type, kNs, "open-cluster-management:fleetadm-push");
    for (const char* name : {"", ":work", ":work:aggregate"}) {
      put(r::cluster_roles(), "", kRoles + name);
      put(r::cluster_role_bindings(), "", kRoles + name);
    }
    put(r::cluster_role_bindings(), "", kRoles + ":work:admin");
  }
  std::set<std::string> names(const kube::Resource& type) const {
    std::set<std::string> all;
    for (const Json& one : api_->all(type)) all.insert(name_of(one));
    return all;
  }

  std::shared_ptr<testkit::FakeApi> api_ = testkit::FakeApi::make();
};

TEST_F(FormerPushTest, IsFoundAndRemovedAndTheRestStays) {
  EXPECT_FALSE(find_former_push(api_->client(), kNs, kPart)->there);
  put_former();
  put(r::cluster_roles(), "", kRoles + ":works");
  const auto found = find_former_push(api_->client(), kNs, kPart);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->there);
  EXPECT_FALSE(found->full_rights);
  EXPECT_FALSE(find_former_push(api_->client(), kNs, "push-another")->there);
  put(r::cluster_role_bindings(), "", kRoles + ":work:full");
  EXPECT_TRUE(find_former_push(api_->client(), kNs, kPart)->full_rights);
  std::vector<std::string> told;
  const auto tell = [&](const install::Change& change) { told.push_back(change.kind + " " + change.name); };
  ASSERT_TRUE(remove_former_push(api_->client(), kNs, kPart, tell));
  EXPECT_EQ(told.back(), "ServiceAccount fleetadm-push-work");
  EXPECT_EQ(told.size(), 9U);
  EXPECT_EQ(names(r::service_accounts()), std::set<std::string>{"fleetadm-push"});
  EXPECT_EQ(names(r::cluster_roles()), (std::set<std::string>{kRoles, kRoles + ":works"}));
  EXPECT_EQ(names(r::cluster_role_bindings()), std::set<std::string>{kRoles});
  EXPECT_TRUE(names(r::roles()).empty());
  EXPECT_TRUE(names(r::role_bindings()).empty());
}

TEST_F(FormerPushTest, AnObjectOfSomebodyElseIsLeft) {
  put_former();
  put(r::cluster_role_bindings(), "", kRoles + ":work", "somebody");
  ASSERT_TRUE(remove_former_push(api_->client(), kNs, kPart, [](const install::Change&) {}));
  EXPECT_TRUE(names(r::cluster_role_bindings()).contains(kRoles + ":work"));
}

TEST_F(FormerPushTest, ADepartureEndsTheSumsOfBothForms) {
  put_former();
  put(r::namespaces(), "", kNs);
  for (const char* sum : {":works", ":work:aggregate"}) {
    api_->put(r::cluster_roles(),
              {{"apiVersion", r::cluster_roles().api_version()},
               {"kind", "ClusterRole"},
               {"metadata", {{"name", kRoles + sum}, {"labels", {{std::string(install::kPartLabel), kPart}}}}},
               {"aggregationRule", {{"clusterRoleSelectors", Json::array({selector("x")})}}},
               {"rules", Json::array({{{"verbs", {"get"}}}})}});
  }
  DepartureOptions how;
  how.cluster_name = "c1";
  const auto left = leave_push_member({api_->client(), api_->client()}, kHubId, how);
  ASSERT_TRUE(left) << left.error().message;
  for (const char* sum : {":works", ":work:aggregate"}) {
    const auto role = api_->get(r::cluster_roles(), "", kRoles + sum);
    ASSERT_TRUE(role);
    EXPECT_EQ(find(*role, {"aggregationRule"}), nullptr) << sum;
    EXPECT_EQ(list_at(*role, {"rules"}).size(), 1U) << "an interrupted departure goes on with these";
  }
  EXPECT_FALSE(api_->get(r::namespaces(), "", kNs));
}

}  // namespace
}  // namespace fleetadm::join
