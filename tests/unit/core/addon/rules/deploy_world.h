// One add-on "hello" of cluster "c1" (and clusters that may host it) in memory: passes of the deploy rule are written as a hub
// writes them, until nothing changes.
#pragma once

#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "core/addon/rules/deploy_pass.h"
#include "core/addon/rules/names.h"
#include "core/controller/controller.h"

namespace fleetadm::addon::deploy_test {

using Names = std::set<std::string>;

inline Json manifest(const std::string& api_version, const std::string& kind, const std::string& name,
                     Json annotations = Json::object()) {
  Json made{{"apiVersion", api_version}, {"kind", kind}};
  made["metadata"] = Json{{"name", name}, {"namespace", "agents"}, {"annotations", std::move(annotations)}};
  return made;
}

inline Json config_map(const std::string& name, std::size_t bytes = 10) {
  Json made = manifest("v1", "ConfigMap", name);
  made["data"] = Json::object({{"v", std::string(bytes, 'x')}});
  return made;
}

inline Json on_hosting(Json made) {
  made["metadata"]["annotations"][std::string(kHostedLocationAnnotation)] = "hosting";
  return made;
}

inline Json hook(const std::string& name) {
  return manifest("batch/v1", "Job", name, Json::object({{std::string(kPreDeleteAnnotation), ""}}));
}

inline Json deployment(const std::string& name) { return manifest("apps/v1", "Deployment", name); }

class DeployWorld {
 public:
  explicit DeployWorld(bool hosted = false) {
    agent.config_check_enabled = true;
    agent.hosted_mode_enabled = true;
    agent.hosted_by_annotation = true;
    agent.prober = HealthProber::kWorkloads;
    add_cluster("c1");
    Json addon{{"apiVersion", "addon.open-cluster-management.io/v1beta1"}, {"kind", "ManagedClusterAddOn"}};
    addon["metadata"] = Json{{"name", "hello"}, {"namespace", "c1"}, {"uid", "u-1"}};
    if (hosted) at_or_make(addon, {"metadata", "annotations", kHostingClusterAnnotation}) = "host";
    addon["status"] = Json::object();
    objects.put(std::move(addon));
    set_condition("Configured", "True");
    set_condition("RegistrationApplied", "True");
  }

  void add_cluster(const std::string& name) {
    objects.put(Json{{"apiVersion", "cluster.open-cluster-management.io/v1"},
                     {"kind", "ManagedCluster"},
                     {"metadata", Json::object({{"name", name}})}});
  }

  Json addon() const {
    const ObjectPtr found = objects.get(managed_cluster_addons(), "c1", "hello");
    return found == nullptr ? Json() : *found;
  }
  void put_addon(Json changed) { objects.put(std::move(changed)); }
  void set_condition(const std::string& type, const std::string& status) {
    Json changed = addon();
    controller::set_condition(at_or_make(changed, {"status", "conditions"}), type, status, "Test", "", now);
    put_addon(std::move(changed));
  }
  void delete_addon() {
    Json changed = addon();
    at_or_make(changed, {"metadata", "deletionTimestamp"}) = format_time(now);
    put_addon(std::move(changed));
  }
  std::set<std::string> finalizers() const {
    const std::vector<std::string> list = string_list_at(addon(), {"metadata", "finalizers"});
    return {list.begin(), list.end()};
  }
  std::string reason(std::string_view type) const {
    const Json object = addon();
    const Json* condition = controller::find_condition(object, type);
    return condition == nullptr ? "" : str(*condition, {"status"}) + " " + str(*condition, {"reason"});
  }

  Json work(const std::string& ns, const std::string& name) const {
    const ObjectPtr found = objects.get(manifest_works(), ns, name);
    return found == nullptr ? Json() : *found;
  }
  /// "ns/name" of all works.
  std::set<std::string> works() const {
    std::set<std::string> names;
    for (const ObjectPtr& one : objects.list(manifest_works())) names.insert(namespace_of(*one) + "/" + name_of(*one));
    return names;
  }
  /// The names of a work's manifests.
  std::set<std::string> content(const std::string& ns, const std::string& name) const {
    std::set<std::string> names;
    const Json object = work(ns, name);
    for (const Json& one : list_at(object, {"spec", "workload", "manifests"})) names.insert(name_of(one));
    return names;
  }
  /// What the agent reports once all objects of a work are applied; hooks have run.
  void report(const std::string& ns, const std::string& name) {
    Json object = work(ns, name);
    ASSERT_FALSE(object.is_null()) << ns << "/" << name;
    Json& conditions = at_or_make(object, {"status", "conditions"});
    for (const char* type : {"Applied", "Available"}) controller::set_condition(conditions, type, "True", "Test", "", now);
    Json entries = Json::array();
    for (const Json& one : list_at(object, {"spec", "workload", "manifests"})) {
      const GroupResource type = type_of(one);
      Json values = Json::array();
      if (type.resource == "jobs") values.push_back(value("JobComplete", Json{{"type", "String"}, {"string", "True"}}));
      if (type.resource == "deployments") {
        for (const char* count : {"Replicas", "ReadyReplicas"})
          values.push_back(value(count, Json{{"type", "Integer"}, {"integer", 1}}));
      }
      entries.push_back(Json{
          {"resourceMeta",
           Json{{"group", type.group}, {"resource", type.resource}, {"namespace", namespace_of(one)}, {"name", name_of(one)}}},
          {"statusFeedback", Json::object({{"values", std::move(values)}})}});
    }
    at_or_make(object, {"status", "resourceStatus", "manifests"}) = std::move(entries);
    objects.put(std::move(object));
  }

  Pass pass(rollout::Semantics conduct = rollout::Semantics::kStrict) const {
    return deploy_pass(objects, "hello", "c1", agent, now, conduct);
  }
  /// Writes a pass.
  void write(const Pass& wanted) {
    for (const Json& object : wanted.changed) {
      if (type_of(object) == managed_cluster_addons() && is_deleting(object) &&
          list_at(object, {"metadata", "finalizers"}).empty()) {
        end_addon();
      } else {
        objects.put(object);
      }
    }
    for (const ObjectRef& gone : wanted.deleted) objects.remove(gone.type, gone.ns, gone.name);
  }
  /// Passes until one has nothing to write. The errors of the last one.
  std::vector<Error> settle() {
    for (int round = 0; round < 20; round++) {
      const Pass wanted = pass();
      if (wanted.changed.empty() && wanted.deleted.empty()) return wanted.errors;
      write(wanted);
    }
    ADD_FAILURE() << "the passes find no end";
    return {};
  }

  MemoryObjects objects;
  AgentDescription agent;
  Instant now = *parse_time("2026-03-01T12:00:00Z");

 private:
  static Json value(const std::string& name, Json field) { return Json{{"name", name}, {"fieldValue", std::move(field)}}; }
  /// What it owns goes with it.
  void end_addon() {
    objects.remove(managed_cluster_addons(), "c1", "hello");
    for (const ObjectPtr& one : objects.list(manifest_works(), "c1")) {
      if (!list_at(*one, {"metadata", "ownerReferences"}).empty()) objects.remove(manifest_works(), "c1", name_of(*one));
    }
  }
};

}  // namespace fleetadm::addon::deploy_test
