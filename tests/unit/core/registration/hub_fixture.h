// A hub in memory: the FakeApi, caches that are as old as a test wants them, and every registration controller on top.
#pragma once

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/api/kinds.h"
#include "core/registration/hub/acceptance.h"
#include "core/registration/hub/auto_accept.h"
#include "core/registration/hub/cleanup.h"
#include "core/registration/hub/cluster_defaulter.h"
#include "core/registration/hub/csr_controller.h"
#include "core/registration/hub/csr_driver.h"
#include "core/registration/hub/lease_controller.h"
#include "core/registration/hub/rbac.h"
#include "core/registration/hub/sets.h"
#include "tests/support/fake_api.h"

namespace fleetadm::registration::hub {

namespace res = kube::resources;
using controller::Outcome;

/// A cache that follows the server only when the test says so.
class SnapshotInformer final : public kube::Informer {
 public:
  using Keep = std::function<bool(const Json&)>;
  SnapshotInformer(std::shared_ptr<testkit::FakeApi> api, kube::Resource resource, Keep keep = {})
      : api_(std::move(api)), resource_(std::move(resource)), keep_(std::move(keep)) {}

  void refresh() {
    std::map<std::string, kube::CachedPtr, std::less<>> now;
    for (const Json& object : api_->all(resource_)) {
      if (keep_ && !keep_(object)) continue;
      const std::string key = kube::object_key(object);
      now.emplace(key, std::make_shared<kube::CachedObject>(key, object));
    }
    const auto before = std::exchange(objects_, now);
    for (const auto& [key, object] : now) {
      const auto known = before.find(key);
      if (known == before.end()) {
        tell(kube::EventType::kAdded, nullptr, object);
      } else if (known->second->resource_version() != object->resource_version()) {
        tell(kube::EventType::kModified, known->second, object);
      }
    }
    for (const auto& [key, object] : before) {
      if (now.find(key) == now.end()) tell(kube::EventType::kDeleted, object, nullptr);
    }
  }

  void on_event(kube::EventHandler handler) override { handlers_.push_back(std::move(handler)); }
  void on_synced(std::function<void()>) override {}
  void start() override {}
  void stop() override {}
  bool synced() const override { return true; }
  bool wait_synced(Duration, std::stop_token) const override { return true; }
  std::optional<Error> last_error() const override { return std::nullopt; }
  kube::CachedPtr get(std::string_view key) const override {
    const auto known = objects_.find(key);
    return known == objects_.end() ? nullptr : known->second;
  }
  std::vector<kube::CachedPtr> list() const override {
    std::vector<kube::CachedPtr> all;
    for (const auto& [key, object] : objects_) all.push_back(object);
    return all;
  }
  std::vector<kube::CachedPtr> by_index(std::string_view, std::string_view) const override { return {}; }
  const kube::Resource& resource() const override { return resource_; }

 private:
  void tell(kube::EventType type, const kube::CachedPtr& before, const kube::CachedPtr& after) const {
    for (const auto& handler : handlers_) handler(type, before, after);
  }

  std::shared_ptr<testkit::FakeApi> api_;
  kube::Resource resource_;
  Keep keep_;
  std::map<std::string, kube::CachedPtr, std::less<>> objects_;
  std::vector<kube::EventHandler> handlers_;
};

/// One life of the hub process on a server: caches and controllers, gone when it "crashes".
class HubLife {
 public:
  /// After `writes_left` writes every further one fails, as if the process had been killed. Negative: no limit.
  HubLife(std::shared_ptr<testkit::FakeApi> server, std::shared_ptr<FakeClock> time, int writes_left = -1,
          std::set<std::string> auto_approve = {})
      : api(std::move(server)), clock(std::move(time)), writes_left_(writes_left) {
    auto gate = std::make_shared<kube::WriteGate>();
    gate->before = [this](kube::Method, std::string_view) -> Status {
      if (dead_ || writes_left_ == 0) {
        dead_ = true;
        return fail(Category::kCancelled, "killed");
      }
      if (writes_left_ > 0) --writes_left_;
      ++written_;
      return {};
    };
    tools = {api->client(gate), clock, {}};
    const auto labelled = [](const Json& o) { return find(o, {"metadata", "labels", api::kClusterNameLabel}) != nullptr; };
    clusters = make(api::managed_clusters());
    sets = make(api::managed_cluster_sets());
    bindings = make(api::managed_cluster_set_bindings());
    namespaces = make(res::namespaces(), labelled);
    cluster_roles = make(res::cluster_roles(), labelled);
    cluster_role_bindings = make(res::cluster_role_bindings(), labelled);
    role_bindings = make(res::role_bindings(), labelled);
    leases = make(res::leases(), [](const Json& o) { return name_of(o) == api::kClusterLease; });
    csrs = make(res::certificate_signing_requests(), labelled);
    sightings = std::make_shared<LeaseObservations>(clock);
    leases->on_event([this](kube::EventType type, const kube::CachedPtr& before, const kube::CachedPtr& after) {
      sightings->observe(type, after ? *after : *before);
    });
    clusters->on_event([this](kube::EventType type, const kube::CachedPtr& before, const kube::CachedPtr& after) {
      std::vector<std::string> touched;
      labels->observe(type, after ? *after : *before, touched);
      names_.insert((after ? after : before)->key());
    });
    drivers.add(std::make_shared<CsrDriver>(csrs, auto_approve));
    const auto grants = grants_of(drivers);
    acceptance = std::make_unique<AcceptanceController>(tools, clusters, grants);
    roles = std::make_unique<ClusterRolesController>(tools, clusters, cluster_roles);
    cluster_defaulter = std::make_unique<ClusterDefaulter>(tools, clusters);
    cleanup = std::make_unique<CleanupController>(tools, clusters, grants);
    lease = std::make_unique<LeaseController>(tools, clusters, leases, sightings, nullptr);
    standard = std::make_unique<StandardSetsController>(tools, sets);
    set_status = std::make_unique<SetStatusController>(tools, sets, labels);
    binding_status = std::make_unique<BindingStatusController>(tools, bindings, sets);
    auto_accept = std::make_unique<AutoAcceptController>(tools, clusters, drivers, std::string(api::kHubNamespace));
    csr = std::make_unique<CsrController>(tools, csrs, nullptr, std::move(auto_approve));
    refresh();
  }

  void refresh() {
    for (const auto& cache : caches_) cache->refresh();
  }

  std::shared_ptr<const Grants> grants_of(const RegistrationDrivers& which) const {
    return std::make_shared<const Grants>(tools, Grants::Caches{namespaces, cluster_roles, cluster_role_bindings, role_bindings},
                                          std::string(api::kHubNamespace), which);
  }

  /// One look of every controller at every key; errors are as good as a crash in between.
  void round() {
    refresh();
    for (const auto& role : api->all(res::cluster_roles())) {
      if (const auto label = label_of(role, api::kClusterNameLabel); !label.empty()) names_.insert(label);
    }
    for (const auto& name : names_) {
      (void)cluster_defaulter->reconcile(name, {});
      (void)auto_accept->reconcile(name, {});
      (void)acceptance->reconcile(name, {});
      (void)lease->reconcile(name, {});
      (void)cleanup->reconcile(name, {});
    }
    (void)roles->reconcile("all", {});
    for (const char* set : {"default", "global"}) (void)standard->reconcile(set, {});
    for (const auto& set : sets->list()) (void)set_status->reconcile(set->key(), {});
    for (const auto& binding : bindings->list()) (void)binding_status->reconcile(binding->key(), {});
    for (const auto& one : csrs->list()) (void)csr->reconcile(one->key(), {});
  }

  /// Rounds until one writes nothing. False: it never settles (or was killed).
  bool settle(const std::function<void()>& between = {}) {
    for (int i = 0; i < 40 && !dead_; ++i) {
      const int before = api->write_count();
      round();
      if (dead_) return false;
      if (api->write_count() == before) return true;
      if (between) between();
    }
    return false;
  }
  bool killed() const { return dead_; }
  /// How many writes this life has made.
  int written() const { return written_; }

  std::shared_ptr<testkit::FakeApi> api;
  std::shared_ptr<FakeClock> clock;
  Tools tools{api->client(), nullptr, {}};
  std::shared_ptr<SnapshotInformer> clusters, sets, bindings, namespaces, cluster_roles, cluster_role_bindings, role_bindings,
      leases, csrs;
  std::shared_ptr<LeaseObservations> sightings;
  std::shared_ptr<ClusterLabels> labels = std::make_shared<ClusterLabels>();
  RegistrationDrivers drivers;
  std::unique_ptr<AcceptanceController> acceptance;
  std::unique_ptr<ClusterRolesController> roles;
  std::unique_ptr<ClusterDefaulter> cluster_defaulter;
  std::unique_ptr<CleanupController> cleanup;
  std::unique_ptr<LeaseController> lease;
  std::unique_ptr<StandardSetsController> standard;
  std::unique_ptr<SetStatusController> set_status;
  std::unique_ptr<BindingStatusController> binding_status;
  std::unique_ptr<CsrController> csr;
  std::unique_ptr<AutoAcceptController> auto_accept;

 private:
  std::shared_ptr<SnapshotInformer> make(const kube::Resource& resource, SnapshotInformer::Keep keep = {}) {
    caches_.push_back(std::make_shared<SnapshotInformer>(api, resource, std::move(keep)));
    return caches_.back();
  }

  int writes_left_;
  int written_ = 0;
  bool dead_ = false;
  std::vector<std::shared_ptr<SnapshotInformer>> caches_;
  std::set<std::string> names_;
};

class HubTest : public testing::Test {
 public:
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(*parse_time("2026-01-01T00:00:00Z"));
  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make(clock);

  Json put_cluster(const std::string& name, bool accepted) {
    return api->put(api::managed_clusters(), {{"apiVersion", "cluster.open-cluster-management.io/v1"},
                                              {"kind", "ManagedCluster"},
                                              {"metadata", {{"name", name}}},
                                              {"spec", {{"hubAcceptsClient", accepted}, {"leaseDurationSeconds", 60}}}});
  }
  Json cluster(const std::string& name) const { return api->get(api::managed_clusters(), {}, name).value_or(Json()); }
  void accept(const std::string& name, bool accepted = true) {
    Json object = cluster(name);
    at_or_make(object, {"spec", "hubAcceptsClient"}) = accepted;
    api->put(api::managed_clusters(), object);
  }
  void start_deletion(const kube::Resource& resource, const std::string& ns, const std::string& name) {
    ASSERT_TRUE(api->client().remove(resource, ns, name));
  }
  /// What the agent does: renew the lease.
  void renew(const std::string& name, Instant time) {
    Json lease = *api->get(res::leases(), name, "managed-cluster-lease");
    at_or_make(lease, {"spec", "renewTime"}) = format_micro_time(time);
    api->put(res::leases(), lease);
  }
  /// What the agent does: say whether the cluster is available.
  void set_available(const std::string& name, const char* status) {
    Json object = cluster(name);
    controller::set_condition(at_or_make(object, {"status", "conditions"}), "ManagedClusterConditionAvailable", status,
                              "ManagedClusterAvailable", "", clock->now());
    api->put(api::managed_clusters(), object);
  }
  Json put_work(const std::string& ns, const std::string& name,
                const std::string& finalizer = "cluster.open-cluster-management.io/manifest-work-cleanup") {
    return api->put(api::manifest_works(), {{"apiVersion", "work.open-cluster-management.io/v1"},
                                            {"kind", "ManifestWork"},
                                            {"metadata", {{"name", name}, {"namespace", ns}, {"finalizers", {finalizer}}}},
                                            {"spec", Json::object()}});
  }
  /// What the agent does for works that are being deleted.
  void agent_finishes_works() {
    for (const Json& work : api->all(api::manifest_works())) {
      if (is_deleting(work)) api->erase(api::manifest_works(), namespace_of(work), name_of(work));
    }
  }
  bool exists(const kube::Resource& resource, const std::string& ns, const std::string& name) const {
    return api->get(resource, ns, name).has_value();
  }
  /// Everything on the server, without what numbers and names of one run decide.
  std::string state() const {
    Json all = Json::object();
    for (const kube::Resource* type :
         {&api::managed_clusters(), &api::managed_cluster_sets(), &api::managed_cluster_set_bindings(), &api::manifest_works(),
          &res::namespaces(), &res::cluster_roles(), &res::cluster_role_bindings(), &res::role_bindings(), &res::leases(),
          &res::certificate_signing_requests()}) {
      Json objects = Json::array();
      for (Json object : api->all(*type)) {
        for (const char* volatile_part : {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"}) {
          erase_at(object, {"metadata", volatile_part});
        }
        if (Json* finalizers = const_cast<Json*>(find(object, {"metadata", "finalizers"})))
          std::sort(finalizers->begin(), finalizers->end());
        if (Json* conditions = const_cast<Json*>(find(object, {"status", "conditions"}))) {
          std::sort(conditions->begin(), conditions->end(),
                    [](const Json& a, const Json& b) { return str(a, {"type"}) < str(b, {"type"}); });
        }
        objects.push_back(std::move(object));
      }
      all[type->plural] = std::move(objects);
    }
    return all.dump(1);
  }
};

inline std::string hub_condition(const Json& object, const char* type, const char* member = "status") {
  const Json* found = controller::find_condition(object, type);
  return found != nullptr ? str(*found, {member}) : "";
}

class HubControllersTest : public HubTest {
 public:
  /// An accepted, available cluster whose agent has just renewed.
  void join(HubLife& hub, const std::string& name) {
    put_cluster(name, true);
    ASSERT_TRUE(hub.settle());
    clock->advance(std::chrono::seconds(1));
    renew(name, clock->now());
    set_joined(name);
    set_available(name, "True");
    ASSERT_TRUE(hub.settle());
  }
  void set_joined(const std::string& name) {
    Json object = cluster(name);
    controller::set_condition(object["status"]["conditions"], "ManagedClusterJoined", "True", "ManagedClusterJoined", "joined",
                              clock->now());
    api->put(api::managed_clusters(), object);
  }
};

}  // namespace fleetadm::registration::hub
