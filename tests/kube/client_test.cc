// kubeclient against a real API server: the shapes that the fake one only imitates.
#include "kubeclient/rest/client.h"

#include <atomic>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/discovery/mapper.h"
#include "kubeclient/events/recorder.h"
#include "kubeclient/watch/informer.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {
namespace {

using kube::Client;
using kube::resources::config_maps;
using std::chrono::milliseconds;
using std::chrono::seconds;

bool eventually(const std::function<bool()>& done, Duration timeout = seconds(20)) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return true;
}

Json config_map(std::string_view name, std::string_view value) {
  return Json{{"apiVersion", "v1"},
              {"kind", "ConfigMap"},
              {"metadata", {{"name", name}, {"namespace", "default"}, {"labels", {{"suite", "client"}}}}},
              {"data", {{"k", value}}}};
}

class RealClientTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!KubeServer::programs()) return;
    KubeServerOptions options;
    options.name = "client";
    options.controller_manager = false;
    auto started = KubeServer::start(options);
    ASSERT_TRUE(started) << started.error().message;
    server = std::move(*started);
  }
  static void TearDownTestSuite() { server.reset(); }
  void SetUp() override {
    if (!server) GTEST_SKIP() << KubeServer::programs().error().message;
    connect(server->kubeconfig());
  }
  void connect(const std::string& kubeconfig) {
    auto loaded = kube::Kubeconfig::from_text(kubeconfig);
    ASSERT_TRUE(loaded) << loaded.error().message;
    auto resolved = loaded->resolve({});
    ASSERT_TRUE(resolved) << resolved.error().message;
    config = *resolved;
    client.emplace(Client::connect(config, gate));
  }

  static std::unique_ptr<KubeServer> server;
  kube::RestConfig config;
  std::shared_ptr<kube::WriteGate> gate = std::make_shared<kube::WriteGate>();
  std::optional<Client> client;
};
std::unique_ptr<KubeServer> RealClientTest::server;

TEST_F(RealClientTest, EmbeddedObjectsAreSentAsTheServerRewritesThem) {
  // data is immutable, and compared as text after the server has rewritten it for the patch.
  const kube::Resource revisions{"apps", "v1", "controllerrevisions", "ControllerRevision", true};
  const std::string text = "a && b < c > d \u2028 \u2029 \u00e9 \" \\ /";
  const Json revision{{"apiVersion", "apps/v1"},
                      {"kind", "ControllerRevision"},
                      {"metadata", {{"name", "escapes"}, {"namespace", "default"}}},
                      {"revision", 1},
                      {"data", {{"text", text}, {"number", 1.5}, {"z", Json::object()}, {"a", {1, 2}}}}};
  const auto created = client->create(revisions, "default", revision);
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_EQ(str(*created, {"data", "text"}), text);
  const auto noted = client->patch(revisions, "default", "escapes", kube::PatchType::kMerge,
                                   Json{{"metadata", {{"annotations", {{"note", "<&>"}}}}}});
  ASSERT_TRUE(noted) << noted.error().message;
  EXPECT_EQ(annotation_of(*noted, "note"), "<&>");
  EXPECT_EQ(str(*noted, {"data", "text"}), text);
}

TEST_F(RealClientTest, EveryVerbWorks) {
  const auto created = client->create(config_maps(), "default", config_map("verbs", "1"));
  ASSERT_TRUE(created) << created.error().message;
  const auto again = client->create(config_maps(), "default", config_map("verbs", "1"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().reason, "AlreadyExists");
  EXPECT_EQ(client->create_or_get(config_maps(), "default", config_map("verbs", "9"))->at("data").at("k"), "1");
  Json changed = *created;
  changed["data"]["k"] = "2";
  ASSERT_TRUE(client->update(config_maps(), changed));
  changed["data"]["k"] = "3";
  EXPECT_EQ(client->update(config_maps(), changed).error().category, Category::kConflict);
  EXPECT_EQ(str(*client->patch(config_maps(), "default", "verbs", kube::PatchType::kMerge, Json{{"data", {{"k", "4"}}}}),
                {"data", "k"}),
            "4");
  EXPECT_EQ(str(*client->patch(config_maps(), "default", "verbs", kube::PatchType::kJson,
                               Json::array({{{"op", "replace"}, {"path", "/data/k"}, {"value", "5"}}})),
                {"data", "k"}),
            "5");
  kube::WriteOptions options;
  options.field_manager = "other";
  const auto refused = client->apply(config_maps(), config_map("verbs", "6"), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().category, Category::kConflict);
  options.force = true;
  EXPECT_EQ(str(*client->apply(config_maps(), config_map("verbs", "6"), options), {"data", "k"}), "6");
  const auto modified = client->modify(config_maps(), "default", "verbs", [](Json& object) -> Status {
    at_or_make(object, {"data", "more"}) = "yes";
    return {};
  });
  ASSERT_TRUE(modified) << modified.error().message;

  kube::DeleteOptions precise;
  precise.uid = "00000000-0000-0000-0000-000000000000";
  EXPECT_EQ(client->remove(config_maps(), "default", "verbs", precise).error().category, Category::kConflict);
  precise.uid = uid_of(*created);
  ASSERT_TRUE(client->remove(config_maps(), "default", "verbs", precise));
  EXPECT_FALSE(client->find(config_maps(), "default", "verbs")->has_value());
  const auto unknown = client->find({"nope.example.com", "v1", "things", "Thing", true}, "default", "x");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().reason, kube::kUnknownPath);
  const auto unknown_type = client->find({"apps", "v1", "things", "Thing", true}, "default", "x");
  ASSERT_FALSE(unknown_type);
  EXPECT_EQ(unknown_type.error().reason, kube::kUnknownPath);
}

TEST_F(RealClientTest, ModifyOfARecreatedObjectReadsAgain) {
  ASSERT_TRUE(client->create(config_maps(), "default", config_map("reborn", "1")));
  int rounds = 0;
  const auto modified = client->modify(config_maps(), "default", "reborn", [&](Json& object) -> Status {
    if (++rounds == 1) {
      FLEETADM_CHECK(client->remove(config_maps(), "default", "reborn").map([](const Json&) {}));
      FLEETADM_CHECK(client->create(config_maps(), "default", config_map("reborn", "new")).map([](const Json&) {}));
    }
    at_or_make(object, {"data", "more"}) = "yes";
    return {};
  });
  ASSERT_TRUE(modified) << modified.error().message;
  EXPECT_EQ(rounds, 2);
  EXPECT_EQ(str(*modified, {"data", "k"}), "new");
}

TEST_F(RealClientTest, DryRunsStoreNothing) {
  gate->dry_run = kube::DryRun::kServer;
  const auto created = client->create(config_maps(), "default", config_map("dry", "1"));
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_FALSE(uid_of(*created).empty());
  EXPECT_TRUE(client->apply(config_maps(), config_map("dry", "2")));
  EXPECT_FALSE(client->find(config_maps(), "default", "dry")->has_value());
  const auto position = server->audit_position();
  gate->dry_run = kube::DryRun::kClient;
  EXPECT_TRUE(client->create(config_maps(), "default", config_map("dry", "1")));
  EXPECT_TRUE(client->apply(config_maps(), config_map("dry", "2")));
  EXPECT_TRUE(client->find(config_maps(), "default", "dry"));  // so that the log has moved on
  const auto writes = server->audit_since(
      position, [](const AuditEntry& entry) { return entry.is_write() && entry.user_agent.starts_with("fleetadm/"); });
  EXPECT_TRUE(writes.empty());
}

TEST_F(RealClientTest, ErrorsNameWhatIsWrong) {
  connect(server->kubeconfig_for("nobody"));
  const auto forbidden = client->list(config_maps(), "default");
  ASSERT_FALSE(forbidden);
  EXPECT_EQ(forbidden.error().category, Category::kAuth);
  EXPECT_EQ(forbidden.error().reason, "Forbidden");
  EXPECT_NE(forbidden.error().message.find("\"nobody\""), std::string::npos);
  connect(server->kubeconfig_with_token("wrong"));
  const auto unauthorized = client->list(config_maps(), "default");
  ASSERT_FALSE(unauthorized);
  EXPECT_EQ(unauthorized.error().code, 401);
  EXPECT_EQ(unauthorized.error().message.find("wrong"), std::string::npos);
}

TEST_F(RealClientTest, DiscoveryMapsTypes) {
  kube::Mapper mapper(*client);
  EXPECT_EQ(mapper.by_name("deploy")->resource, kube::resources::deployments());
  EXPECT_EQ(mapper.by_name("cm")->resource, config_maps());
  EXPECT_EQ(mapper.by_name("csr")->resource, kube::resources::certificate_signing_requests());
  EXPECT_EQ(mapper.by_kind("rbac.authorization.k8s.io/v1", "ClusterRole")->resource, kube::resources::cluster_roles());
  for (const auto& known :
       {kube::resources::leases(), kube::resources::jobs(), kube::resources::events(), kube::resources::nodes(),
        kube::resources::validating_admission_policies(), kube::resources::custom_resource_definitions(),
        kube::resources::validating_admission_policy_bindings(), kube::resources::subject_access_reviews(),
        kube::resources::self_subject_reviews(), kube::resources::service_accounts(), kube::resources::secrets()}) {
    const auto found = mapper.by_kind(known.api_version(), known.kind);
    ASSERT_TRUE(found) << known.qualified();
    EXPECT_EQ(found->resource, known);
  }
  EXPECT_FALSE(mapper.by_name("gadgets"));
  EXPECT_TRUE(kube::server_version(*client)->git_version.starts_with("v1."));
}

TEST_F(RealClientTest, InformersFollowAndSurviveARestart) {
  kube::InformerOptions options;
  options.ns = "default";
  options.label_selector = "suite=client";
  const auto informer = kube::Informer::make(*client, config_maps(), options);
  std::atomic<int> events{0};
  informer->on_event([&](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr&) { ++events; });
  ASSERT_TRUE(client->create(config_maps(), "default", config_map("seen", "1")));
  const auto position = server->audit_position();
  kube::WriteOptions force;
  force.force = true;
  informer->start();
  ASSERT_TRUE(informer->wait_synced(seconds(20)));
  ASSERT_NE(informer->get("default/seen"), nullptr);
  ASSERT_TRUE(client->apply(config_maps(), config_map("seen", "2"), force));
  EXPECT_TRUE(eventually([&] { return str(informer->get("default/seen")->decode(), {"data", "k"}) == "2"; }));
  // A streaming list is one request: no LIST beside it.
  EXPECT_TRUE(
      server
          ->audit_since(position, [](const AuditEntry& entry) { return entry.verb == "list" && entry.resource == "configmaps"; })
          .empty());

  server->stop_apiserver();
  EXPECT_TRUE(eventually([&] { return informer->last_error().has_value(); }));
  EXPECT_NE(informer->get("default/seen"), nullptr);
  ASSERT_TRUE(server->start_apiserver());
  EXPECT_TRUE(eventually([&] { return client->apply(config_maps(), config_map("seen", "3"), force).has_value(); }));
  EXPECT_TRUE(eventually([&] { return str(informer->get("default/seen")->decode(), {"data", "k"}) == "3"; }, seconds(60)));
  informer->stop();
}

TEST_F(RealClientTest, WaitsSeeCreationAndDeletion) {
  std::jthread later([this] {
    std::this_thread::sleep_for(milliseconds(300));
    static_cast<void>(client->create(config_maps(), "default", config_map("awaited", "1")));
    std::this_thread::sleep_for(milliseconds(300));
    static_cast<void>(client->remove(config_maps(), "default", "awaited"));
  });
  const auto is_there = [](const std::optional<Json>& object) -> Result<bool> { return object.has_value(); };
  const auto is_gone = [](const std::optional<Json>& object) -> Result<bool> { return !object.has_value(); };
  auto found = kube::wait_for(*client, config_maps(), "default", "awaited", is_there, seconds(20));
  ASSERT_TRUE(found) << found.error().message;
  found = kube::wait_for(*client, config_maps(), "default", "awaited", is_gone, seconds(20));
  ASSERT_TRUE(found) << found.error().message;
}

TEST_F(RealClientTest, EventsAreAcceptedAndBecomeSeries) {
  const auto object = client->get(kube::resources::namespaces(), "", "default");
  ASSERT_TRUE(object);
  kube::Recorder recorder(*client, "example.com/test", "test-0");
  for (int i = 0; i < 3; ++i) recorder.event(*object, "", "Normal", "Tested", "Test", "an event");
  recorder.flush(seconds(20));
  kube::ListOptions options;
  options.field_selector = "reason=Tested";
  const auto events = client->list(kube::resources::events(), "default", options);
  ASSERT_TRUE(events) << events.error().message;
  ASSERT_EQ(list_at(*events, {"items"}).size(), 1U);
  EXPECT_EQ(num(list_at(*events, {"items"}).front(), {"series", "count"}), 3);
}

TEST_F(RealClientTest, ManyObjectsArriveInPages) {
  for (int i = 0; i < 30; ++i)
    ASSERT_TRUE(client->create(config_maps(), "kube-public", [&] {
      Json object = config_map("page" + std::to_string(i), "1");
      object["metadata"]["namespace"] = "kube-public";
      return object;
    }()));
  kube::ListOptions options;
  options.limit = 7;
  options.label_selector = "suite=client";
  const auto all = client->list(config_maps(), "kube-public", options);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(list_at(*all, {"items"}).size(), 30U);
  ASSERT_TRUE(client->remove_collection(config_maps(), "kube-public", options));
  EXPECT_TRUE(list_at(*client->list(config_maps(), "kube-public", options), {"items"}).empty());
}

// The last frame of an answer may come while another stream of the connection is read for: it must not wait for a further one.
TEST_F(RealClientTest, ListsBesideWatchesEndAtOnce) {
  for (int i = 0; i < 40; ++i) {
    Json object = config_map("beside" + std::to_string(i), std::string(900, 'x'));
    object["metadata"]["labels"]["beside"] = "yes";
    ASSERT_TRUE(client->create(config_maps(), "default", object));
  }
  kube::ListOptions options;
  options.label_selector = "beside=yes";
  for (int round = 0; round < 20; ++round) {
    const Client fresh = Client::connect(config);
    std::vector<std::shared_ptr<kube::Informer>> informers;
    for (const auto& type : {config_maps(), kube::resources::leases(), kube::resources::nodes(), kube::resources::jobs(),
                             kube::resources::namespaces()}) {
      informers.push_back(kube::Informer::make(fresh, type));
      informers.back()->start();
    }
    for (const auto& informer : informers) ASSERT_TRUE(informer->wait_synced(seconds(20)));
    for (int i = 0; i < 10; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      const auto all = fresh.list(config_maps(), "default", options);
      ASSERT_TRUE(all) << all.error().message;
      EXPECT_EQ(list_at(*all, {"items"}).size(), 40U);
      EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(5)) << "round " << round;
    }
    for (const auto& informer : informers) informer->stop();
  }
  ASSERT_TRUE(client->remove_collection(config_maps(), "default", options));
}

// An idle agent has eight watches on two servers; its memory is a promise (16 MiB in all).
TEST_F(RealClientTest, IdleWatchesAreCheap) {
  const auto resident = [] {
    std::ifstream status("/proc/self/status");
    std::string line;
    while (std::getline(status, line)) {
      if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
    }
    return 0L;
  };
  ASSERT_TRUE(client->get(kube::resources::namespaces(), "", "default"));
  const long before = resident();
  const Client second = Client::connect(config);
  std::vector<std::shared_ptr<kube::Informer>> informers;
  for (const Client& one : {*client, second}) {
    for (const auto& type : {config_maps(), kube::resources::leases(), kube::resources::nodes(), kube::resources::jobs()}) {
      informers.push_back(kube::Informer::make(one, type));
      informers.back()->start();
    }
  }
  for (const auto& informer : informers) ASSERT_TRUE(informer->wait_synced(seconds(20)));
  const long grown = resident() - before;
  RecordProperty("kib_for_eight_watches", static_cast<int>(grown));
  EXPECT_LT(grown, 6 * 1024);
  for (const auto& informer : informers) informer->stop();
}

}  // namespace
}  // namespace fleetadm::testkit
