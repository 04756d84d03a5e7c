#include "core/work/agent/agent.h"

#include <utility>

#include "core/api/kinds.h"
#include "core/work/agent/engine.h"

namespace fleetadm::work {
namespace {

/// The cache needs specs and conditions; kubectl's copy of the object would double it.
void drop_last_applied(Json& object) {
  erase_at(object, {"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"});
}

}  // namespace

void add_work_controllers(controller::Manager& manager, const kube::Client& hub, const kube::Client& spoke,
                          const WorkAgentOptions& options) {
  auto engine = std::make_shared<Engine>(hub, spoke, options);
  kube::InformerOptions works;
  works.ns = options.cluster;
  works.project = drop_last_applied;
  works.indexes.emplace_back(kWorksByPlace, place_index_keys);
  engine->works = manager.informer(hub, api::manifest_works(), std::move(works));
  engine->applied = manager.informer(spoke, api::applied_manifest_works());

  // The reconcilers own the engine; it holds the queues, which hold nothing: no cycle.
  controller::ControllerOptions work_options;
  work_options.name = "work";
  work_options.workers = options.workers;
  engine->work_queue = manager.add(std::move(work_options), [engine](const std::string& key, std::stop_token stop) {
    return reconcile_work(*engine, key, std::move(stop));
  });
  controller::ControllerOptions applied_options;
  applied_options.name = "applied-work";
  applied_options.workers = options.workers;
  engine->applied_queue = manager.add(std::move(applied_options), [engine](const std::string& key, std::stop_token stop) {
    return reconcile_applied(*engine, key, std::move(stop));
  });
  engine->watch =
      std::make_unique<ObjectWatch>(spoke, [queue = engine->work_queue](const std::string& work) { queue->add(work); });

  engine->rights = std::make_unique<RightsWatch>(spoke, options.clock,
                                                 [queue = engine->work_queue](const std::string& work) { queue->add(work); });

  const auto name_of_key = [](const kube::CachedObject& object) {
    return std::vector<std::string>{kube::split_key(object.key()).name};
  };
  controller::Manager::enqueue_on(*engine->works, engine->work_queue, name_of_key);
  controller::Manager::enqueue_on(*engine->applied, engine->applied_queue, name_of_key);
}

}  // namespace fleetadm::work
