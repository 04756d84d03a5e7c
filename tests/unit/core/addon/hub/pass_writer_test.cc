// What passes want, against an API server in memory.
#include "core/addon/hub/pass_writer.h"

#include <atomic>
#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "tests/support/fake_api.h"

namespace fleetadm::addon {
namespace {

using testkit::FakeApi;

Json addon_in(const std::string& cluster) {
  return Json{{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
              {"kind", "ManagedClusterAddOn"},
              {"metadata", {{"name", "a"}, {"namespace", cluster}}},
              {"spec", Json::object()}};
}

struct WriterTest : testing::Test {
  const kube::Resource& type = api::managed_cluster_addons_v1beta1();
  std::shared_ptr<FakeApi> hub = FakeApi::make();
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(*parse_time("2026-11-23T12:00:00Z"));
  PassWriter writer{hub->client(), clock};
  MemoryObjects cache;

  Json stored(const std::string& cluster = "c1") const { return hub->get(type, cluster, "a").value_or(Json()); }
  void catch_up() { cache.put(stored()); }
  Result<controller::Outcome> write(const Json& object) {
    Pass pass;
    pass.changed.push_back(object);
    return writer.carry_out(cache, pass, {});
  }
};

TEST_F(WriterTest, CreatesWithStatusAndThenWritesNothing) {
  Json wanted = addon_in("c1");
  wanted["status"]["namespace"] = "x";
  ASSERT_TRUE(write(wanted));
  EXPECT_EQ(str(stored(), {"status", "namespace"}), "x");
  EXPECT_EQ(hub->write_count(), 2);
  catch_up();
  ASSERT_TRUE(write(stored()));
  EXPECT_EQ(hub->write_count(), 2);
}

TEST_F(WriterTest, MetadataAndSpecGoBeforeTheStatusEachWithItsVersion) {
  hub->put(type, addon_in("c1"));
  catch_up();
  Json wanted = stored();
  wanted["metadata"]["annotations"]["k"] = "v";
  wanted["status"]["namespace"] = "x";
  ASSERT_TRUE(write(wanted));
  const auto writes = hub->writes();
  ASSERT_EQ(writes.size(), 2U);
  EXPECT_EQ(writes[0].subresource, "");
  EXPECT_EQ(find(writes[0].body, {"status"}), nullptr);
  EXPECT_FALSE(resource_version_of(writes[0].body).empty());
  EXPECT_EQ(writes[1].subresource, "status");
  EXPECT_NE(resource_version_of(writes[1].body), resource_version_of(writes[0].body));
  EXPECT_EQ(annotation_of(stored(), "k"), "v");
  EXPECT_EQ(str(stored(), {"status", "namespace"}), "x");
}

TEST_F(WriterTest, WritesInTheVersionThatTheServerKeepsAndLosesNothing) {
  const auto registered = [](const char* driver) {
    return Json{{"type", "kubeClient"}, {"kubeClient", {{"driver", driver}, {"subject", {{"user", driver}}}}}};
  };
  Json wanted = addon_in("c1");
  const Json reference{{"group", "g"}, {"resource", "r"}, {"desiredConfig", {{"name", "n"}, {"specHash", "h"}}}};
  wanted["status"]["configReferences"] = Json::array({reference});
  ASSERT_TRUE(write(wanted));
  catch_up();
  Json more = stored();
  more["status"]["registrations"] = Json::array({registered("csr"), registered("token")});  // v1alpha1 has one driver for all
  ASSERT_TRUE(write(more));
  for (const testkit::ApiCall& call : hub->writes()) EXPECT_EQ(call.version, "v1alpha1") << call.verb << " " << call.subresource;
  EXPECT_EQ(stored()["status"], more["status"]);
  catch_up();
  const int before = hub->write_count();
  ASSERT_TRUE(write(stored()));
  EXPECT_EQ(hub->write_count(), before);
}

TEST_F(WriterTest, WhatHasChangedSinceIsNotOverwritten) {
  hub->put(type, addon_in("c1"));
  catch_up();
  Json wanted = stored();
  wanted["status"]["namespace"] = "x";
  Json theirs = stored();
  theirs["status"]["namespace"] = "theirs";
  hub->put(type, theirs);
  const auto outcome = write(wanted);  // the server refuses it
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->requeue_after);
  catch_up();
  hub->forget_calls();
  const auto late = write(wanted);  // the cache shows that it was read too early
  ASSERT_TRUE(late);
  EXPECT_TRUE(late->requeue_after);
  EXPECT_EQ(hub->write_count(), 0);
  EXPECT_EQ(str(stored(), {"status", "namespace"}), "theirs");
}

TEST_F(WriterTest, WhatACacheLeavesOutStays) {
  Json whole = addon_in("c1");
  whole["spec"]["configs"] = Json::array({{{"name", "n"}}});
  whole["status"] = {{"namespace", "x"}, {"healthCheck", {{"mode", "Lease"}}}};
  hub->put(type, whole);
  Json lean = stored();
  lean["spec"].erase("configs");
  lean["status"].erase("healthCheck");
  cache.put(lean);
  Json wanted = lean;
  wanted["metadata"]["labels"]["k"] = "v";
  wanted["status"]["namespace"] = "y";
  ASSERT_TRUE(write(wanted));
  EXPECT_EQ(label_of(stored(), "k"), "v");
  EXPECT_EQ(str(stored(), {"status", "namespace"}), "y");
  EXPECT_EQ(str(stored(), {"status", "healthCheck", "mode"}), "Lease");
  EXPECT_EQ(list_at(stored(), {"spec", "configs"}).size(), 1U);
  EXPECT_EQ(hub->write_count(), 2);
}

TEST_F(WriterTest, WaitsForACacheThatDoesNotShowItsOwnWrite) {
  ASSERT_TRUE(write(addon_in("c1")));
  const auto late = write(addon_in("c1"));
  ASSERT_TRUE(late);
  EXPECT_TRUE(late->requeue_after);
  EXPECT_EQ(hub->count("create"), 1);
  hub->erase(type, "c1", "a");  // never seen by the cache: it may be created again after a while
  clock->advance(std::chrono::seconds(6));
  ASSERT_TRUE(write(addon_in("c1")));
  EXPECT_EQ(hub->count("create"), 2);
}

TEST_F(WriterTest, AServersDefaultIsNotRemovedAgainAndAgain) {
  hub->on_request([](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (call.verb == "patch") const_cast<Json&>(call.body)["spec"]["mode"] = "Default";
    return std::nullopt;
  });
  Json object = addon_in("c1");
  object["spec"]["mode"] = "Default";
  hub->put(type, object);
  catch_up();
  Json wanted = stored();
  wanted["spec"].erase("mode");
  ASSERT_TRUE(write(wanted));
  const int after_first = hub->write_count();
  catch_up();
  Json again = stored();
  again["spec"].erase("mode");
  ASSERT_TRUE(write(again));
  EXPECT_EQ(hub->write_count(), after_first);
  again["spec"]["other"] = 1;  // anything else is sent
  ASSERT_TRUE(write(again));
  EXPECT_EQ(hub->write_count(), after_first + 1);
}

TEST_F(WriterTest, DeletesWhatTheCacheShowsByItsUid) {
  hub->put(type, addon_in("c1"));
  catch_up();
  Pass pass;
  pass.deleted.push_back({managed_cluster_addons(), "c1", "a"});
  pass.deleted.push_back({managed_cluster_addons(), "c2", "a"});  // not there
  ASSERT_TRUE(writer.carry_out(cache, pass, {}));
  ASSERT_EQ(hub->writes().size(), 1U);
  EXPECT_EQ(str(hub->writes()[0].body, {"preconditions", "uid"}), uid_of(*cache.get(managed_cluster_addons(), "c1", "a")));
  EXPECT_TRUE(stored().is_null());
}

TEST_F(WriterTest, TheLastFinalizerGoesWithoutAStatusWrite) {
  Json object = addon_in("c1");
  object["metadata"]["finalizers"] = Json::array({"x"});
  hub->put(type, object);
  ASSERT_TRUE(hub->client().remove(type, "c1", "a"));
  hub->forget_calls();
  catch_up();
  Json wanted = stored();
  wanted["metadata"].erase("finalizers");
  wanted["status"]["namespace"] = "x";
  ASSERT_TRUE(write(wanted));
  EXPECT_TRUE(stored().is_null());
  EXPECT_EQ(hub->write_count(), 1);
}

TEST_F(WriterTest, OneFailureDoesNotStopTheOthersAndErrorsOfThePassAreToldAfterTheWrites) {
  const auto forbidden = std::make_shared<std::atomic<bool>>(true);
  hub->on_request([forbidden](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    if (!*forbidden || call.verb != "create" || call.ns != "c1") return std::nullopt;
    return kube::Response{403, {}, R"({"kind":"Status","status":"Failure","reason":"Forbidden","code":403})"};
  });
  Pass pass;
  pass.changed = {addon_in("c1"), addon_in("c2")};
  pass.errors.push_back(fail(Category::kInvalid, "of the pass").value());
  const auto outcome = writer.carry_out(cache, pass, {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().category, Category::kAuth);
  EXPECT_TRUE(stored("c1").is_null());
  EXPECT_FALSE(stored("c2").is_null());
  cache.put(stored("c2"));
  *forbidden = false;
  pass.changed = {addon_in("c1")};
  const auto told = writer.carry_out(cache, pass, {});
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().message, "of the pass");
  EXPECT_FALSE(stored("c1").is_null());
}

}  // namespace
}  // namespace fleetadm::addon
