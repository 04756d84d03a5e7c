// What unjoin does in any mode: its options, the question before it, and what it tells afterwards.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "commands/fleet/changes.h"
#include "commands/fleet/join_options.h"
#include "commands/framework/context.h"
#include "commands/framework/grammar.h"
#include "commands/framework/guard.h"
#include "commands/framework/hub_side.h"
#include "commands/framework/member_side.h"
#include "core/registration/join/unjoin.h"

namespace fleetadm::commands {

struct UnjoinOptions {
  std::string cluster_name;
  HubSide hub;
  MemberSide member;
  PushOptions push;
  bool hub_only = false;
  /// Leave the side that answers where the other one does not, and tell what stays there (`unregister`).
  bool either_side = false;
  bool force = false;
  bool orphan = false;
  bool keep_namespace = false;
  GuardOptions guard;
  Duration timeout = kWaitTimeout;
};

/// --hub-only, --force, --orphan, --keep-namespace, the guard's, --timeout.
void bind_departure(FlagSet& flags, UnjoinOptions& options);
Status validate_unjoin(const UnjoinOptions& options);
/// unjoin in any mode, and unregister.
Result<Report> leave_fleet(Context& context, const UnjoinOptions& options);

join::DepartureOptions departure_options(Context& context, const UnjoinOptions& options);

/// Answers --plan; otherwise asks once, about the works that would be lost or else whether this is meant at all. `spoke`: null
/// where the cluster is not asked.
Result<std::optional<Report>> confirm_unjoin(Context& context, const UnjoinOptions& options, const std::string& name,
                                             const kube::Client* hub, const kube::Client* spoke, std::vector<std::string>& notes);

/// The steps one after the other, and what they have changed.
class UnjoinSteps {
 public:
  explicit UnjoinSteps(Context& context) : context_(context) {}
  Status run(std::string_view title, const std::function<Result<std::vector<install::Change>>()>& leave);
  /// The last step, where one of those before it has deleted the cluster's namespace on the hub.
  Status wait_for_namespace(const kube::Client& hub, const join::DepartureOptions& how);
  bool changed() const { return !changes_.empty(); }
  /// Data, lines and names.
  void tell(const std::string& cluster, Report& report) const;

 private:
  Context& context_;
  std::vector<install::Change> changes_;
};

/// An agent that could not be asked has everything still: what (with `what`, that was installed for it), and how it goes when the
/// cluster is back.
void tell_left_behind(const join::LeftBehind& left, const std::string& name, const std::string& what, Report& report);
/// With --orphan: what stays on the cluster, by the works that applied it; `how` gets those of add-ons, which go.
Result<std::vector<std::string>> works_to_keep(const kube::Client& hub, join::DepartureOptions& how);
void tell_kept(const std::vector<std::string>& works, const std::string& name, Report& report);
/// Nothing was done on the hub.
void tell_hub_left(const std::string& name, Report& report);

bool does_not_answer(const Error& error);

/// unjoin --push: a cluster that the hub of the current context dials.
Result<Report> unjoin_push(Context& context, const UnjoinOptions& options);

/// unjoin --mode hosted: the agent of another cluster than the current one.
Result<Report> unjoin_hosted(Context& context, const UnjoinOptions& options);

}  // namespace fleetadm::commands
