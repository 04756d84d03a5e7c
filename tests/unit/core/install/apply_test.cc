// Dry runs of an installation: what the run itself would create counts as there, and what would not change is not claimed.
#include <gtest/gtest.h>

#include "core/install/install.h"
#include "core/install/intent.h"
#include "tests/support/fake_api.h"

namespace fleetadm::install {
namespace {

namespace r = kube::resources;
using testkit::ApiCall;
using testkit::FakeApi;

Json object(const char* api_version, const char* kind, const char* name, const char* ns = nullptr) {
  Json made{{"apiVersion", api_version}, {"kind", kind}, {"metadata", {{"name", name}}}};
  if (ns != nullptr) made["metadata"]["namespace"] = ns;
  return made;
}

kube::Client dry(const std::shared_ptr<FakeApi>& api, kube::DryRun how) {
  auto gate = std::make_shared<kube::WriteGate>();
  gate->dry_run = how;
  return {api->client().transport(), gate};
}

Options agent_part() {
  Options options;
  options.part = "agent";
  return options;
}

kube::Response missing_namespace(const char* name) {
  kube::Response response;
  response.status = 404;
  response.body = dump_json({{"kind", "Status"},
                             {"apiVersion", "v1"},
                             {"reason", "NotFound"},
                             {"message", std::string("namespaces \"") + name + "\" not found"},
                             {"details", {{"name", name}, {"kind", "namespaces"}}}});
  return response;
}

TEST(ApplyAll, CountsWhatADryRunWouldCreateAsThere) {
  const auto api = FakeApi::make();
  api->on_request([](const ApiCall& call) -> std::optional<kube::Response> {
    if (call.verb == "patch" && call.plural == "secrets") return missing_namespace("fleet");
    return std::nullopt;
  });
  const auto changes = apply_all(dry(api, kube::DryRun::kServer),
                                 {object("v1", "Namespace", "fleet"), object("v1", "Secret", "key", "fleet")}, agent_part());
  ASSERT_TRUE(changes) << changes.error().message;
  ASSERT_EQ(changes->size(), 2u);
  EXPECT_EQ((*changes)[1].action, Action::kCreated);
  EXPECT_EQ((*changes)[1].unchecked, "Namespace \"fleet\" does not exist yet");
  EXPECT_EQ(to_json(*changes)[1]["unchecked"], "Namespace \"fleet\" does not exist yet");
  EXPECT_TRUE((*changes)[0].unchecked.empty());
}

TEST(ApplyAll, AMissingNamespaceThatTheRunDoesNotCreateIsAnError) {
  const auto api = FakeApi::make();
  api->on_request([](const ApiCall& call) -> std::optional<kube::Response> {
    if (call.verb == "patch" && call.plural == "secrets") return missing_namespace("other");
    return std::nullopt;
  });
  const auto changes = apply_all(dry(api, kube::DryRun::kServer),
                                 {object("v1", "Namespace", "fleet"), object("v1", "Secret", "key", "other")}, agent_part());
  ASSERT_FALSE(changes);
  EXPECT_EQ(changes.error().category, Category::kNotFound);
}

TEST(ApplyAll, AClientDryRunComparesWithWhatIsThere) {
  const auto api = FakeApi::make();
  Json live = object("v1", "ConfigMap", "settings", "default");
  live["metadata"]["labels"] = {{std::string(kPartLabel), "agent"}};
  live["data"] = {{"a", "1"}, {"theirs", "2"}};
  api->put(r::config_maps(), live);
  Json same = object("v1", "ConfigMap", "settings", "default");
  same["data"] = {{"a", "1"}};
  Json other = same;
  other["data"]["a"] = "2";
  const auto client = dry(api, kube::DryRun::kClient);
  const auto changes = apply_all(client, {same, other}, agent_part());
  ASSERT_TRUE(changes) << changes.error().message;
  EXPECT_EQ((*changes)[0].action, Action::kUnchanged);
  EXPECT_EQ((*changes)[1].action, Action::kConfigured);
  EXPECT_EQ(api->count("patch"), 0);
}

Json with_owned(Json live, const Json& fields) {
  live["metadata"]["managedFields"] = Json::array({{{"manager", "fleetadm"}, {"operation", "Apply"}, {"fieldsV1", fields}}});
  return live;
}

TEST(WouldChange, SeesWhatAnIntentNoLongerNames) {
  const Json live{{"data", {{"a", "1"}, {"b", "2"}}}};
  const Json intent{{"data", {{"a", "1"}}}};
  EXPECT_FALSE(would_change(live, intent, "fleetadm"));
  EXPECT_FALSE(would_change(with_owned(live, {{"f:data", {{"f:a", Json::object()}}}}), intent, "fleetadm"));
  const Json both{{"f:data", {{".", Json::object()}, {"f:a", Json::object()}, {"f:b", Json::object()}}}};
  EXPECT_TRUE(would_change(with_owned(live, both), intent, "fleetadm"));
  EXPECT_FALSE(would_change(with_owned(live, both), intent, "somebody"));
}

TEST(WouldChange, TakesFalseForNothingSaid) {
  const Json live{{"spec", {{"group", "example.org"}, {"served", true}}}};
  EXPECT_FALSE(would_change(live, {{"spec", {{"group", "example.org"}, {"preserve", false}}}}, "fleetadm"));
  EXPECT_TRUE(would_change(live, {{"spec", {{"group", "example.org"}, {"served", false}}}}, "fleetadm"));
  const Json owned{{"f:spec", {{"f:group", Json::object()}, {"f:preserve", Json::object()}}}};
  EXPECT_FALSE(would_change(with_owned(live, owned), {{"spec", {{"group", "example.org"}, {"preserve", false}}}}, "fleetadm"));
}

TEST(WouldChange, TakesDefaultsOfListElementsForWhatTheyAre) {
  const Json live{{"ports", {{{"containerPort", 8000}, {"protocol", "TCP"}}}}, {"list", {"x"}}};
  const Json intent{{"ports", {{{"containerPort", 8000}}}}, {"list", {"x"}}};
  const Json owned{{"f:ports", {{"k:{\"containerPort\":8000,\"protocol\":\"TCP\"}", {{"f:containerPort", Json::object()}}}}},
                   {"f:list", {{"v:\"x\"", Json::object()}}}};
  EXPECT_FALSE(would_change(with_owned(live, owned), intent, "fleetadm"));
  Json other = owned;
  other["f:list"]["v:\"y\""] = Json::object();
  EXPECT_TRUE(would_change(with_owned(live, other), intent, "fleetadm"));
}

}  // namespace
}  // namespace fleetadm::install
