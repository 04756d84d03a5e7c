// What the single controllers share. Each is a function that makes one object's wanted state so; it is called again whenever
// something that it depends on was written, and gives up silently where another write came in between (that write calls it
// again). What depends on the time alone asks to be called again with look_again_at().
#pragma once

#include <functional>
#include <string>

#include "core/sandbox/engine/engine.h"
#include "core/sandbox/quota/pending.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::sandbox {

class RoleAggregation;

struct ControllerContext {
  Engine& engine;
  const pki::KeyPair& ca;
  std::string ca_pem;
  /// Calls the same controller for the same object again after that time, unless something else does before. May be empty.
  std::function<void(Duration after)> again = {};
  quota::PendingWrites* pending = nullptr;  // what quotas let through; may be null
  RoleAggregation* aggregation = nullptr;   // may be null: aggregated roles stay as they are
};

void look_again_at(const ControllerContext& context, Instant at);

/// The options of the controllers' own writes.
WriteOptions as_controller(std::string_view name, std::string subresource = {});
KindPtr kind_of(const ControllerContext& context, std::string_view group, std::string_view plural);
/// The object with a change; nothing is written where it stays the same. False where it is gone or refused.
bool change(const ControllerContext& context, const Kind& kind, const Json& object, const WriteOptions& by,
            const std::function<void(Json&)>& edit);
bool remove(const ControllerContext& context, const Kind& kind, const Json& object, std::string_view propagation = "Background");
Json owner_reference(const Json& owner, bool blocks = true);
/// The controlling owner's uid; empty where there is none.
std::string controller_uid(const Json& object);
void set_condition(Json& object, const std::string& type, bool holds, const std::string& reason, const std::string& message,
                   Instant now);

void sync_namespace(const ControllerContext& context, const std::string& name);
void sync_definition(const ControllerContext& context, const std::string& name);
void sync_signing(const ControllerContext& context, const std::string& name);
void sync_deployment(const ControllerContext& context, const std::string& ns, const std::string& name);
void sync_replica_set(const ControllerContext& context, const std::string& ns, const std::string& name);
void sync_replication_controller(const ControllerContext& context, const std::string& ns, const std::string& name);
void sync_daemon_set(const ControllerContext& context, const std::string& ns, const std::string& name);
void sync_stateful_set(const ControllerContext& context, const std::string& ns, const std::string& name);
void sync_disruption_budget(const ControllerContext& context, const std::string& ns, const std::string& name);
void sync_job(const ControllerContext& context, const std::string& ns, const std::string& name);
/// Removes an event that nobody has told again for an hour.
void sync_event(const ControllerContext& context, const std::string& ns, const std::string& name);
void sync_service(const ControllerContext& context, const std::string& ns, const std::string& name);
void sync_resource_quota(const ControllerContext& context, const std::string& ns, const std::string& name);
/// status.typeChecking of a ValidatingAdmissionPolicy.
void sync_admission_policy(const ControllerContext& context, const std::string& name);
/// The condition Dangling: whether its priority level exists.
void sync_flow_schema(const ControllerContext& context, const std::string& name);
void sync_cron_job(const ControllerContext& context, const std::string& ns, const std::string& name);

}  // namespace fleetadm::sandbox
