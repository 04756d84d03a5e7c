#include "core/work/agent/work_source.h"

#include <mutex>
#include <utility>

#include "core/api/kinds.h"
#include "core/work/rules/names.h"
#include "kubeclient/events/recorder.h"

namespace fleetadm::work {
namespace {

constexpr const char* kByPlace = "place";

std::string place_key(const std::string& group, const std::string& ns, const std::string& name) {
  return group + "/" + ns + "/" + name;
}

std::vector<std::string> place_keys(const Json& work) {
  std::vector<std::string> keys;
  for (const Json& manifest : list_at(work, {"spec", "workload", "manifests"})) {
    keys.push_back(
        place_key(kube::parse_api_version(str(manifest, {"apiVersion"})).group, namespace_of(manifest), name_of(manifest)));
  }
  return keys;
}

/// The cache needs specs and conditions; kubectl's copy of the object would double it.
void drop_last_applied(Json& object) {
  erase_at(object, {"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"});
}

class HubWorkSource final : public WorkSource {
 public:
  HubWorkSource(controller::Manager& manager, const kube::Client& hub, std::string cluster, std::shared_ptr<Clock> clock)
      : hub_(hub), cluster_(std::move(cluster)), clock_(std::move(clock)) {
    kube::InformerOptions options;
    options.ns = cluster_;
    options.project = drop_last_applied;
    options.indexes.emplace_back(kByPlace, place_keys);
    works_ = manager.informer(hub, api::manifest_works(), std::move(options));
  }

  void on_change(std::function<void(const std::string& name)> changed) override {
    works_->on_event(
        [changed = std::move(changed)](kube::EventType, const kube::CachedPtr& before, const kube::CachedPtr& after) {
          changed(kube::split_key((after ? after : before)->key()).name);
        });
  }

  kube::CachedPtr get(const std::string& name) const override { return works_->get(kube::object_key(cluster_, name)); }

  std::vector<kube::CachedPtr> works_at(const std::string& group, const std::string& ns, const std::string& name) const override {
    return works_->by_index(kByPlace, place_key(group, ns, name));
  }

  Result<std::optional<Json>> read(const std::string& name) override { return hub_.find(api::manifest_works(), cluster_, name); }

  Result<Json> patch(const Json& before, const Json& after, std::string_view subresource) override {
    return patch_difference(hub_, api::manifest_works(), before, after, subresource);
  }

  void warn(const Json& work, std::string_view reason, std::string_view action, const std::string& note) override {
    Json regarding = work;  // as an item of a list it may lack its type
    regarding["apiVersion"] = kWorkApiVersion;
    regarding["kind"] = "ManifestWork";
    std::call_once(has_events_, [this] { events_.emplace(hub_, "work-agent", "work-agent-" + cluster_, clock_); });
    events_->event(regarding, cluster_, "Warning", std::string(reason), std::string(action), note);
  }

 private:
  const kube::Client hub_;
  const std::string cluster_;
  const std::shared_ptr<Clock> clock_;
  std::once_flag has_events_;
  std::optional<kube::Recorder> events_;  // most clusters have nothing to warn of
  std::shared_ptr<kube::Informer> works_;
};

}  // namespace

std::shared_ptr<WorkSource> works_on_hub(controller::Manager& manager, const kube::Client& hub, const std::string& cluster,
                                         std::shared_ptr<Clock> clock) {
  return std::make_shared<HubWorkSource>(manager, hub, cluster, std::move(clock));
}

Result<Json> patch_difference(const kube::Client& client, const kube::Resource& resource, const Json& before, const Json& after,
                              std::string_view subresource) {
  Json patch = kube::merge_diff(before, after);
  if (patch.empty()) return after;
  at_or_make(patch, {"metadata", "uid"}) = uid_of(before);
  at_or_make(patch, {"metadata", "resourceVersion"}) = resource_version_of(before);
  kube::WriteOptions options;
  options.field_manager = kDefaultFieldManager;
  options.subresource = std::string(subresource);
  return client.patch(resource, namespace_of(before), name_of(before), kube::PatchType::kMerge, patch, options);
}

}  // namespace fleetadm::work
