#include "core/work/agent/agent.h"

#include <utility>

#include "core/api/kinds.h"
#include "core/work/agent/engine.h"

namespace fleetadm::work {

void add_work_controllers(controller::Manager& manager, std::shared_ptr<WorkSource> works, const kube::Client& spoke,
                          const WorkAgentOptions& options) {
  auto engine = std::make_shared<Engine>(std::move(works), spoke, options);
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

  engine->works->on_change([queue = engine->work_queue](const std::string& name) { queue->add(name); });
  controller::Manager::enqueue_on(*engine->applied, engine->applied_queue);
}

void add_work_controllers(controller::Manager& manager, const kube::Client& hub, const kube::Client& spoke,
                          const WorkAgentOptions& options) {
  add_work_controllers(manager, works_on_hub(manager, hub, options.cluster, options.clock), spoke, options);
}

}  // namespace fleetadm::work
