// addon upgrade: another template or configuration for an add-on, rolled out by its strategy.
#include <algorithm>

#include "commands/framework/addon_change.h"
#include "commands/framework/caller.h"
#include "commands/framework/grammar.h"
#include "commands/framework/manifests.h"
#include "commands/framework/named.h"
#include "commands/framework/references.h"
#include "commands/framework/schema_check.h"
#include "commands/framework/strategy.h"
#include "commands/framework/targets.h"
#include "commands/framework/write_report.h"
#include "commands/rollout/addon_status.h"
#include "commands/rollout/rollout.h"
#include "core/addon/rules/earlier_contents.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

struct UpgradeOptions {
  std::vector<std::string> files;
  std::string version;
  std::string addon_template;
  std::string config;
  std::string placement;
  StrategyOptions strategy;
  AddonGuardOptions guard;
  bool wait = false;
  Duration timeout = kNoTimeout;
};

struct WantedUpgrade {
  std::vector<addon::DesiredConfig> configs;
  std::vector<addon::ConfigEdit> made;  // the template of -f
  std::string placement;                // "namespace/name"; empty: the defaults, and the strategies of all placements
};

Result<WantedUpgrade> wanted_upgrade(Context& context, const UpgradeOptions& options) {
  WantedUpgrade wanted;
  if (!options.placement.empty()) {
    FLEETADM_TRY(const PlacementRef ref, placement_ref(context, options.placement));
    wanted.placement = ref.ns + "/" + ref.name;
  }
  if (!options.addon_template.empty()) wanted.configs.push_back({{addon::addon_templates(), "", options.addon_template}, {}});
  if (!options.config.empty()) {
    kube::ObjectName name = kube::split_key(options.config);
    if (name.ns.empty()) {
      FLEETADM_TRY(name.ns, context.ns());
    }
    wanted.configs.push_back({{addon::addon_deployment_configs(), name.ns, name.name}, {}});
  }
  return wanted;
}

/// "hello-0.0.2" for "hello-0.0.1"; empty where the name ends with no number.
std::string next_name(const std::string& name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  const std::string digits = end == std::string::npos ? name : name.substr(end + 1);
  if (digits.empty() || digits.size() > 9) return {};
  return name.substr(0, name.size() - digits.size()) + std::to_string(std::stoi(digits) + 1);
}

/// The template that the placement's clusters (or, of all, those with the default) have now.
Result<addon::ObjectPtr> present_template(const addon::AddonRolloutObjects& read, const std::string& name,
                                          const std::string& placement) {
  const addon::RevisionConfigs configs = addon::configs_now(*read.declaration(name));
  std::vector<addon::DesiredConfig> candidates;
  if (const auto own = configs.placements.find(placement); own != configs.placements.end()) candidates = own->second;
  candidates.insert(candidates.end(), configs.defaults.begin(), configs.defaults.end());
  for (const addon::DesiredConfig& one : candidates) {
    if (one.key.type != addon::addon_templates()) continue;
    if (addon::ObjectPtr object = read.objects.get(one.key.type, {}, one.key.name)) return object;
  }
  return fail(Category::kConflict, "add-on \"" + name + "\" has no template that could be changed",
              "make it of manifests with: fleetadm addon create " + name + " -f FILE --overwrite");
}

/// The manifests of -f, as a new template with everything else of the present one.
Status make_template(Context& context, const kube::Client& hub, const UpgradeOptions& options, const std::string& name,
                     addon::AddonRolloutObjects& read, WantedUpgrade& wanted, std::vector<std::string>& notes) {
  if (options.files.empty()) return {};
  FLEETADM_TRY(const std::vector<LoadedManifest> loaded, load_manifests(context, options.files));
  FLEETADM_CHECK(check_manifests(loaded));
  FLEETADM_TRY(const addon::ObjectPtr present, present_template(read, name, wanted.placement));
  const std::string next = options.version.empty() ? next_name(name_of(*present)) : name + "-" + options.version;
  if (next.empty()) return fail(Category::kUsage, "the new template has no name", "add --version VERSION");
  addon::ConfigEdit edit{{addon::addon_templates(), {}, next}, addon::contents_of(*present), {}};
  at_or_make(edit.contents, {"spec", "agentSpec", "workload", "manifests"}) = manifest_list(loaded);
  FLEETADM_TRY(auto existing, hub.find(api::addon_templates(), "", next));
  if (existing && addon::contents_of(*existing) != edit.contents) {
    return fail(Category::kConflict, "AddOnTemplate \"" + next + "\" already exists and differs",
                "choose another --version; to roll out the one that is there: --template " + next);
  }
  Json object = edit.contents;
  object["apiVersion"] = api::addon_templates().api_version();
  object["kind"] = api::addon_templates().kind;
  object["metadata"] = {{"name", next}};
  FLEETADM_CHECK(KindSchema(api::addon_templates()).check(object, "-f", notes));
  addon::make_edit(read.objects, edit);
  wanted.configs.push_back({edit.key, {}});
  if (!existing) wanted.made.push_back(std::move(edit));
  return {};
}

/// kNotFound where one does not exist; kConflict where a template is another add-on's.
Status check_upgrade(const kube::Client& hub, const addon::AddonRolloutObjects& read, const std::string& addon,
                     const WantedUpgrade& wanted) {
  for (const addon::DesiredConfig& one : wanted.configs) {
    if (!read.readable.contains(one.key.type)) continue;
    const addon::ObjectPtr object = read.objects.get(one.key.type, one.key.ns, one.key.name);
    if (!object) {
      const kube::Resource& resource = *addon::config_resource(one.key.type);
      return fail(Category::kNotFound, resource.kind + " \"" + one.key.name + "\" does not exist",
                  NearNames(hub, resource, one.key.ns)
                      .hint(one.key.name, "roll out new manifests with: fleetadm addon upgrade " + addon + " -f FILE"));
    }
    const std::string of = str(*object, {"spec", "addonName"});
    if (one.key.type == addon::addon_templates() && of != addon)
      return fail(Category::kConflict, "AddOnTemplate \"" + one.key.name + "\" is one of add-on \"" + of + "\"");
  }
  const Json& placements = list_at(*read.declaration(addon), {"spec", "installStrategy", "placements"});
  const bool known = std::any_of(placements.begin(), placements.end(), [&](const Json& one) {
    return str(one, {"namespace"}) + "/" + str(one, {"name"}) == wanted.placement;
  });
  if (wanted.placement.empty() || known) return {};
  return fail(Category::kNotFound, "add-on \"" + addon + "\" is not installed by placement " + wanted.placement,
              "see its placements with: fleetadm addon describe " + addon);
}

Status check_canaries(const kube::Client& hub, const Json& declaration, const WantedUpgrade& wanted,
                      const StrategyOptions& strategy) {
  if (strategy.first.empty() || strategy.allow_missing) return {};
  for (const Json& one : list_at(declaration, {"spec", "installStrategy", "placements"})) {
    const std::string ns = str(one, {"namespace"});
    const std::string name = str(one, {"name"});
    if (!wanted.placement.empty() && wanted.placement != ns + "/" + name) continue;
    FLEETADM_CHECK(check_decision_groups(hub, ns, name, strategy.first));
  }
  return {};
}

Status set_strategies(Json& declaration, const std::string& placement, const StrategyOptions& strategy) {
  if (!strategy.any()) return {};
  if (list_at(declaration, {"spec", "installStrategy", "placements"}).empty()) {
    return fail(Category::kUsage, "add-on \"" + name_of(declaration) + "\" is installed by no placement: it has no strategy",
                "install it by one with: fleetadm addon enable " + name_of(declaration) + " --placement NAMESPACE/NAME");
  }
  for (Json& one : declaration["spec"]["installStrategy"]["placements"]) {
    if (!placement.empty() && placement != str(one, {"namespace"}) + "/" + str(one, {"name"})) continue;
    FLEETADM_TRY(one["rolloutStrategy"], strategy_over(strategy, object_at(one, {"rolloutStrategy"})));
  }
  return {};
}

/// Placements with configurations of their own, which new defaults do not reach.
void note_overrides(const addon::PreparedChange& prepared, const WantedUpgrade& wanted, Report& report) {
  if (!wanted.placement.empty()) return;
  for (const auto& [placement, own] : prepared.to.placements) {
    for (const addon::DesiredConfig& config : own) {
      const bool hides = std::any_of(wanted.configs.begin(), wanted.configs.end(),
                                     [&](const addon::DesiredConfig& one) { return one.key.type == config.key.type; });
      if (hides) {
        report.notes.push_back("Placement " + placement + " has its own " + config.key.type.resource + " (" + config.key.name +
                               ") and is not changed; change it with --placement " + placement + ".");
      }
    }
  }
}

Result<addon::PreparedChange> prepare_upgrade(const kube::Client& hub, const addon::AddonRolloutObjects& read,
                                              const std::string& name, const WantedUpgrade& wanted, const UpgradeOptions& options,
                                              Instant now) {
  const StrategyOptions& strategy = options.strategy;
  addon::RevisionConfigs configs = addon::live_configs(read.objects, *read.declaration(name), read.known());
  for (const addon::DesiredConfig& one : wanted.configs) configs.name(wanted.placement, one);
  addon::AddonChange change;
  change.addon = name;
  change.edits = wanted.made;
  change.note.by = caller(hub);
  // The edit is made again when it is written: it keeps what it needs.
  change.edit = [configs, wanted, strategy](Json& declaration) -> Status {
    if (!wanted.configs.empty()) addon::set_configs(declaration, configs);
    return set_strategies(declaration, wanted.placement, strategy);
  };
  return addon::prepare_change(read, std::move(change), now, options.guard.course());
}

Result<Report> run_upgrade(Context& context, const UpgradeOptions& options, const std::vector<std::string>& args) {
  const std::string& name = args.front();
  FLEETADM_TRY(const kube::Client hub, context.client());
  Report report;
  FLEETADM_TRY(WantedUpgrade wanted, wanted_upgrade(context, options));
  FLEETADM_TRY(addon::AddonRolloutObjects read, addon_objects(hub, name, wanted.configs));
  FLEETADM_CHECK(make_template(context, hub, options, name, read, wanted, report.notes));
  FLEETADM_CHECK(check_upgrade(hub, read, name, wanted));
  FLEETADM_CHECK(check_canaries(hub, *read.declaration(name), wanted, options.strategy));
  FLEETADM_TRY(const addon::PreparedChange prepared, prepare_upgrade(hub, read, name, wanted, options, context.clock().now()));
  report.names.push_back(full_name(api::cluster_management_addons(), name));
  FLEETADM_TRY(auto plan, guard_addon_change(context, options.guard, "upgrading " + name, prepared, report.notes));
  if (plan) {
    note_overrides(prepared, wanted, *plan);
    return std::move(*plan);
  }
  report.data = prepared.before;
  if (prepared.differs) {
    FLEETADM_TRY(report.data, addon::carry_out_change(hub, prepared, context.clock().now()));
  }
  for (const addon::ConfigEdit& one : prepared.change.edits)
    report.lines.push_back(told(context, api::addon_templates(), one.key.name, "created"));
  report.lines.push_back(
      told(context, api::cluster_management_addons(), name, prepared.differs ? "upgraded" : "already has what is asked for"));
  for (const addon::ConfigChange& one : prepared.changes) report.lines.push_back(one.text());
  note_overrides(prepared, wanted, report);
  if (prepared.differs) report.notes.push_back(reach_of(prepared.plan) + " (see the order beforehand with --plan).");
  if (options.wait && !is_dry(context)) {
    FLEETADM_TRY(const Report end, addon_rollout_status(context, name, true, options.timeout));
    report.exit_code = end.exit_code;
    report.notes.insert(report.notes.end(), end.notes.begin(), end.notes.end());
  } else if (work::control_of(prepared.before).paused) {
    report.notes.push_back("The rollout is paused; start it with: fleetadm rollout resume addon/" + name);
  } else if (prepared.differs && !is_dry(context)) {
    report.notes.push_back("Watch it: fleetadm rollout status addon/" + name + " -w");
  }
  return report;
}

Status validate_upgrade(const UpgradeOptions& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(validate_addon_guard(options.guard));
  FLEETADM_CHECK(check_name("add-on name", args.front()));
  if (options.files.empty() && options.addon_template.empty() && options.config.empty() && !options.strategy.any())
    return fail(Category::kUsage, "nothing to change is named", "use -f, --template, --config or a flag of the strategy");
  if (!options.files.empty() && !options.addon_template.empty())
    return fail(Category::kUsage, "-f and --template exclude each other", "-f makes a new template");
  if (!options.version.empty() && options.files.empty())
    return fail(Category::kUsage, "--version names the template that -f makes", "add -f, or use --template");
  if (!options.version.empty()) FLEETADM_CHECK(check_name("template name", args.front() + "-" + options.version));
  if (options.strategy.any()) {
    FLEETADM_TRY([[maybe_unused]] const Json strategy, strategy_over(options.strategy, Json::object()));
  }
  if (!options.addon_template.empty()) FLEETADM_CHECK(check_name("template name", options.addon_template));
  if (!options.config.empty()) FLEETADM_CHECK(check_name("config name", kube::split_key(options.config).name));
  return {};
}

void bind_upgrade(FlagSet& flags, UpgradeOptions& options) {
  manifests_flag(flags, options.files);
  Flag& version = flags.text(&options.version, "version", "Version of the template that -f makes, whose name is NAME-VERSION");
  version.value_name = "VERSION";
  version.default_text = "the present one, its last number plus one";
  flags.text(&options.addon_template, "template", "AddOnTemplate to roll out").value_name = "NAME";
  flags.text(&options.config, "config", "AddOnDeploymentConfig to roll out").value_name = "[NAMESPACE/]NAME";
  placement_flag(flags, &options.placement, "only on the clusters of this placement (default: the add-on's defaults)");
  bind_rollout_strategy(flags, options.strategy);
  bind_addon_guard(flags, options.guard);
  wait_flag(flags, &options.wait, "wait until the rollout ends");
  timeout_flag(flags, &options.timeout, "how long to wait");
}

}  // namespace

void register_addon_upgrade(Registry& registry) {
  Command command;
  command.path = "addon upgrade";
  command.group = "Add-ons";
  command.summary = "Roll out another template or configuration of an add-on";
  command.description =
      "Makes the template (or the AddOnDeploymentConfig) the add-on's default, or with --placement that of one placement. With -f, "
      "the template is made of manifests, with the registration and everything else of the present one. The hub then rolls it out "
      "by the strategy of each placement; the strategy flags change it in the same step. Add-ons that no placement selects are "
      "changed at once. The revision before is noted: \"rollout undo addon/NAME\" returns to it.\n\n"
      "With --wait the exit code is that of \"rollout status\".";
  command.description += kAddonGuardText;
  command.args = {"NAME", 1, 1, false, Complete::kAddons};
  command.examples = {
      {"New manifests, as a new template", "fleetadm addon upgrade hello -f agent.yaml --plan"},
      {"Which clusters would be upgraded, in which order", "fleetadm addon upgrade hello --template hello-0.0.2 --plan"},
      {"One cluster after the other; stop at the first failure",
       "fleetadm addon upgrade hello --template hello-0.0.2 --strategy progressive --max-concurrency 1"},
      {"Wait for the end in a Job", "fleetadm addon upgrade hello --template hello-0.0.2 --wait --timeout 30m"}};
  command.make = invocation<UpgradeOptions>(bind_upgrade, validate_upgrade, run_upgrade);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
