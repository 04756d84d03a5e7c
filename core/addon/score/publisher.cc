#include "core/addon/score/publisher.h"

#include <utility>

#include "core/api/kinds.h"
#include "kubeclient/base/log.h"

namespace fleetadm::addon {
namespace {

using controller::Outcome;

constexpr const char* kScoresKey = "scores";
constexpr Duration kGather = std::chrono::seconds(2);  // a rollout changes many pods

const kube::Resource& node_metrics() {
  static const kube::Resource resource{"metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", false};
  return resource;
}

/// Of nodes and pods no more is kept than is counted.
void keep_counted(Json& object) {
  Json kept = Json::object();
  for (const char* key : {"name", "namespace", "uid", "resourceVersion"}) {
    if (const Json* value = find(object, {"metadata", key})) at_or_make(kept, {"metadata", key}) = *value;
  }
  for (const auto& [section, key] :
       {std::pair("spec", "unschedulable"), std::pair("status", "allocatable"), std::pair("spec", "nodeName"),
        std::pair("status", "phase"), std::pair("spec", "overhead")}) {
    if (const Json* value = find(object, {section, key})) at_or_make(kept, {section, key}) = *value;
  }
  for (const char* list : {"containers", "initContainers"}) {
    Json containers = Json::array();
    for (const Json& container : list_at(object, {"spec", list})) {
      Json one = {{"resources", {{"requests", object_at(container, {"resources", "requests"})}}}};
      if (const Json* policy = find(container, {"restartPolicy"})) one["restartPolicy"] = *policy;
      containers.push_back(std::move(one));
    }
    if (!containers.empty()) at_or_make(kept, {"spec", list}) = std::move(containers);
  }
  object = std::move(kept);
}

class Publisher {
 public:
  Publisher(kube::Client hub, kube::Client spoke, PublisherOptions options, std::shared_ptr<kube::Informer> nodes,
            std::shared_ptr<kube::Informer> pods)
      : hub_(std::move(hub)),
        spoke_(std::move(spoke)),
        options_(std::move(options)),
        nodes_(std::move(nodes)),
        pods_(std::move(pods)) {}

  Result<Outcome> publish() const {
    FLEETADM_TRY(const Resources free, free_now());
    const Instant now = options_.clock->now();
    const Json wanted = score_status(free, options_.score, now);
    const auto& type = api::addon_placement_scores();
    FLEETADM_TRY(auto live, hub_.find(type, options_.cluster, options_.name));
    if (!live) {
      FLEETADM_TRY(live, hub_.create_or_get(type, options_.cluster,
                                            {{"apiVersion", type.api_version()},
                                             {"kind", type.kind},
                                             {"metadata", {{"name", options_.name}, {"namespace", options_.cluster}}}}));
    }
    if (!is_stale(object_at(*live, {"status"}), wanted, options_.score, now)) return Outcome{};
    const auto change = [&](Json& object) -> Status {
      Json status = wanted;
      const Json before = list_at(object, {"status", "conditions"});
      if (!before.empty()) status["conditions"][0]["lastTransitionTime"] = str(before[0], {"lastTransitionTime"});
      object["status"] = std::move(status);
      return {};
    };
    FLEETADM_CHECK(hub_.modify(type, options_.cluster, options_.name, change, "status"));
    log::info(2, kScoresKey, "published " + dump_json(list_at(wanted, {"scores"})));
    return Outcome{};
  }

 private:
  Result<Resources> free_now() const {
    Resources offered;
    for (const auto& node : nodes_->list()) add(offered, offered_by(node->decode()), 1);
    if (options_.source != ScoreSource::kRequests) {
      const auto measured = spoke_.list(node_metrics(), "");
      if (measured && !list_at(*measured, {"items"}).empty()) {
        for (const Json& metrics : list_at(*measured, {"items"})) {
          // What runs on a node that takes no pods takes nothing from the others.
          const auto node = nodes_->get(name_of(metrics));
          if (node && !flag(node->decode(), {"spec", "unschedulable"})) add(offered, used_by(metrics), -1);
        }
        return offered;
      }
      if (options_.source == ScoreSource::kMetrics)
        return measured ? fail(Category::kUnavailable, "metrics.k8s.io knows no nodes") : fail(measured.error());
    }
    for (const auto& pod : pods_->list()) {
      const Json held = pod->decode();
      const auto node = nodes_->get(str(held, {"spec", "nodeName"}));
      if (node && !flag(node->decode(), {"spec", "unschedulable"})) add(offered, held_by(held), -1);
    }
    return offered;
  }
  static void add(Resources& sum, const Resources& more, double sign) {
    sum.cpu += sign * more.cpu;
    sum.memory += sign * more.memory;
  }

  kube::Client hub_;
  kube::Client spoke_;
  PublisherOptions options_;
  std::shared_ptr<kube::Informer> nodes_;
  std::shared_ptr<kube::Informer> pods_;
};

}  // namespace

void add_score_publisher(controller::Manager& manager, const kube::Client& hub, const kube::Client& spoke,
                         const PublisherOptions& options) {
  kube::InformerOptions counted;
  counted.project = keep_counted;
  const auto nodes = manager.informer(spoke, kube::resources::nodes(), counted);
  const auto pods = manager.informer(spoke, kube::resources::pods(), counted);
  const auto publisher = std::make_shared<Publisher>(hub, spoke, options, nodes, pods);
  controller::ControllerOptions row;
  row.name = kScoresKey;
  const Duration refresh = options.score.refresh;
  const auto queue = manager.add(row, [publisher, refresh](const std::string&, const std::stop_token&) -> Result<Outcome> {
    const auto published = publisher->publish();
    if (!published) log::warn(kScoresKey, published.error().message);
    return Outcome{published ? refresh : std::min<Duration>(refresh, std::chrono::seconds(5))};
  });
  for (const auto& informer : {nodes, pods}) {
    informer->on_event(
        [queue](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr&) { queue->add_after(kScoresKey, kGather); });
  }
  queue->add(kScoresKey);
}

}  // namespace fleetadm::addon
