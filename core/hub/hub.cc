#include "core/hub/hub.h"

#include <array>
#include <optional>
#include <unistd.h>

#include "core/addon/hub/addon_controllers.h"
#include "core/addon/webhook/server.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "core/controller/memory.h"
#include "core/controller/worker_pool.h"
#include "core/hub/certificates.h"
#include "core/msa/hub/profile_copies.h"
#include "core/placement/hub/controller.h"
#include "core/proxy/hub/impersonation_controller.h"
#include "core/push/pusher.h"
#include "core/registration/hub/profiles.h"
#include "core/registration/hub/registration_hub.h"
#include "core/work/hub/replica_set.h"
#include "core/work/hub/ttl_controller.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/log.h"
#include "kubeclient/events/recorder.h"
#include "kubeclient/lease/leader.h"

namespace fleetadm::hub {
namespace {

constexpr const char* kName = "hub";
constexpr int kPushThreads = 24;
constexpr auto kTidying = std::chrono::seconds(2);  // of memory, while a burst goes on
// Reporters of events as upstream's own hub names them: people filter by these.
constexpr const char* kRegistrationReporter = "registration-controller";

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

/// A hub without our types would only fill its log: say at once what is missing.
Status check_types(const kube::Client& client) {
  for (const kube::Resource* type :
       {&api::managed_clusters(), &api::managed_cluster_sets(), &api::managed_cluster_set_bindings()}) {
    kube::ListOptions one;
    one.limit = 1;
    const auto page = client.list_each(*type, {}, one, [](Json&&) -> Status { return fail(Category::kCancelled, "enough"); });
    if (page || page.error().category != Category::kNotFound) continue;
    return fail(Category::kNotFound, "the hub does not serve " + type->qualified() + " " + type->version,
                "run `fleetadm init` against this cluster first");
  }
  return {};
}

}  // namespace

namespace {

/// `config`: how the client reaches the hub, where that is known.
Status run(const kube::Client& client, const kube::RestConfig* config, const HubOptions& options, std::stop_token stop) {
  FLEETADM_CHECK(check_types(client.with_stop(stop)));

  controller::Manager::Options manager_options;
  manager_options.threads = options.threads;
  manager_options.health_address = options.health_address;
  manager_options.clock = options.clock;
  manager_options.pool = std::make_shared<controller::WorkerPool>(static_cast<std::size_t>(options.threads));
  controller::Manager::Options part_options = manager_options;
  part_options.health_address.clear();
  controller::Manager manager(manager_options);

  const std::string host = host_name();
  const auto recorder = std::make_shared<kube::Recorder>(client, kRegistrationReporter,
                                                         std::string(kRegistrationReporter) + "-" + host, options.clock);
  registration::hub::RegistrationOptions registration;
  registration.hub_namespace = options.ns;
  registration.auto_approve_users = {options.auto_approve_users.begin(), options.auto_approve_users.end()};
  registration.csr = options.csr;
  registration.dials_members = options.push;
  registration.awsirsa = options.awsirsa;
  registration.labels = options.labels;
  registration.clock = options.clock;
  registration.recorder = recorder;
  FLEETADM_CHECK(registration::hub::add_registration_controllers(manager, client, registration));
  work::add_replica_set_controller(manager, client, options.clock);
  work::add_finished_works_controller(manager, client, options.clock);
  std::string hub_id;  // of one that dials members
  if (options.push) {
    FLEETADM_TRY(const Json system, client.with_stop(stop).get(kube::resources::namespaces(), "", "kube-system"));
    hub_id = uid_of(system);
  }
  proxy::add_impersonation_controller(manager, client, hub_id);

  placement::add_placement_controller(manager, client, options.clock);
  // Of their own: where a type of theirs cannot be read, their caches never fill, and all else goes on.
  controller::Manager addons(part_options);
  manager.count_too(addons);
  if (const Status added = addon::add_addon_controllers(addons, client, {options.ns, options.clock, recorder}); !added) {
    if (added.error().category != Category::kNotFound) return added;
    log::warn(kName, added.error().message + ": it goes on without add-ons (" + added.error().hint + ")");
  }

  // The kinds of each may come later, or never: profiles need no accounts.
  std::optional<controller::Manager> profiles;
  std::optional<controller::Manager> copies;
  if (options.cluster_profiles) {
    profiles.emplace(part_options);
    manager.count_too(*profiles);
    registration::hub::add_profiles(*profiles, client);
    copies.emplace(part_options);
    manager.count_too(*copies);
    msa::add_profile_copies(*copies, client, recorder);
  }

  // Of its own, with threads of its own: a member that hangs holds up nothing else.
  std::optional<controller::Manager> push;
  std::shared_ptr<push::Replicas> replicas;  // where there may be more than one
  const std::string identity = options.identity.empty() ? host + "_" + random_suffix(8) : options.identity;
  if (options.push) {
    controller::Manager::Options push_options = part_options;
    push_options.pool = std::make_shared<controller::WorkerPool>(std::size_t{kPushThreads});
    push_options.threads = kPushThreads;
    push.emplace(push_options);
    manager.count_too(*push);
    push::PushOptions members;
    members.hub_ns = options.ns;
    members.hub_id = hub_id;
    members.clock = options.clock;
    members.period = options.push_period;
    members.holds = options.push_holds;
    members.give_up_after = options.push_give_up_after;
    members.connect = [gate = options.gate](const kube::RestConfig& member) { return kube::Client::connect(member, gate); };
    if (options.leader_elect) {
      FLEETADM_CHECK(kube::check_timing(options.leader_timing));
      members.replicas = replicas =
          std::make_shared<push::Replicas>(client, push::ReplicaOptions{options.ns, identity, options.leader_timing});
    }
    push::add_push_members(*push, client, members);
  }

  if (config != nullptr) add_certificates(manager, client, *config, options.clock);
  manager.add({.name = "memory", .resync = kTidying, .resync_keys = {"process"}},
              [tidier = std::make_shared<controller::MemoryTidier>()](const std::string&,
                                                                      const std::stop_token&) -> Result<controller::Outcome> {
                tidier->look(std::chrono::steady_clock::now());
                return controller::Outcome{};
              });

  FLEETADM_CHECK(manager.serve_health());
  std::optional<addon::WebhookServer> webhook;  // of every replica
  if (!options.webhook_address.empty()) {
    const addon::WebhookOptions where{options.webhook_address, options.webhook_url, options.ns, options.clock};
    FLEETADM_CHECK(addon::check_webhook(where));
    webhook.emplace(client, where);
  }
  const auto lead = [&](std::stop_token leading) -> Status {
    controller::give_memory_back();  // the start's, before the caches fill
    if (webhook) webhook->lead(true);
    FLEETADM_CHECK(addons.start());
    if (profiles) FLEETADM_CHECK(profiles->start());
    if (copies) FLEETADM_CHECK(copies->start());
    if (push && !replicas) FLEETADM_CHECK(push->start());
    const Status ended = manager.run(std::move(leading));
    if (push && !replicas) push->stop();
    if (copies) copies->stop();
    if (profiles) profiles->stop();
    addons.stop();
    return ended;
  };
  Status outcome;
  if (options.leader_elect) {
    kube::LeaderOptions leader;
    leader.ns = options.ns;
    leader.name = kLeaderLease;
    leader.timing = options.leader_timing;
    leader.identity = identity;
    if (replicas) FLEETADM_CHECK(push->start());  // in every replica
    outcome = kube::run_as_leader(client, leader, lead, stop);
    if (replicas) {
      push->stop();
      replicas->leave();
    }
  } else {
    outcome = lead(stop);
  }
  recorder->flush(std::chrono::seconds(2));
  log::info(1, kName, outcome ? "stopped" : "stopped: " + outcome.error().message);
  return outcome;
}

}  // namespace

Status run_hub(const kube::RestConfig& config, const HubOptions& options, std::stop_token stop) {
  return run(kube::Client::connect(config, options.gate), &config, options, std::move(stop));
}

Status run_hub(const kube::Client& client, const HubOptions& options, std::stop_token stop) {
  return run(client, nullptr, options, std::move(stop));
}

}  // namespace fleetadm::hub
