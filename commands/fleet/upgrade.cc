#include "commands/fleet/upgrade.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "commands/fleet/changes.h"
#include "commands/framework/dry_run.h"
#include "core/image/reference.h"
#include "core/install/helm_release.h"
#include "core/install/install.h"
#include "core/install/wait_deployment.h"
#include "core/upgrade/intents.h"
#include "core/upgrade/versions.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::commands {
namespace {

constexpr std::string_view kPlanned = " (planned)";

Json from_to(const std::string& from, const std::string& to) { return {{"from", from}, {"to", to}}; }

std::string crd_line(const upgrade::CrdChange& crd) {
  std::string line = "CRD " + crd.name + (crd.created ? ": new" : ": changed");
  if (!crd.added.empty()) line += ", adds " + joined(crd.added, ", ");
  if (!crd.dropped.empty()) line += ", drops " + joined(crd.dropped, ", ");
  return line;
}

Json crds_json(const std::vector<upgrade::CrdChange>& crds) {
  Json list = Json::array();
  for (const upgrade::CrdChange& crd : crds) {
    list.push_back(
        {{"name", crd.name}, {"action", crd.created ? "created" : "configured"}, {"added", crd.added}, {"dropped", crd.dropped}});
  }
  return list;
}

/// With what is retired, without what stays as it is.
std::vector<install::Change> all_changes(const upgrade::Plan& plan) {
  std::vector<install::Change> changes;
  std::copy_if(plan.changes.begin(), plan.changes.end(), std::back_inserter(changes),
               [](const install::Change& change) { return change.action != install::Action::kUnchanged; });
  for (const Json& object : plan.retired)
    changes.push_back({str(object, {"kind"}), namespace_of(object), name_of(object), install::Action::kDeleted});
  return changes;
}

/// "hub: v0.1.0 to v0.2.0": from and to, by version where both tell one, else by image.
std::string upgrade_sentence(const Upgrade& upgrade) {
  const std::string from = upgrade::version_of(upgrade.image);
  const std::string& to = upgrade.target.version;
  const std::string images =
      upgrade.image == upgrade.target.image ? "image " + upgrade.image : "image " + upgrade.image + " to " + upgrade.target.image;
  if (from.empty() || to.empty()) return upgrade.component + ": " + images;
  return upgrade.component + ": " + (from == to ? from : from + " to " + to) + " (" + images + ")";
}

std::vector<std::string> plan_lines(const Upgrade& upgrade, const upgrade::Plan& plan) {
  std::vector<std::string> lines{upgrade_sentence(upgrade)};
  for (const upgrade::CrdChange& crd : plan.crds) lines.push_back(crd_line(crd));
  for (std::string& line : change_lines(all_changes(plan), kPlanned)) lines.push_back(std::move(line));
  lines.insert(lines.end(), upgrade.facts.begin(), upgrade.facts.end());
  return lines;
}

Json report_data(const Upgrade& upgrade, const upgrade::Plan& plan, const std::string& kind) {
  Json data = upgrade.more;
  data["kind"] = kind;
  data["component"] = upgrade.component;
  data["image"] = from_to(upgrade.image, upgrade.target.image);
  data["version"] = from_to(upgrade::version_of(upgrade.image), upgrade.target.version);
  data["crds"] = crds_json(plan.crds);
  return data;
}

/// With --plan: what would be done.
Report planned(const Upgrade& upgrade, const upgrade::Plan& plan) {
  Report report;
  report.data = report_data(upgrade, plan, "UpgradePlan");
  report.data["changes"] = install::to_json(all_changes(plan));
  report.lines = plan_lines(upgrade, plan);
  return report;
}

Status confirm_plan(Context& context, const UpgradeOptions& options, const Upgrade& upgrade, const upgrade::Plan& plan) {
  if (options.yes || is_dry(context)) return {};
  if (context.terminal().interactive()) {
    for (const std::string& line : plan_lines(upgrade, plan)) context.progress().say(line);
  }
  FLEETADM_TRY(const bool sure, context.terminal().confirm("Upgrade the " + upgrade.component + "?"));
  if (!sure) return fail(Category::kCancelled, "nothing was changed");
  return {};
}

}  // namespace

void bind_upgrade(FlagSet& flags, UpgradeOptions& options, const std::string& what) {
  Flag& image = flags.text(&options.image, "image", "fleetadm image for " + what + ", by tag or as REPOSITORY@sha256:DIGEST");
  image.default_text = "the installed one, with the tag " FLEETADM_VERSION;
  image.value_name = "IMAGE";
  flags
      .text(&options.to, "to",
            "Version to change to, as the tag of the installed image; of a version other than this program's only the image is "
            "changed")
      .value_name = "VERSION";
  flags.boolean(&options.plan, "plan", "Only show what would be changed");
  flags.boolean(&options.yes, "yes", "Skip the confirmation prompt", 'y');
}

Status validate_upgrade(const UpgradeOptions& options) {
  if (!options.image.empty() && !options.to.empty())
    return fail(Category::kUsage, "--image cannot be combined with --to",
                "--to is the tag of the installed image; --image names all of it");
  if (!options.image.empty()) {
    if (const auto image = image::parse_reference(options.image); !image) return fail(image.error().wrap("--image"));
  }
  if (!options.to.empty() && !upgrade::parse_version(options.to))
    return fail(Category::kUsage, "--to \"" + options.to + "\" is not a version", "for example: --to " FLEETADM_VERSION);
  return {};
}

Result<UpgradeTarget> upgrade_target(const UpgradeOptions& options, const std::string& installed_image) {
  if (!options.image.empty()) {
    const std::string version = upgrade::version_of(options.image);
    return UpgradeTarget{options.image, version, version.empty() || version == FLEETADM_VERSION, true};
  }
  const std::string version = options.to.empty() ? std::string(FLEETADM_VERSION) : options.to;
  FLEETADM_TRY(std::string image, upgrade::with_tag(installed_image, version));
  return UpgradeTarget{std::move(image), version, version == FLEETADM_VERSION, false};
}

Result<Upgrade> begin_upgrade(const kube::Client& cluster, const UpgradeOptions& options, const UpgradePart& part) {
  Upgrade upgrade;
  upgrade.component = part.component;
  upgrade.part = part.part;
  FLEETADM_TRY(upgrade.installed, upgrade::read_installed(cluster, part.part));
  if (part.in_ns_only) upgrade::keep_namespace(upgrade.installed, part.ns);
  const Json* live = upgrade.installed.find("Deployment", part.ns, part.deployment);
  if (live == nullptr)
    return fail(Category::kNotFound, "fleetadm has installed no " + part.component + " on this cluster", part.absent_hint);
  if (const std::string release = install::helm_release_of(*live); !release.empty()) {
    return fail(Category::kConflict, "the " + part.component + " was installed by Helm, as release \"" + release + "\"",
                "upgrade it with: helm upgrade " + release);
  }
  upgrade.image = upgrade::image_of(*live);
  FLEETADM_TRY(upgrade.target, upgrade_target(options, upgrade.image));
  const std::string& manager = cluster.gate().field_manager;
  auto intent = upgrade.target.whole ? part.intent(upgrade.installed, upgrade.target.image, manager)
                                     : upgrade::with_image(upgrade.installed, upgrade.target.image, manager);
  if (!intent) return fail(intent.error());
  upgrade.intent = std::move(*intent);
  return upgrade;
}

Result<Upgraded> run_upgrade(Context& context, const kube::Client& cluster, const UpgradeOptions& options, const Upgrade& upgrade,
                             Duration timeout) {
  const install::Options how = options_with_progress(context, upgrade.part, timeout);
  FLEETADM_TRY(const upgrade::Plan plan,
               upgrade::make_plan(cluster, upgrade.installed, upgrade.intent, how, upgrade.target.whole));
  if (options.plan) return Upgraded{planned(upgrade, plan)};
  Report report;
  report.data = report_data(upgrade, plan, "UpgradeReport");
  if (plan.empty()) {
    report.data["changes"] = Json::array();
    report.lines.push_back("The " + upgrade.component + " is up to date; nothing changed.");
    return Upgraded{std::move(report)};
  }
  FLEETADM_CHECK(confirm_plan(context, options, upgrade, plan));
  FLEETADM_TRY(auto changes,
               step_with_progress(context, "Upgrading the " + upgrade.component, [&]() -> Result<std::vector<install::Change>> {
                 FLEETADM_TRY(auto applied, install::apply_all(cluster, upgrade.intent, how));
                 FLEETADM_TRY(auto removed, upgrade::remove_retired(cluster, plan));
                 for (install::Change& change : removed) applied.push_back(std::move(change));
                 return applied;
               }));
  report.data["changes"] = install::to_json(changes);
  report.names = change_names(changes);
  report.lines = change_lines(changes, dry_run_mark(context));
  report.lines.insert(report.lines.begin(), upgrade_sentence(upgrade));
  report.lines.insert(report.lines.end(), upgrade.facts.begin(), upgrade.facts.end());
  if (!upgrade.target.whole) {
    report.notes.push_back(
        "Only the image was changed: the objects are those of the installed version. To bring also these back, run \"upgrade " +
        upgrade.component + "\" of fleetadm " + upgrade.target.version + ".");
  }
  return Upgraded{std::move(report), !is_dry(context)};
}

Status wait_upgraded(Context& context, const kube::Client& cluster, const std::string& what, std::string_view ns,
                     const std::vector<std::string_view>& deployments, Duration timeout) {
  context.progress().begin("Waiting for " + what);
  for (const std::string_view name : deployments) {
    if (Status ready = install::wait_deployment(cluster, ns, name, timeout, context.stop(), warn_of_trouble(context)); !ready) {
      context.progress().failed(ready.error().message);
      return fail(ready.error());
    }
  }
  context.progress().done("running");
  return {};
}

}  // namespace fleetadm::commands
