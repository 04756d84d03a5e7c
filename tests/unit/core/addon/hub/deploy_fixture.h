// The deploy controller on a server in memory: caches that are as old as the server, agents that report what they are given.
#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/addon/hub/addon_controller.h"
#include "core/addon/hub/lean_objects.h"
#include "core/addon/rules/names.h"
#include "core/api/kinds.h"
#include "tests/support/fake_api.h"

namespace fleetadm::addon::deploy_test {

/// One life of the hub's process; after `writes_left` writes (negative: no limit) none is sent any more.
class DeployLife {
 public:
  DeployLife(std::shared_ptr<testkit::FakeApi> server, const std::shared_ptr<Clock>& clock, const AgentDescription& agent,
             int writes_left = -1)
      : api_(std::move(server)), left_(writes_left) {
    const auto gate = std::make_shared<kube::WriteGate>();
    gate->before = [this](kube::Method, std::string_view) -> Status {
      if (killed_ || left_ == 0) {
        killed_ = true;
        return fail(Category::kCancelled, "killed");
      }
      if (left_ > 0) left_--;
      written_++;
      return {};
    };
    const kube::Client client = api_->client(gate);
    controller_ = std::make_unique<AddonController>(
        client, AddonController::Parts{cache_, std::make_shared<PassWriter>(client, clock), std::make_shared<ConfigDecisions>(),
                                       [](const GroupResource&) { return true; },
                                       [&agent](const ObjectReader&, const Json&) { return agent; }, clock});
  }
  DeployLife(const DeployLife&) = delete;
  DeployLife& operator=(const DeployLife&) = delete;

  /// Passes with fresh caches until one writes nothing, or fails again and again. False: there is no end.
  bool settle() {
    int failed = 0;
    for (int round = 0; round < 30 && !killed_; round++) {
      const int before = written_;
      refresh();
      last_ = controller_->reconcile("c1/hello", {});
      failed = last_ ? 0 : failed + 1;
      if (failed > 3 || (written_ == before && !(last_ && last_->requeue_after))) return true;
    }
    return killed_;
  }
  bool killed() const { return killed_; }
  int written() const { return written_; }
  const Result<controller::Outcome>& last() const { return last_; }

 private:
  /// As the hub's caches: of the works those with an add-on's label.
  void refresh() {
    *cache_ = MemoryObjects();
    for (const kube::Resource* type : {&api::managed_cluster_addons_v1beta1(), &api::managed_clusters()}) {
      for (Json& object : api_->all(*type)) cache_->put(std::move(object));
    }
    for (Json& work : api_->all(api::manifest_works())) {
      if (find(work, {"metadata", "labels", api::kAddonNameLabel}) == nullptr) continue;
      keep_of_work(work);
      cache_->put(std::move(work));
    }
  }

  std::shared_ptr<testkit::FakeApi> api_;
  int left_;
  int written_ = 0;
  bool killed_ = false;
  std::shared_ptr<MemoryObjects> cache_ = std::make_shared<MemoryObjects>();
  std::unique_ptr<AddonController> controller_;
  Result<controller::Outcome> last_;
};

/// The add-on "hello" of cluster "c1", which cluster "host" can host.
class DeployHub : public testing::Test {
 protected:
  DeployHub() { reset(); }

  void reset() {
    clock = std::make_shared<FakeClock>(*parse_time("2026-03-01T12:00:00Z"));
    api = testkit::FakeApi::make(clock);
    ran.clear();
    agent = AgentDescription{};
    agent.hosted_mode_enabled = true;
    agent.hosted_by_annotation = true;
    agent.config_check_enabled = true;
    agent.prober = HealthProber::kWorkloads;
    for (const char* name : {"c1", "host"}) {
      api->put(api::managed_clusters(), Json{{"apiVersion", "cluster.open-cluster-management.io/v1"},
                                             {"kind", "ManagedCluster"},
                                             {"metadata", Json::object({{"name", name}})}});
    }
  }

  static Json object(const std::string& api_version, const std::string& kind, const std::string& name, bool hosted = false) {
    Json made{{"apiVersion", api_version}, {"kind", kind}};
    made["metadata"] = Json{{"name", name}, {"namespace", "agents"}, {"annotations", Json::object()}};
    if (hosted) made["metadata"]["annotations"][std::string(kHostedLocationAnnotation)] = "hosting";
    return made;
  }
  static Json hook(const std::string& name, bool hosted = false) {
    Json made = object("batch/v1", "Job", name, hosted);
    made["metadata"]["annotations"][std::string(kPreDeleteAnnotation)] = "";
    return made;
  }

  void enable(bool hosted) {
    Json addon{{"apiVersion", "addon.open-cluster-management.io/v1beta1"}, {"kind", "ManagedClusterAddOn"}};
    addon["metadata"] = Json{{"name", "hello"}, {"namespace", "c1"}};
    if (hosted) addon["metadata"]["annotations"] = Json::object({{std::string(kHostingClusterAnnotation), "host"}});
    for (const char* type : {"Configured", "RegistrationApplied"})
      controller::set_condition(at_or_make(addon, {"status", "conditions"}), type, "True", "Test", "", clock->now());
    configure(std::move(addon), "1");
  }
  /// What the configuration controller writes with a new configuration.
  void configure(Json addon, const std::string& hash) {
    Json reference{{"group", "addon.open-cluster-management.io"}, {"resource", "addontemplates"}};
    reference["desiredConfig"] = Json{{"name", "t"}, {"specHash", hash}};
    at_or_make(addon, {"status", "configReferences"}) = Json::array({std::move(reference)});
    api->put(api::managed_cluster_addons_v1beta1(), std::move(addon));
  }
  std::optional<Json> addon() const { return api->get(api::managed_cluster_addons_v1beta1(), "c1", "hello"); }
  void disable() {
    if (!addon()) return;
    EXPECT_TRUE(api->client().remove(api::managed_cluster_addons_v1beta1(), "c1", "hello"));
  }

  /// Agents apply what there is and run hooks, and the garbage collector removes what has no owner any more.
  void agents() {
    for (Json& work : api->all(api::manifest_works())) {
      if (!list_at(work, {"metadata", "ownerReferences"}).empty() && !addon()) {
        api->erase(api::manifest_works(), namespace_of(work), name_of(work));
        continue;
      }
      report(std::move(work));
    }
  }

  /// Everything there is, without what differs from run to run.
  std::string state() const {
    std::string text;
    for (const kube::Resource* type : {&api::managed_cluster_addons_v1beta1(), &api::manifest_works()}) {
      for (Json& one : api->all(*type)) {
        for (const char* member : {"uid", "resourceVersion", "generation", "creationTimestamp", "ownerReferences"})
          erase_at(one, {"metadata", member});
        text += dump_json(one) + "\n";
      }
    }
    for (const std::string& name : ran) text += name + " has run\n";
    return text;
  }
  std::set<std::string> works() const {
    std::set<std::string> names;
    for (const Json& work : api->all(api::manifest_works())) names.insert(kube::object_key(work));
    return names;
  }

  std::shared_ptr<FakeClock> clock;
  std::shared_ptr<testkit::FakeApi> api;
  AgentDescription agent;
  std::set<std::string> ran;  // hooks

 private:
  void report(Json work) {
    const Json before = work;
    Json& conditions = at_or_make(work, {"status", "conditions"});
    for (const char* type : {"Applied", "Available"})
      controller::set_condition(conditions, type, "True", "Test", "", clock->now());
    Json entries = Json::array();
    for (const Json& one : list_at(work, {"spec", "workload", "manifests"})) {
      const GroupResource type = type_of(one);
      Json values = Json::array();
      if (type.resource == "jobs") {
        ran.insert(name_of(one));
        values.push_back(Json{{"name", "JobComplete"}, {"fieldValue", Json{{"type", "String"}, {"string", "True"}}}});
      }
      Json meta{{"group", type.group}, {"resource", type.resource}};
      meta["namespace"] = namespace_of(one);
      meta["name"] = name_of(one);
      entries.push_back(Json::object({{"resourceMeta", meta}, {"statusFeedback", Json::object({{"values", values}})}}));
    }
    at_or_make(work, {"status", "resourceStatus", "manifests"}) = std::move(entries);
    if (work != before) api->put(api::manifest_works(), std::move(work));
  }
};

}  // namespace fleetadm::addon::deploy_test
