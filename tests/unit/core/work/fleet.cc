#include "tests/unit/core/work/fleet.h"

#include <gtest/gtest.h>

#include "core/api/kinds.h"
#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"

namespace fleetadm::work::testing {
namespace {

kube::Response json_response(const char* text) { return {200, {{"content-type", "application/json"}}, text}; }

void serve_discovery(testkit::FakeApi& api) {
  const char* verbs = R"("verbs": ["create", "delete", "get", "list", "patch", "update", "watch"])";
  const auto resource = [&](const char* plural, const char* kind, bool namespaced) {
    return std::string("{\"name\": \"") + plural +
           "\", \"singularName\": \"\", \"namespaced\": " + (namespaced ? "true" : "false") + ", \"kind\": \"" + kind + "\", " +
           verbs + "}";
  };
  const auto list = [](const std::string& group_version, const std::string& resources) {
    return "{\"kind\": \"APIResourceList\", \"groupVersion\": \"" + group_version + "\", \"resources\": [" + resources + "]}";
  };
  api.route("/api", json_response(R"({"kind": "APIVersions", "versions": ["v1"]})"));
  api.route("/api/v1",
            json_response(list("v1", resource("configmaps", "ConfigMap", true) + "," + resource("secrets", "Secret", true) + "," +
                                         resource("namespaces", "Namespace", false))
                              .c_str()));
  api.route("/apis", json_response(R"({"kind": "APIGroupList", "groups": [{"name": "apps",
      "versions": [{"groupVersion": "apps/v1", "version": "v1"}], "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"}}]})"));
  api.route("/apis/apps/v1", json_response(list("apps/v1", resource("deployments", "Deployment", true)).c_str()));
}

void forget_identity(Json& value) {
  if (value.is_object()) {
    for (const char* key : {"resourceVersion", "creationTimestamp", "lastTransitionTime", "generation", "observedGeneration"})
      value.erase(key);
    if (value.contains("uid")) value["uid"] = "<uid>";
  }
  if (value.is_structured()) {
    for (Json& child : value) forget_identity(child);
  }
}

}  // namespace

Json parsed(const std::string& text) {
  Result<Json> value = parse_json(text);
  EXPECT_TRUE(value.has_value()) << text << (value ? "" : value.error().message);
  return value ? *value : Json();
}

Json work_of(const std::string& name, const std::string& manifests, const std::string& more) {
  Json work = parsed(
      R"({"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork", "metadata": {"namespace": "c1"}, "spec": {}})");
  work["metadata"]["name"] = name;
  work["spec"] = parsed(more);
  work["spec"]["workload"]["manifests"] = parsed(manifests);
  return work;
}

std::string config_map(const std::string& name, const std::string& value) {
  return R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": ")" + name +
         R"(", "namespace": "default"}, "data": {"v": ")" + value + "\"}}";
}

std::string deployment(const std::string& name, int replicas) {
  return R"({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": ")" + name +
         R"(", "namespace": "default"}, "spec": {"replicas": )" + std::to_string(replicas) + "}}";
}

Fleet::Fleet() : hub(testkit::FakeApi::make()), spoke(testkit::FakeApi::make()) {
  serve_discovery(*spoke);
  options.cluster = kCluster;
  options.hub_server = kHubServer;
}

void Fleet::start_agent(int die_after) {
  agent_.start(
      [this](controller::Manager& manager, const std::shared_ptr<kube::WriteGate>& gate) {
        const auto source = works ? works : works_on_hub(manager, hub->client(gate, "hub"), options.cluster, options.clock);
        add_work_controllers(manager, source, spoke->client(gate, "spoke"), options);
      },
      die_after);
}

void Fleet::stop_agent() { agent_.stop(); }

std::optional<Json> Fleet::work(const std::string& name) const { return hub->get(api::manifest_works(), kCluster, name); }

std::optional<Json> Fleet::applied_work(const std::string& name) const {
  return spoke->get(api::applied_manifest_works(), {}, applied_name(hub_hash(kHubServer), name));
}

std::optional<Json> Fleet::config_map(const std::string& name) const {
  return spoke->get(kube::resources::config_maps(), "default", name);
}

std::string Fleet::condition(const std::string& name, const std::string& type, const std::string& member) const {
  const std::optional<Json> found = work(name);
  if (!found) return "<no work>";
  const Json* condition = condition_in(list_at(*found, {"status", "conditions"}), type);
  return condition == nullptr ? "<none>" : str(*condition, {member});
}

bool Fleet::is_applied(const std::string& name) const {
  const std::optional<Json> found = work(name);
  if (!found) return false;
  const Json* condition = condition_in(list_at(*found, {"status", "conditions"}), "Applied");
  return condition != nullptr && str(*condition, {"status"}) == "True" &&
         num(*condition, {"observedGeneration"}) == num(*found, {"metadata", "generation"});
}

bool Fleet::is_gone(const std::string& name) const { return !work(name) && !applied_work(name); }

void Fleet::remove_work(const std::string& name) {
  const Result<Json> removed = hub->client().remove(api::manifest_works(), kCluster, name);
  ASSERT_TRUE(removed.has_value()) << removed.error().message;
}

Json Fleet::state() const {
  Json all = Json::object();
  const auto add = [&](const char* key, const std::vector<Json>& objects) {
    Json list = Json::array();
    for (Json object : objects) {
      forget_identity(object);
      list.push_back(std::move(object));
    }
    all[key] = std::move(list);
  };
  add("works", hub->all(api::manifest_works()));
  add("applied", spoke->all(api::applied_manifest_works()));
  add("configmaps", spoke->all(kube::resources::config_maps()));
  add("deployments", spoke->all(kube::resources::deployments()));
  return all;
}

bool eventually(const std::function<bool()>& done, Duration timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

void settle(const testkit::FakeApi& api, const testkit::FakeApi& other) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::size_t before = 0;
  for (int quiet = 0; quiet < 10;) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "there is no end of requests";
    const std::size_t now = api.calls().size() + other.calls().size();
    quiet = now == before ? quiet + 1 : 0;
    before = now;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace fleetadm::work::testing
