#include "commands/fleet/auto_accept_users.h"

#include <algorithm>
#include <utility>

#include "commands/fleet/changes.h"
#include "commands/framework/dry_run.h"
#include "core/api/kinds.h"
#include "core/install/helm_release.h"
#include "core/install/install.h"
#include "core/install/owned_fields.h"
#include "core/install/wait_deployment.h"
#include "core/upgrade/installed.h"
#include "core/upgrade/intents.h"

namespace fleetadm::commands {
namespace {

constexpr std::string_view kApproveFlag = "--auto-approve-user=";

struct UserChange {
  std::string user;
  bool added = true;
};

UserChange user_change_of(const std::string& text) {
  if (text.ends_with('-')) return {text.substr(0, text.size() - 1), false};
  return {text, true};
}

/// What the Deployment of the hub controllers was applied as by this program, which alone may change its arguments.
Result<Json> applied_hub(const kube::Client& hub) {
  FLEETADM_TRY(const auto live, hub.find(kube::resources::deployments(), api::kHubNamespace, upgrade::kHubDeployment));
  if (!live) {
    return fail(Category::kNotFound, "fleetadm has installed no hub controllers on this cluster",
                "if they run elsewhere, start them with: fleetadm hub run --auto-approve-user USER. Upstream's hub is told by "
                "spec.registrationConfiguration of its ClusterManager");
  }
  if (const std::string release = install::helm_release_of(*live); !release.empty()) {
    return fail(Category::kConflict, "the hub was installed by Helm, as release \"" + release + "\"",
                "set its value autoApproveUsers with: helm upgrade " + release);
  }
  Json intent = install::applied_by(*live, hub.gate().field_manager);
  const Json& containers = list_at(intent, {"spec", "template", "spec", "containers"});
  if (containers.empty() || !containers.front().contains("args")) {
    return fail(Category::kConflict, "the arguments of the hub controllers were not set by fleetadm",
                "add " + std::string(kApproveFlag) + "USER to them with what installed them");
  }
  return intent;
}

/// The users that `args` names afterwards; `args` changes only where a user does.
std::vector<std::string> edit_args(Json& args, const std::vector<std::string>& changes, std::vector<std::string>& lines) {
  for (const std::string& text : changes) {
    const UserChange change = user_change_of(text);
    const Json word = std::string(kApproveFlag) + change.user;
    const bool there = std::find(args.begin(), args.end(), word) != args.end();
    if (change.added && !there) args.push_back(word);
    if (!change.added && there) args.erase(std::remove(args.begin(), args.end(), word), args.end());
    const std::string now = change.added ? " are accepted automatically" : " are not accepted automatically";
    lines.push_back("clusters of user " + change.user + now + (there == change.added ? ": unchanged" : ""));
  }
  std::vector<std::string> users;
  for (const Json& arg : args) {
    if (arg.is_string() && arg.get_ref<const std::string&>().starts_with(kApproveFlag))
      users.push_back(arg.get_ref<const std::string&>().substr(kApproveFlag.size()));
  }
  return users;
}

Status wait_restarted(Context& context, const kube::Client& hub, Duration timeout) {
  context.progress().begin("Waiting for the hub controllers");
  Status ready = install::wait_deployment(hub, api::kHubNamespace, upgrade::kHubDeployment, timeout, context.stop(),
                                          warn_of_trouble(context));
  if (ready) {
    context.progress().done("running");
  } else {
    context.progress().failed(ready.error().message);
  }
  return ready;
}

}  // namespace

Status check_auto_accept_users(const std::vector<std::string>& changes) {
  for (const std::string& text : changes) {
    const UserChange change = user_change_of(text);
    if (change.user.empty()) return fail(Category::kUsage, "--auto-accept-user requires a user name");
    if (change.added && change.user == "system:anonymous") {
      return fail(Category::kUsage, "--auto-accept-user " + change.user + " would accept clusters of everyone",
                  "name the user that joins clusters: requests show it in spec.username");
    }
    const auto clashes = std::count_if(changes.begin(), changes.end(),
                                       [&](const std::string& other) { return user_change_of(other).user == change.user; });
    if (clashes > 1) return fail(Category::kUsage, "--auto-accept-user names " + change.user + " more than once");
  }
  return {};
}

Result<Report> change_auto_accept_users(Context& context, const kube::Client& hub, const std::vector<std::string>& changes,
                                        bool wait, Duration timeout) {
  FLEETADM_TRY(Json intent, applied_hub(hub));
  Json& args = at_or_make(intent, {"spec", "template", "spec", "containers"}).front()["args"];
  const Json before = args;
  Report report;
  std::vector<std::string> users = edit_args(args, changes, report.lines);
  if (args != before) {
    const install::Options how = options_with_progress(context, install::kHubPart, timeout);
    FLEETADM_TRY([[maybe_unused]] const auto done, step_with_progress(context, "Configuring the hub controllers",
                                                                      [&] { return install::apply_all(hub, {intent}, how); }));
  }
  if (!is_dry(context)) {
    FLEETADM_TRY(const Json stored, hub.get(kube::resources::deployments(), api::kHubNamespace, upgrade::kHubDeployment));
    if (Json(upgrade::args_of(stored)) != args) {
      return fail(Category::kConflict, "the change was written but reads back differently",
                  "another client changed it: try again");
    }
    if (wait) FLEETADM_CHECK(wait_restarted(context, hub, timeout));
  }
  for (std::string& line : report.lines) line += dry_run_mark(context);
  report.names.push_back("deployment.apps/" + std::string(upgrade::kHubDeployment));
  report.data = Json{{"kind", "AcceptReport"}, {"items", Json::array()}, {"autoAcceptUsers", std::move(users)}};
  return report;
}

}  // namespace fleetadm::commands
