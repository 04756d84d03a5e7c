#include "core/addon/hub/deploy_controller.h"

#include <iterator>
#include <utility>

#include "core/addon/hub/addon_controllers.h"
#include "core/addon/hub/live_works.h"
#include "core/addon/hub/references.h"
#include "core/addon/rules/lifecycle.h"
#include "core/addon/rules/template_agent.h"

namespace fleetadm::addon {
namespace {

constexpr rollout::Semantics kConduct = rollout::Semantics::kStrict;

bool is_work(const Json& object) { return type_of(object) == manifest_works(); }

/// Takes the works of one side out of what a pass wants to write.
Pass take_works(Pass& pass, Side side, const Json& addon) {
  Pass taken;
  std::vector<Json> left;
  for (Json& object : pass.changed) {
    const bool here = is_work(object) && (namespace_of(object) == namespace_of(addon)) == (side == Side::kManaged);
    (here ? taken.changed : left).push_back(std::move(object));
  }
  pass.changed = std::move(left);
  return taken;
}

}  // namespace

std::set<std::string> DeployController::created_before(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto known = created_.find(key);
  return known == created_.end() ? std::set<std::string>{} : known->second;
}

void DeployController::note_created(const std::string& key, const Pass& pass) {
  std::set<std::string> created;
  for (const Json& object : pass.changed) {
    if (is_work(object) && resource_version_of(object).empty()) created.insert(kube::object_key(object));
  }
  const std::lock_guard lock(mutex_);
  if (created.empty()) {
    created_.erase(key);
  } else {
    created_[key] = std::move(created);
  }
}

Result<controller::Outcome> DeployController::reconcile(const std::string& key, const std::stop_token& stop) {
  LiveWorks objects(cache_);
  FLEETADM_CHECK(objects.read(hub_.with_stop(stop), created_before(key)));
  const kube::ObjectName split = kube::split_key(key);
  const ObjectPtr addon = objects.get(managed_cluster_addons(), split.ns, split.name);
  const std::optional<AgentDescription> agent = addon ? describe_(objects, *addon) : std::nullopt;
  Pass pass;
  if (agent) pass = deploy_pass(objects, split.name, split.ns, *agent, clock_->now(), kConduct);
  note_created(key, pass);
  if (!agent) return controller::Outcome{};
  return write(objects, *addon, std::move(pass), stop);
}

/// The works first, so that the add-on says which of them cannot be written; but a finalizer is there before them.
Result<controller::Outcome> DeployController::write(const ObjectReader& objects, const Json& addon, Pass pass,
                                                    const std::stop_token& stop) {
  if (!pass.changed.empty() && !is_work(pass.changed.front())) return writer_->carry_out(objects, pass, stop);
  std::optional<Duration> again;
  for (const Side side : {Side::kManaged, Side::kHosting}) {
    const Pass works = take_works(pass, side, addon);
    if (works.changed.empty()) continue;
    const Result<controller::Outcome> written = writer_->carry_out(objects, works, stop);
    if (!written && written.error().category == Category::kCancelled) return written;
    if (written) {
      if (written->requeue_after) again = written->requeue_after;
      continue;
    }
    const Json& wanted = pass.changed.empty() ? addon : pass.changed.front();
    pass.changed = {with_failed_write(addon, wanted, side, written.error(), clock_->now())};
    pass.errors.push_back(written.error());
  }
  FLEETADM_TRY(controller::Outcome outcome, writer_->carry_out(objects, pass, stop));
  if (again && !outcome.requeue_after) outcome.requeue_after = again;
  return outcome;
}

void add_deploy_controllers(controller::Manager& manager, const kube::Client& hub, const AddonHub& addons) {
  const std::shared_ptr<CachedObjects> cache = addons.objects;
  const std::shared_ptr<PassWriter> writer = addons.writer;
  const auto deploy = std::make_shared<DeployController>(
      *cache, hub, writer, addons.clock,
      [](const ObjectReader& objects, const Json& addon) { return template_agent(objects, addon, kConduct); });
  controller::ControllerOptions options;
  options.name = "addon-deploy";
  options.workers = 4;
  const auto queue = manager.add(
      std::move(options), [deploy, cache](const std::string& key, std::stop_token stop) { return deploy->reconcile(key, stop); });
  const auto references = std::make_shared<References>();
  cache->informer(managed_cluster_addons())
      ->on_event([queue, references](kube::EventType, const kube::CachedPtr& before, const kube::CachedPtr& after) {
        const std::string key = (after ? after : before)->key();
        references->set(key, after ? objects_read_by(after->decode()) : std::set<std::string>{});
        queue->add(key);
      });
  controller::Manager::enqueue_on(*cache->informer(manifest_works()), queue,
                                  [](const kube::CachedObject& work) { return addon_keys_of_work(work.decode()); });
  for (const GroupResource* type : {&managed_clusters(), &addon_templates(), &addon_deployment_configs()}) {
    controller::Manager::enqueue_on(*cache->informer(*type), queue, [references, type](const kube::CachedObject& object) {
      return references->readers_of(reference_key(*type, object.key()));
    });
  }

  controller::ControllerOptions lifecycle_options;
  lifecycle_options.name = "addon-lifecycle";
  const auto lifecycle = manager.add(std::move(lifecycle_options), [cache, writer](const std::string& key, std::stop_token stop) {
    return writer->carry_out(*cache, lifecycle_pass(*cache, key), stop);
  });
  controller::Manager::enqueue_on(*cache->informer(cluster_management_addons()), lifecycle);
}

}  // namespace fleetadm::addon
