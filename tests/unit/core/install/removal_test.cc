// Removing a part: what a server does not finish by itself is asked for again.
#include <gtest/gtest.h>

#include "core/install/install.h"
#include "tests/support/fake_api.h"

namespace fleetadm::install {
namespace {

namespace r = kube::resources;
using testkit::ApiCall;
using testkit::FakeApi;

constexpr const char* kName = "things.example.org";

Json type(const std::string& uid = "u1") {
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata",
           {{"name", kName},
            {"uid", uid},
            {"labels", {{std::string(kPartLabel), "hub"}}},
            {"finalizers", {"customresourcecleanup.apiextensions.k8s.io"}}}}};
}

Json terminating(Json object, const char* reason) {
  object["status"]["conditions"] =
      Json::array({{{"type", "Established"}, {"status", "True"}},
                   {{"type", "Terminating"}, {"status", "True"}, {"reason", reason}, {"message", "as it says"}}});
  return object;
}

Options hub_part(Duration timeout) {
  Options options;
  options.part = "hub";
  options.timeout = timeout;
  return options;
}

// As kube-apiserver: after a failure it comes back to a type only where something but the condition changed.
TEST(RemovePart, AsksAgainForATypeThatTheServerGaveUpOn) {
  const auto api = FakeApi::make();
  api->put(r::custom_resource_definitions(), type());
  api->on_request([&](const ApiCall& call) -> std::optional<kube::Response> {
    if (call.plural != "customresourcedefinitions") return std::nullopt;
    const auto now = api->get(r::custom_resource_definitions(), "", kName);
    if (call.verb == "get" && now && is_deleting(*now) && find(*now, {"status"}) == nullptr)
      api->put(r::custom_resource_definitions(), terminating(*now, "InstanceDeletionFailed"));
    if (call.verb == "patch") api->erase(r::custom_resource_definitions(), "", kName);
    return std::nullopt;
  });
  const auto changes = remove_part(api->client(), hub_part(std::chrono::seconds(20)));
  ASSERT_TRUE(changes) << changes.error().message;
  EXPECT_EQ(changes->size(), 1u);
  EXPECT_EQ(api->count("patch"), 1);
}

TEST(RemovePart, LeavesATypeAloneThatIsBeingEmptied) {
  const auto api = FakeApi::make();
  api->put(r::custom_resource_definitions(), terminating(type(), "InstanceDeletionInProgress"));
  const auto changes = remove_part(api->client(), hub_part(std::chrono::milliseconds(2500)));
  ASSERT_FALSE(changes);
  EXPECT_EQ(changes.error().category, Category::kTimeout);
  EXPECT_NE(changes.error().message.find("is still being deleted: timed out after "), std::string::npos)
      << changes.error().message;
  EXPECT_EQ(api->count("patch"), 0);
}

TEST(RemovePart, TakesATypeOfTheSameNameForAnother) {
  const auto api = FakeApi::make();
  api->put(r::custom_resource_definitions(), type());
  api->on_request([&](const ApiCall& call) -> std::optional<kube::Response> {
    const auto now = api->get(r::custom_resource_definitions(), "", kName);
    if (call.verb == "get" && now && is_deleting(*now))
      api->put(r::custom_resource_definitions(), terminating(type("u2"), "InstanceDeletionFailed"));
    return std::nullopt;
  });
  const auto changes = remove_part(api->client(), hub_part(std::chrono::seconds(20)));
  ASSERT_TRUE(changes) << changes.error().message;
  EXPECT_EQ(api->count("patch"), 0);
}

TEST(RemovePart, TellsWhyTheServerCouldNotBeAsked) {
  const auto api = FakeApi::make();
  api->put(r::custom_resource_definitions(), type());
  api->refuse_next("get", "customresourcedefinitions", 1000);
  const auto changes = remove_part(api->client(), hub_part(std::chrono::milliseconds(2300)));
  ASSERT_FALSE(changes);
  EXPECT_EQ(changes.error().category, Category::kTimeout);
  EXPECT_NE(changes.error().message.find("(last error: "), std::string::npos) << changes.error().message;
}

TEST(RemovePart, TellsWhatKeepsANamespace) {
  const auto api = FakeApi::make();
  api->put(r::namespaces(),
           {{"apiVersion", "v1"},
            {"kind", "Namespace"},
            {"metadata", {{"name", "n"}, {"labels", {{std::string(kPartLabel), "hub"}}}, {"finalizers", {"example.org/keep"}}}}});
  auto changes = remove_part(api->client(), hub_part(std::chrono::milliseconds(200)));
  ASSERT_FALSE(changes);
  EXPECT_NE(changes.error().message.find("finalizers are left: example.org/keep"), std::string::npos) << changes.error().message;
  Json now = *api->get(r::namespaces(), "", "n");
  now["status"]["conditions"] = Json::array(
      {{{"type", "NamespaceDeletionDiscoveryFailure"}, {"status", "False"}, {"message", "all is well"}},
       {{"type", "NamespaceContentRemaining"}, {"status", "True"}, {"message", "things.example.org has 1 resource instances"}}});
  api->put(r::namespaces(), now);
  changes = remove_part(api->client(), hub_part(std::chrono::milliseconds(200)));
  ASSERT_FALSE(changes);
  EXPECT_NE(changes.error().message.find(": things.example.org has 1 resource instances"), std::string::npos)
      << changes.error().message;
  EXPECT_EQ(changes.error().message.find("all is well"), std::string::npos) << changes.error().message;
}

TEST(RemovePart, TakesARoleBeforeThoseThatItSumsUp) {
  const auto api = FakeApi::make();
  const auto role = [](const char* name) -> Json {
    return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
            {"kind", "ClusterRole"},
            {"metadata", {{"name", name}, {"labels", {{std::string(kPartLabel), "hub"}}}}}};
  };
  Json sum = role("m-sum");
  sum["aggregationRule"] = {{"clusterRoleSelectors", Json::array({{{"matchLabels", {{"sum", "true"}}}}})}};
  for (Json each : {role("a-part"), sum, role("z-part")}) api->put(r::cluster_roles(), std::move(each));
  const auto changes = remove_part(api->client(), hub_part(std::chrono::seconds(5)));
  ASSERT_TRUE(changes) << changes.error().message;
  std::vector<std::string> names;
  for (const ApiCall& write : api->writes()) names.push_back(write.name);
  EXPECT_EQ(names, (std::vector<std::string>{"m-sum", "a-part", "z-part"}));
}

class RemovalWithNamespaces : public ::testing::Test {
 protected:
  void put(const kube::Resource& resource, const char* ns, const char* name) {
    Json object{{"apiVersion", resource.api_version()},
                {"kind", resource.kind},
                {"metadata", {{"name", name}, {"labels", {{std::string(kPartLabel), "hub"}}}}}};
    if (*ns != '\0') object["metadata"]["namespace"] = ns;
    api->put(resource, std::move(object));
  }
  void SetUp() override {
    put(r::namespaces(), "", "n");
    put(r::deployments(), "n", "runs");
    put(r::service_accounts(), "n", "goes-with-it");
    put(r::roles(), "kube-public", "elsewhere");
    options.with_namespaces = true;
  }
  const std::shared_ptr<FakeApi> api = FakeApi::make();
  Options options = hub_part(std::chrono::seconds(5));
};

TEST_F(RemovalWithNamespaces, DeletesOneByOneOnlyWhatRunsAndWhatIsElsewhere) {
  const auto changes = remove_part(api->client(), options);
  ASSERT_TRUE(changes) << changes.error().message;
  EXPECT_EQ(changes->size(), 4U) << "all of it is told";
  EXPECT_EQ(api->count("delete", "serviceaccounts"), 0);
  EXPECT_EQ(api->write_count(), 3);
  const auto writes = api->writes();
  EXPECT_EQ(writes.front().plural, "deployments");
  EXPECT_EQ(writes.back().plural, "namespaces");
}

TEST_F(RemovalWithNamespaces, DeletesNothingWhereTheseCannotBeListed) {
  api->fail_next("list", "namespaces", 403, "Forbidden");
  EXPECT_FALSE(remove_part(api->client(), options));
  EXPECT_EQ(api->write_count(), 0);
}

}  // namespace
}  // namespace fleetadm::install
