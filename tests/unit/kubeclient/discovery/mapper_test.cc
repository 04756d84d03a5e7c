#include "kubeclient/discovery/mapper.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/fake_api.h"

namespace fleetadm::kube {
namespace {

using testkit::FakeApi;

class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "mapper-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path() const { return path_; }

 private:
  std::string path_;
};

Response answer(std::string_view body, std::string_view type = "application/json") {
  Response response;
  response.status = 200;
  response.headers["content-type"] = type;
  response.body = body;
  return response;
}

constexpr std::string_view kAggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

void serve_aggregated(FakeApi& api) {
  api.route("/api",
            answer(R"({"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":""},"versions":[{"version":"v1","resources":[
    {"resource":"pods","responseKind":{"group":"","version":"","kind":"Pod"},"scope":"Namespaced","singularResource":"pod",
     "verbs":["get","list"],"shortNames":["po"],"categories":["all"],"subresources":[{"subresource":"log"}]},
    {"resource":"nodes","responseKind":{"kind":"Node"},"scope":"Cluster","singularResource":"node","verbs":["get"]},
    {"resource":"events","responseKind":{"kind":"Event"},"scope":"Namespaced","singularResource":"event","shortNames":["ev"],"verbs":["get"]}
  ]}]}]})",
                   kAggregatedType));
  api.route("/apis", answer(R"({"kind":"APIGroupDiscoveryList","items":[
    {"metadata":{"name":"apps"},"versions":[{"version":"v1","freshness":"Current","resources":[
      {"resource":"deployments","responseKind":{"kind":"Deployment"},"scope":"Namespaced","singularResource":"deployment",
       "shortNames":["deploy"],"categories":["all"],"verbs":["get"]}]}]},
    {"metadata":{"name":"events.k8s.io"},"versions":[{"version":"v1","resources":[
      {"resource":"events","responseKind":{"kind":"Event"},"scope":"Namespaced","singularResource":"event","shortNames":["ev"],"verbs":["get"]}]}]},
    {"metadata":{"name":"example.com"},"versions":[
      {"version":"v2","resources":[{"resource":"widgets","responseKind":{"kind":"Widget"},"scope":"Cluster","verbs":["get"],"categories":["all"]}]},
      {"version":"v1","resources":[{"resource":"widgets","responseKind":{"kind":"Widget"},"scope":"Cluster","verbs":["get"],"categories":["all"]}]}]}
  ]})",
                            kAggregatedType));
}

TEST(DiscoveryTest, ReadsTheAggregatedForm) {
  const auto api = FakeApi::make();
  serve_aggregated(*api);
  const auto found = discover(api->client());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->resources.size(), 7U);
  EXPECT_EQ(found->resources.front().resource, resources::pods());
  EXPECT_EQ(found->resources.front().subresources, std::vector<std::string>{"log"});
  EXPECT_TRUE(found->failed_groups.empty());
  EXPECT_EQ(api->calls().size(), 2U);
}

TEST(DiscoveryTest, ReadsTheLegacyFormAndKeepsWhatFailedAsUnknown) {
  const auto api = FakeApi::make();
  api->route("/api", answer(R"({"kind":"APIVersions","versions":["v1"]})"));
  api->route("/api/v1", answer(R"({"kind":"APIResourceList","groupVersion":"v1","resources":[
    {"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get"],"shortNames":["po"]},
    {"name":"pods/log","namespaced":true,"kind":"Pod","verbs":["get"]}]})"));
  api->route("/apis", answer(R"({"kind":"APIGroupList","groups":[
    {"name":"a.example.com","versions":[{"groupVersion":"a.example.com/v1","version":"v1"},{"groupVersion":"a.example.com/v2","version":"v2"}],
     "preferredVersion":{"groupVersion":"a.example.com/v2","version":"v2"}},
    {"name":"broken.example.com","versions":[{"groupVersion":"broken.example.com/v1","version":"v1"}]}]})"));
  for (const auto* version : {"v1", "v2"}) {
    const std::string group_version = std::string("a.example.com/") + version;
    api->route("/apis/" + group_version,
               answer(R"({"groupVersion":")" + group_version + R"(","resources":[{"name":"as","kind":"A","verbs":["get"]}]})"));
  }
  Response broken;
  broken.status = 503;
  api->route("/apis/broken.example.com/v1", broken);
  const auto found = discover(api->client());
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->resources.size(), 3U);
  EXPECT_EQ(found->resources[0].subresources, std::vector<std::string>{"log"});
  EXPECT_EQ(found->resources[1].resource.version, "v2");
  EXPECT_EQ(found->failed_groups, std::vector<std::string>{"broken.example.com/v1"});

  Mapper mapper(api->client());
  const auto missing = mapper.by_kind("broken.example.com/v1", "B");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().category, Category::kUnavailable);  // unknown, not absent
}

TEST(DiscoveryTest, StaleGroupsAreUnknown) {
  const auto api = FakeApi::make();
  serve_aggregated(*api);
  api->route(
      "/apis",
      answer(
          R"({"items":[{"metadata":{"name":"metrics.k8s.io"},"versions":[{"version":"v1","freshness":"Stale","resources":[]}]}]})",
          kAggregatedType));
  const auto found = discover(api->client());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->failed_groups, std::vector<std::string>{"metrics.k8s.io/v1"});
}

TEST(DiscoveryTest, AWebServerIsNoKubernetes) {
  const auto api = FakeApi::make();
  api->route("/api", answer("<html>"));
  EXPECT_FALSE(discover(api->client()));
  api->route("/api", answer("{}"));
  api->route("/apis", answer("{}"));
  EXPECT_FALSE(discover(api->client()));
  api->route("/version", answer("{}"));
  EXPECT_FALSE(server_version(api->client()));
  api->route("/version", answer(R"({"major":"1","minor":"35","gitVersion":"v1.35.4"})"));
  const auto version = server_version(api->client());
  ASSERT_TRUE(version);
  EXPECT_EQ(version->git_version, "v1.35.4");
  EXPECT_EQ(version->minor, "35");
}

TEST(MapperTest, MapsWhatPeopleWrite) {
  const auto api = FakeApi::make();
  serve_aggregated(*api);
  Mapper mapper(api->client());
  const auto name = [&](std::string_view word) {
    const auto found = mapper.by_name(word);
    return found ? found->resource.qualified() + "/" + found->resource.version : found.error().message;
  };
  for (const auto* word :
       {"deploy", "deployment", "deployments", "Deployment", "deployments.apps", "deploy.apps", "deployments.v1.apps"}) {
    EXPECT_EQ(name(word), "deployments.apps/v1") << word;
  }
  EXPECT_EQ(name("po"), "pods/v1");
  EXPECT_EQ(name("pods.v1"), "pods/v1");
  EXPECT_EQ(name("ev"), "events/v1");  // the core group first
  EXPECT_EQ(name("events.events.k8s.io"), "events.events.k8s.io/v1");
  EXPECT_EQ(name("widgets"), "widgets.example.com/v2");
  EXPECT_EQ(name("widgets.v1.example.com"), "widgets.example.com/v1");
  EXPECT_EQ(name("widgets.example"), "widgets.example.com/v2");
  EXPECT_EQ(name("nope"), "the server doesn't have a resource type \"nope\"");
  EXPECT_EQ(mapper.by_kind("apps/v1", "Deployment")->resource, resources::deployments());
  EXPECT_EQ(mapper.by_kind("apps/v2", "Deployment").error().category, Category::kNotFound);
  const auto all = mapper.by_category("all");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 3U);  // pods, deployments, widgets once
}

TEST(MapperTest, MissesDoNotAskTheServerEachTime) {
  const auto api = FakeApi::make();
  serve_aggregated(*api);
  Mapper mapper(api->client());
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(mapper.by_kind("new.example.com/v1", "New"));
  EXPECT_EQ(api->calls().size(), 2U);
  mapper.invalidate();
  EXPECT_FALSE(mapper.by_name("new"));
  EXPECT_EQ(api->calls().size(), 4U);
}

TEST(MapperTest, KeepsDiscoveryOnDiskForTheOwnerAlone) {
  const Folder folder;
  ASSERT_FALSE(folder.path().empty());
  const std::string cache = (folder.path() / "deep" / "cache").string();
  const auto api = FakeApi::make();
  serve_aggregated(*api);
  ASSERT_TRUE(Mapper(api->client(), cache).by_name("pods"));
  EXPECT_EQ(api->calls().size(), 2U);
  ASSERT_TRUE(Mapper(api->client(), cache).by_name("deploy"));
  EXPECT_EQ(api->calls().size(), 2U);

  struct stat info {};
  ASSERT_EQ(::stat(cache.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  std::string file;
  for (const auto& entry : std::filesystem::directory_iterator(cache)) file = entry.path();
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);

  // A type that is new since then is found although the cache does not know it.
  ASSERT_FALSE(Mapper(api->client(), cache).by_name("gadgets"));
  EXPECT_EQ(api->calls().size(), 4U);

  // Files that others could have written, old ones and broken ones count for nothing.
  ::chmod(file.c_str(), 0644);
  ASSERT_TRUE(Mapper(api->client(), cache).by_name("pods"));
  EXPECT_EQ(api->calls().size(), 6U);
  std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(11));
  ASSERT_TRUE(Mapper(api->client(), cache).by_name("pods"));
  EXPECT_EQ(api->calls().size(), 8U);
  std::ofstream(file, std::ios::trunc) << "{\"resources\":[{}]}";
  ASSERT_TRUE(Mapper(api->client(), cache).by_name("pods"));
  EXPECT_EQ(api->calls().size(), 10U);
  // Another server's discovery is another file.
  ASSERT_TRUE(Mapper(api->client(nullptr, "other"), cache).by_name("pods"));
  EXPECT_EQ(api->calls().size(), 12U);
}

}  // namespace
}  // namespace fleetadm::kube
