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

constexpr const char* kDialingHub = "01234567-89ab";
constexpr const char* kDialedNs = "fleetadm-push-01234567";
const std::string kDialedPart = api::push_part_on_member(kDialingHub);
const std::string kDialedRoles = std::string("open-cluster-management:") + kDialedNs;

std::vector<Json> objects_beside(const Json& admin) {
  auto objects = push_objects({kDialingHub, "member", api::MemberNames::kOwn}, "c1", "owner", false);
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
      if (str(subject, {"name"}) == api::push_works_user(kDialedNs)) roles.insert(str(object, {"roleRef", "name"}));
    }
  }
  return {selectors, roles};
}

Json role_admin(const Json& more) {
  Json role{{"metadata", {{"name", "admin"}}}, {"rules", Json::array()}};
  role.update(more);
  return role;
}

Json labelled_true(const char* label) { return {{"matchLabels", {{label, "true"}}}}; }

TEST(PushObjects, WorksHaveWhatTheMembersAdminIsMadeOf) {
  using Names = std::set<std::string>;
  const std::string own = std::string("fleetadm.io/works-of=") + kDialedNs;
  const std::string work = "open-cluster-management.io/aggregate-to-work=true";
  const Names one_role{kDialedRoles + ":works"};
  const auto usual = rights_of_works(objects_beside(
      role_admin({{"aggregationRule",
                   {{"clusterRoleSelectors", Json::array({labelled_true("rbac.authorization.k8s.io/aggregate-to-admin")})}}}})));
  EXPECT_EQ(usual.first, (Names{own, work, "rbac.authorization.k8s.io/aggregate-to-admin=true"}));
  EXPECT_EQ(usual.second, one_role);
  const auto others = rights_of_works(objects_beside(
      role_admin({{"aggregationRule", {{"clusterRoleSelectors", Json::array({labelled_true("example.com/less")})}}}})));
  EXPECT_EQ(others.first, (Names{own, work, "example.com/less=true"})) << "no more than that role";
  EXPECT_EQ(others.second, one_role);
  const auto by_hand = rights_of_works(objects_beside(role_admin(Json::object())));
  EXPECT_EQ(by_hand.first, (Names{own, work}));
  EXPECT_EQ(by_hand.second, (Names{kDialedRoles + ":works", "admin"}));
}

TEST(PushObjects, TheSecretSaysAsWhomWorksAreApplied) {
  EXPECT_EQ(annotation_of(push_secret("c1", "id", "k", "somebody"), api::kWorksAsAnnotation), "somebody");
  const Json by_itself = push_secret("c1", "id", "k", "");
  EXPECT_EQ(find(by_itself, {"metadata", "annotations", api::kWorksAsAnnotation}), nullptr);
}

class FormerPushTest : public ::testing::Test {
 protected:
  void put(const kube::Resource& type, const std::string& ns, const std::string& name, const std::string& part = kDialedPart) {
    Json object{{"apiVersion", type.api_version()},
                {"kind", type.kind},
                {"metadata", {{"name", name}, {"labels", {{std::string(install::kPartLabel), part}}}}}};
    if (!ns.empty()) object["metadata"]["namespace"] = ns;
    api_->put(type, object);
  }
  void put_former() {
    put(r::service_accounts(), kDialedNs, "fleetadm-push");
    put(r::service_accounts(), kDialedNs, "fleetadm-push-work");
    for (const kube::Resource& type : {r::roles(), r::role_bindings()})
      put(type, kDialedNs, "open-cluster-management:fleetadm-push");
    for (const char* name : {"", ":work", ":work:aggregate"}) {
      put(r::cluster_roles(), "", kDialedRoles + name);
      put(r::cluster_role_bindings(), "", kDialedRoles + name);
    }
    put(r::cluster_role_bindings(), "", kDialedRoles + ":work:admin");
  }
  std::set<std::string> names(const kube::Resource& type) const {
    std::set<std::string> all;
    for (const Json& one : api_->all(type)) all.insert(name_of(one));
    return all;
  }

  std::shared_ptr<testkit::FakeApi> api_ = testkit::FakeApi::make();
};

TEST_F(FormerPushTest, IsFoundAndRemovedAndTheRestStays) {
  EXPECT_FALSE(find_former_push(api_->client(), kDialedNs, kDialedPart)->there);
  put_former();
  put(r::cluster_roles(), "", kDialedRoles + ":works");
  const auto found = find_former_push(api_->client(), kDialedNs, kDialedPart);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->there);
  EXPECT_FALSE(found->full_rights);
  EXPECT_FALSE(find_former_push(api_->client(), kDialedNs, "push-another")->there);
  put(r::cluster_role_bindings(), "", kDialedRoles + ":work:full");
  EXPECT_TRUE(find_former_push(api_->client(), kDialedNs, kDialedPart)->full_rights);
  std::vector<std::string> told;
  const auto tell = [&](const install::Change& change) { told.push_back(change.kind + " " + change.name); };
  ASSERT_TRUE(remove_former_push(api_->client(), kDialedNs, kDialedPart, tell));
  EXPECT_EQ(told.back(), "ServiceAccount fleetadm-push-work");
  EXPECT_EQ(told.size(), 9U);
  EXPECT_EQ(names(r::service_accounts()), std::set<std::string>{"fleetadm-push"});
  EXPECT_EQ(names(r::cluster_roles()), (std::set<std::string>{kDialedRoles, kDialedRoles + ":works"}));
  EXPECT_EQ(names(r::cluster_role_bindings()), std::set<std::string>{kDialedRoles});
  EXPECT_TRUE(names(r::roles()).empty());
  EXPECT_TRUE(names(r::role_bindings()).empty());
}

TEST_F(FormerPushTest, AnObjectOfSomebodyElseIsLeft) {
  put_former();
  put(r::cluster_role_bindings(), "", kDialedRoles + ":work", "somebody");
  ASSERT_TRUE(remove_former_push(api_->client(), kDialedNs, kDialedPart, [](const install::Change&) {}));
  EXPECT_TRUE(names(r::cluster_role_bindings()).contains(kDialedRoles + ":work"));
}

TEST_F(FormerPushTest, ADepartureEndsTheSumsOfBothForms) {
  put_former();
  put(r::namespaces(), "", kDialedNs);
  for (const char* sum : {":works", ":work:aggregate"}) {
    api_->put(r::cluster_roles(),
              {{"apiVersion", r::cluster_roles().api_version()},
               {"kind", "ClusterRole"},
               {"metadata", {{"name", kDialedRoles + sum}, {"labels", {{std::string(install::kPartLabel), kDialedPart}}}}},
               {"aggregationRule", {{"clusterRoleSelectors", Json::array({labelled_true("x")})}}},
               {"rules", Json::array({{{"verbs", {"get"}}}})}});
  }
  DepartureOptions how;
  how.cluster_name = "c1";
  const auto left = leave_push_member({api_->client(), api_->client()}, kDialingHub, how);
  ASSERT_TRUE(left) << left.error().message;
  for (const char* sum : {":works", ":work:aggregate"}) {
    const auto role = api_->get(r::cluster_roles(), "", kDialedRoles + sum);
    ASSERT_TRUE(role);
    EXPECT_EQ(find(*role, {"aggregationRule"}), nullptr) << sum;
    EXPECT_EQ(list_at(*role, {"rules"}).size(), 1U) << "an interrupted departure goes on with these";
  }
  EXPECT_FALSE(api_->get(r::namespaces(), "", kDialedNs));
}

}  // namespace
}  // namespace fleetadm::join
