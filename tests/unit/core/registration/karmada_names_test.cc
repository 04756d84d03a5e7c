// A hub on a member by the names of a Karmada control plane: how it is found there, and what it leaves to others in the namespace
// that all of them use.
#include "core/registration/join/karmada_names.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "core/api/push_member.h"
#include "core/registration/join/push_names.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_api.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;

constexpr const char* kHubId = "01234567-89ab";
const std::string kPart = api::push_part_on_member(kHubId);

std::string token_of_account(const std::string& ns, const std::string& name) {
  const Json claims{
      {"iat", 1000}, {"exp", 2000}, {"kubernetes.io", {{"namespace", ns}, {"serviceaccount", {{"name", name}, {"uid", "u"}}}}}};
  return base64url_encode(R"({"alg":"none"})") + "." + base64url_encode(dump_json(claims)) + ".c2ln";
}

class KarmadaNamesTest : public ::testing::Test {
 protected:
  /// As `join --push --karmada-names` leaves it.
  void make_ours(const std::string& cluster) {
    const auto binding = karmada_binding(kHubId, cluster).value();
    const auto objects = karmada_objects(kHubId, cluster, "uid-of-binding").value();
    for (const Json& object : binding) put(object, kPart);
    for (const Json& object : objects) put(object, kPart);
  }
  void put(Json object, const std::string& part) {
    if (!part.empty()) object["metadata"]["labels"][std::string(install::kPartLabel)] = part;
    const kube::Resource type = install::resource_of(object).value();
    api_->put(type, std::move(object));
  }
  void put_account(const std::string& name) {
    put({{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", name}, {"namespace", "karmada-cluster"}}}}, {});
  }
  /// Every type that matters here.
  void serve_discovery() {
    const auto type = [](const char* plural, const char* kind) {
      return Json{{"resource", plural},
                  {"responseKind", {{"group", ""}, {"version", "v1"}, {"kind", kind}}},
                  {"scope", "Namespaced"},
                  {"verbs", {"get", "list"}}};
    };
    const auto answer = [](const Json& items) {
      return kube::Response{
          200,
          {{"content-type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}},
          dump_json({{"kind", "APIGroupDiscoveryList"}, {"apiVersion", "apidiscovery.k8s.io/v2"}, {"items", items}})};
    };
    const Json core{
        {"metadata", {{"name", ""}}},
        {"versions",
         Json::array({{{"version", "v1"},
                       {"resources", Json::array({type("serviceaccounts", "ServiceAccount"), type("secrets", "Secret"),
                                                  type("configmaps", "ConfigMap"), type("events", "Event")})}}})}};
    api_->route("/api", answer(Json::array({core})));
    api_->route("/apis", answer(Json::array()));
  }
  std::string part_of(const kube::Resource& type, const std::string& ns, const std::string& name) {
    const auto live = api_->get(type, ns, name);
    return live ? label_of(*live, install::kPartLabel) : "gone";
  }
  std::vector<install::Change> leave() {
    auto changes = leave_karmada_namespace(api_->client(), kPart);
    EXPECT_TRUE(changes) << changes.error().message;
    return changes.value_or(std::vector<install::Change>{});
  }

  std::shared_ptr<testkit::FakeApi> api_ = testkit::FakeApi::make();
};

TEST_F(KarmadaNamesTest, AnAccountIsKnownByItsToken) {
  const std::string token = token_of_account("fleetadm-push-01234567", "fleetadm-push");
  const MemberAccount wanted = push_account(api::MemberNames::kOwn, kHubId, "c1");
  EXPECT_EQ(wanted.acts_as, "cluster:hub:fleetadm-push-01234567:works");
  const auto own = push_account_of(token, "c1", wanted.acts_as);
  ASSERT_TRUE(own);
  EXPECT_EQ(*own, wanted);
  EXPECT_FALSE(is_former(*own));
  const auto former = push_account_of(token, "c1", "");
  ASSERT_TRUE(former);
  EXPECT_EQ(former->acts_as, "system:serviceaccount:fleetadm-push-01234567:fleetadm-push-work");
  EXPECT_TRUE(is_former(*former));
  const auto karmadas = push_account_of(token_of_account("karmada-cluster", "karmada-c1"), "c1", "");
  ASSERT_TRUE(karmadas);
  EXPECT_EQ(karmadas->acts_as, "");
  EXPECT_FALSE(is_former(*karmadas));
  EXPECT_FALSE(push_account_of(token_of_account("karmada-cluster", "karmada-c1"), "c2", "")) << "another cluster's";
  EXPECT_FALSE(push_account_of(token_of_account("elsewhere", "karmada-c1"), "c1", ""));
  EXPECT_FALSE(push_account_of("no token", "c1", ""));
}

TEST_F(KarmadaNamesTest, TheHubIsFoundByTheBindingThatOwnsTheRest) {
  EXPECT_FALSE(find_push_root(api_->client(), kHubId, "c1").value());
  make_ours("c1");
  const auto root = find_push_root(api_->client(), kHubId, "c1").value();
  ASSERT_TRUE(root);
  EXPECT_EQ(root->names, api::MemberNames::kKarmada);
  EXPECT_EQ(name_of(root->object), "karmada-controller-manager:karmada-c1");
  EXPECT_FALSE(find_push_root(api_->client(), kHubId, "c2").value());
  EXPECT_FALSE(find_push_root(api_->client(), "76543210", "c1").value()) << "another hub's";
  EXPECT_EQ(pushed_as(api_->client(), kHubId).value(), "c1");
  EXPECT_EQ(pushed_as(api_->client(), "76543210").value(), "");
  EXPECT_EQ(pushed_by(api_->client()).value(), std::set<std::string>{kHubId});
}

TEST_F(KarmadaNamesTest, ANamespaceThatIsBeingDeletedOwnsNothingNew) {
  const std::string ns = api::push_namespace_on_member(kHubId);
  put({{"apiVersion", "v1"},
       {"kind", "Namespace"},
       {"metadata",
        {{"name", ns},
         {"annotations", {{std::string(api::kPushedAsAnnotation), "former"}}},
         {"finalizers", {"example.com/keeps-it"}}}}},
      kPart);
  ASSERT_TRUE(api_->client().remove(r::namespaces(), "", ns));
  ASSERT_TRUE(is_deleting(*api_->get(r::namespaces(), "", ns)));
  const auto alone = find_push_root(api_->client(), kHubId, "c1").value();
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->names, api::MemberNames::kOwn);
  EXPECT_EQ(pushed_as(api_->client(), kHubId).value(), "former");
  api_->fail_next("get", "clusterrolebindings", 403, "Forbidden");
  EXPECT_EQ(find_push_root(api_->client(), kHubId, "c1").value()->names, api::MemberNames::kOwn) << "to the hub's own account";
  make_ours("c1");
  const auto root = find_push_root(api_->client(), kHubId, "c1").value();
  ASSERT_TRUE(root);
  EXPECT_EQ(root->names, api::MemberNames::kKarmada) << "its uid would own what the binding is to own";
  EXPECT_EQ(pushed_as(api_->client(), kHubId).value(), "c1");
}

TEST_F(KarmadaNamesTest, WhatOthersUseIsLeftToThem) {
  serve_discovery();
  make_ours("c1");
  put_account("default");
  put_account("karmada-theirs");
  leave();
  EXPECT_EQ(part_of(r::namespaces(), "", "karmada-cluster"), "");
  EXPECT_TRUE(list_at(*api_->get(r::namespaces(), "", "karmada-cluster"), {"metadata", "ownerReferences"}).empty());
  EXPECT_EQ(label_of(*api_->get(r::namespaces(), "", "karmada-cluster"), "karmada.io/system"), "true");
  for (const kube::Resource& type : {r::service_accounts(), r::secrets()})
    EXPECT_EQ(part_of(type, "karmada-cluster", "karmada-impersonator"), "") << type.kind;
  EXPECT_EQ(api_->count("delete"), 0);
}

TEST_F(KarmadaNamesTest, WithNobodyElseInItTheNamespaceGoesWithTheBinding) {
  serve_discovery();
  make_ours("c1");
  put_account("default");
  const auto changes = leave();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes.front().kind, "Namespace");
  EXPECT_EQ(api_->write_count(), 0) << "it is the binding's";
}

TEST_F(KarmadaNamesTest, InAnothersNamespaceTheAccountThatWasMadeForItGoes) {
  serve_discovery();
  make_ours("c1");
  Json ns = *api_->get(r::namespaces(), "", "karmada-cluster");
  erase_at(ns, {"metadata", "labels", install::kPartLabel});
  api_->put(r::namespaces(), ns);
  leave();
  EXPECT_EQ(part_of(r::secrets(), "karmada-cluster", "karmada-impersonator"), "gone");
  EXPECT_EQ(part_of(r::service_accounts(), "karmada-cluster", "karmada-impersonator"), "gone");
  EXPECT_EQ(part_of(r::namespaces(), "", "karmada-cluster"), "");
}

TEST_F(KarmadaNamesTest, ADiscoveryThatFailedTakesNothingAway) {
  api_->route("/api", {500, {}, ""});
  api_->route("/apis", {500, {}, ""});
  make_ours("c1");
  leave();
  EXPECT_EQ(part_of(r::namespaces(), "", "karmada-cluster"), "");
  EXPECT_EQ(api_->count("delete"), 0);
}

TEST_F(KarmadaNamesTest, OnlyWhatAllUseMayBeAnothers) {
  const auto shared = [](const char* kind, const char* ns, const char* name) {
    return is_shared_with_karmada({kind, ns, name, install::Action::kKeptForeign});
  };
  EXPECT_TRUE(shared("Namespace", "", "karmada-cluster"));
  EXPECT_TRUE(shared("ServiceAccount", "karmada-cluster", "karmada-impersonator"));
  EXPECT_TRUE(shared("Secret", "karmada-cluster", "karmada-impersonator"));
  EXPECT_FALSE(shared("ServiceAccount", "karmada-cluster", "karmada-c1"));
  EXPECT_FALSE(shared("ClusterRole", "", "karmada-controller-manager:karmada-c1"));
}

}  // namespace
}  // namespace fleetadm::join
