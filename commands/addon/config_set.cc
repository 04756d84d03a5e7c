// addon config set and unset: what an add-on's agents are configured with, by default, for a placement or for clusters.
#include <algorithm>

#include "commands/addon/addon.h"
#include "commands/addon/config_levels.h"
#include "commands/addon/config_values.h"
#include "commands/framework/caller.h"
#include "commands/framework/manifests.h"
#include "commands/framework/schema_check.h"
#include "commands/framework/targets.h"
#include "commands/framework/write_report.h"
#include "core/addon/rules/config_hash.h"
#include "core/addon/rules/earlier_contents.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

struct ConfigSetOptions {
  LevelOptions level;
  ConfigValues values;
  std::string file;
  AddonGuardOptions guard;
};

struct ConfigUnsetOptions {
  LevelOptions level;
  std::vector<std::string> fields;
  bool inherit = false;
  AddonGuardOptions guard;
};

using SpecEdit = std::function<Status(Json& spec)>;

/// The object that is made for a level that names none of its own.
addon::ConfigKey new_config(const std::string& name, const ConfigLevel& level, const std::string& ns) {
  if (!level.cluster.empty()) return {addon::addon_deployment_configs(), level.cluster, name};
  if (level.placement.empty()) return {addon::addon_deployment_configs(), ns, name};
  const kube::ObjectName placement = kube::split_key(level.placement);
  return {addon::addon_deployment_configs(), placement.ns, name + "-" + placement.name};
}

Json entry_for(const addon::ConfigKey& key) {
  Json entry{{"group", key.type.group}, {"resource", key.type.resource}, {"name", key.name}};
  if (!key.ns.empty()) entry["namespace"] = key.ns;
  return entry;
}

/// spec.configs of a cluster's add-on with this one instead of those of its type (`key` nullopt: without any).
Json own_configs(const addon::AddonRolloutObjects& read, const std::string& name, const std::string& cluster,
                 const addon::GroupResource& type, const std::optional<addon::ConfigKey>& key) {
  const addon::ObjectPtr own = read.objects.get(addon::managed_cluster_addons(), cluster, name);
  Json configs = own ? list_at(*own, {"spec", "configs"}) : Json::array();
  configs.erase(
      std::remove_if(configs.begin(), configs.end(), [&](const Json& one) { return addon::config_key(one).type == type; }),
      configs.end());
  if (key) configs.push_back(entry_for(*key));
  return configs;
}

/// A change that is put together level by level.
class ConfigChangeMaker {
 public:
  ConfigChangeMaker(const addon::AddonRolloutObjects& read, const std::string& name) : read_(read), name_(name) {
    change_.addon = name;
    configs_ = addon::live_configs(read.objects, *read.declaration(name), read.known());
  }

  void refer(const ConfigLevel& level, const addon::ConfigKey& key) {
    if (!level.cluster.empty()) {
      change_.own[level.cluster] = own_configs(read_, name_, level.cluster, key.type, key);
    } else {
      configs_.name(level.placement, {key, {}});
      referred_ = true;
    }
  }
  void inherit(const ConfigLevel& level) {
    const addon::GroupResource& type = addon::addon_deployment_configs();
    if (!level.cluster.empty()) {
      change_.own[level.cluster] = own_configs(read_, name_, level.cluster, type, std::nullopt);
    } else {
      configs_.drop(level.placement, type);
      referred_ = true;
    }
  }
  /// Nothing where the object has these contents, or is written for another level already.
  void write(const addon::ConfigKey& key, Json contents) {
    const bool known =
        std::any_of(change_.edits.begin(), change_.edits.end(), [&](const addon::ConfigEdit& edit) { return edit.key == key; });
    if (known) return;
    const addon::ObjectPtr before = read_.objects.get(key.type, key.ns, key.name);
    if (before && addon::contents_of(*before) == contents) return;
    change_.edits.push_back({key, std::move(contents), before ? addon::config_spec_hash(*before) : std::string()});
  }
  addon::AddonChange take(std::string by) {
    change_.note.by = std::move(by);
    if (referred_) {
      change_.edit = [configs = configs_](Json& declaration) -> Status {
        addon::set_configs(declaration, configs);
        return {};
      };
    }
    return std::move(change_);
  }

 private:
  const addon::AddonRolloutObjects& read_;
  const std::string name_;
  addon::RevisionConfigs configs_;
  addon::AddonChange change_;
  bool referred_ = false;
};

/// Edits what is named at a level, or makes it of what takes effect there.
Status edit_level(const addon::AddonRolloutObjects& read, const std::string& name, const ConfigLevel& level,
                  const std::string& ns, const SpecEdit& edit, ConfigChangeMaker& maker, std::vector<std::string>& notes) {
  const auto own = own_config(read, name, level);
  const addon::ConfigKey key = own.value_or(new_config(name, level, ns));
  addon::ObjectPtr from = read.objects.get(key.type, key.ns, key.name);
  const auto inherited = own ? std::nullopt : effective_config(read, name, level);
  if (!from && inherited) {
    from = read.objects.get(inherited->type, inherited->ns, inherited->name);
    notes.push_back(level.text() + " had the configuration " + inherited->ns + "/" + inherited->name + "; " + key.ns + "/" +
                    key.name + " is made of it.");
  }
  Json contents = from ? addon::contents_of(*from) : Json::object();
  Json& spec = at_or_make(contents, {"spec"});
  if (!spec.is_object()) spec = Json::object();
  FLEETADM_CHECK(edit(spec));
  Json object = contents;
  object["apiVersion"] = api::addon_deployment_configs().api_version();
  object["kind"] = api::addon_deployment_configs().kind;
  object["metadata"] = {{"name", key.name}, {"namespace", key.ns}};
  FLEETADM_CHECK(KindSchema(api::addon_deployment_configs()).check(object, "the configuration", notes));
  maker.write(key, std::move(contents));
  if (!own) maker.refer(level, key);
  return {};
}

/// The documents of a file become what every level names.
Status refer_to_file(Context& context, const std::string& file, const std::vector<ConfigLevel>& levels, ConfigChangeMaker& maker,
                     std::vector<std::string>& notes) {
  FLEETADM_TRY(const std::vector<LoadedManifest> loaded, load_manifests(context, {file}));
  FLEETADM_CHECK(check_manifests(loaded));
  for (const LoadedManifest& one : loaded) {
    const addon::ConfigKey key{addon::type_of(one.object), namespace_of(one.object), name_of(one.object)};
    const kube::Resource* resource = addon::config_resource(key.type);
    if (resource == nullptr) {
      return fail(Category::kUnsupported,
                  one.where() + ": " + str(one.object, {"kind"}) + " is not a configuration that can be set",
                  "AddOnDeploymentConfig and AddOnTemplate can; \"addon enable --config-file\" applies any kind");
    }
    if (resource->namespaced && key.ns.empty())
      return fail(Category::kUsage, one.where() + ": the " + resource->kind + " has no namespace",
                  "add metadata.namespace to the document");
    FLEETADM_CHECK(KindSchema(*resource).check(one.object, one.where(), notes));
    maker.write(key, addon::contents_of(one.object));
    for (const ConfigLevel& level : levels) maker.refer(level, key);
  }
  return {};
}

/// Other add-ons that name one of the objects that are edited.
void note_sharers(const kube::Client& hub, const std::string& name, const addon::AddonChange& change,
                  std::vector<std::string>& notes) {
  std::vector<Json> others;
  const Status listed = hub.list_each(api::cluster_management_addons(), "", {}, [&](Json&& one) -> Status {
    if (name_of(one) != name) others.push_back(std::move(one));
    return {};
  });
  if (!listed) return;  // a note is not worth failing for
  for (const Json& other : others) {
    Json entries = Json::array();
    for (const Json& one : list_at(other, {"spec", "supportedConfigs"})) {
      Json entry = one;
      entry.update(object_at(one, {"defaultConfig"}));
      entries.push_back(std::move(entry));
    }
    for (const Json& placement : list_at(other, {"spec", "installStrategy", "placements"}))
      for (const Json& one : list_at(placement, {"configs"})) entries.push_back(one);
    for (const addon::ConfigEdit& edit : change.edits) {
      const bool shared =
          std::any_of(entries.begin(), entries.end(), [&](const Json& one) { return addon::config_key(one) == edit.key; });
      if (shared) notes.push_back(edit.key.text() + " is also used by add-on " + name_of(other) + ", which changes with it.");
    }
  }
}

Result<Report> apply_change(Context& context, const kube::Client& hub, const addon::AddonRolloutObjects& read,
                            const AddonGuardOptions& guard, addon::AddonChange change, std::vector<std::string> notes) {
  const std::string name = change.addon;
  note_sharers(hub, name, change, notes);
  FLEETADM_TRY(const addon::PreparedChange prepared,
               addon::prepare_change(read, std::move(change), context.clock().now(), guard.course()));
  Report report;
  FLEETADM_TRY(auto plan, guard_addon_change(context, guard, "configuring " + name, prepared, notes));
  if (plan) {
    plan->notes.insert(plan->notes.begin(), notes.begin(), notes.end());
    return std::move(*plan);
  }
  report.notes = std::move(notes);
  report.names.push_back(full_name(api::cluster_management_addons(), name));
  report.data = prepared.before;
  if (prepared.differs) {
    FLEETADM_TRY(report.data, addon::carry_out_change(hub, prepared, context.clock().now()));
  }
  for (const addon::ConfigEdit& edit : prepared.change.edits) {
    report.lines.push_back(
        told(context, *addon::config_resource(edit.key.type), edit.key.name, edit.before.empty() ? "created" : "configured"));
  }
  report.lines.push_back(
      told(context, api::cluster_management_addons(), name, prepared.differs ? "configured" : "already has that configuration"));
  if (!prepared.differs) return report;
  report.notes.push_back("The change goes through the rollout of the add-on: " + reach_of(prepared.plan) + ".");
  if (is_dry(context)) return report;
  report.notes.push_back(work::control_of(prepared.before).paused
                             ? "The rollout is paused; start it with: fleetadm rollout resume addon/" + name
                             : "Watch it: fleetadm rollout status addon/" + name + " -w");
  return report;
}

/// What is named already, and what would be made where nothing is.
Result<addon::AddonRolloutObjects> read_for(Context& context, const kube::Client& hub, const std::string& name,
                                            const LevelOptions& options, const std::string& ns) {
  std::vector<addon::DesiredConfig> further{{new_config(name, {}, ns), {}}};
  if (!options.placement.empty()) {
    FLEETADM_TRY(const PlacementRef ref, placement_ref(context, options.placement));
    further.push_back({new_config(name, {ref.ns + "/" + ref.name, {}}, ns), {}});
  }
  for (const std::string& cluster : options.clusters) further.push_back({new_config(name, {{}, cluster}, ns), {}});
  return addon_objects(hub, name, further);
}

Result<Report> run_config_set(Context& context, const ConfigSetOptions& options, const std::vector<std::string>& args) {
  const std::string& name = args.front();
  ConfigValues values = options.values;
  values.variables.assign(args.begin() + 1, args.end());
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const std::string ns, context.ns());
  FLEETADM_TRY(const addon::AddonRolloutObjects read, read_for(context, hub, name, options.level, ns));
  FLEETADM_TRY(const auto levels, config_levels(context, read, name, options.level));
  ConfigChangeMaker maker(read, name);
  std::vector<std::string> notes;
  if (!options.file.empty()) {
    FLEETADM_CHECK(refer_to_file(context, options.file, levels, maker, notes));
  } else {
    const SpecEdit edit = [&](Json& spec) -> Status {
      set_config_values(spec, values);
      return {};
    };
    for (const ConfigLevel& level : levels) FLEETADM_CHECK(edit_level(read, name, level, ns, edit, maker, notes));
  }
  return apply_change(context, hub, read, options.guard, maker.take(caller(hub)), std::move(notes));
}

Result<Report> run_config_unset(Context& context, const ConfigUnsetOptions& options, const std::vector<std::string>& args) {
  const std::string& name = args.front();
  const std::vector<std::string> variables(args.begin() + 1, args.end());
  FLEETADM_TRY(const kube::Client hub, context.client());
  FLEETADM_TRY(const std::string ns, context.ns());
  FLEETADM_TRY(const addon::AddonRolloutObjects read, read_for(context, hub, name, options.level, ns));
  FLEETADM_TRY(const auto levels, config_levels(context, read, name, options.level));
  ConfigChangeMaker maker(read, name);
  std::vector<std::string> notes;
  const SpecEdit edit = [&](Json& spec) { return unset_config_values(spec, variables, options.fields); };
  for (const ConfigLevel& level : levels) {
    if (options.inherit) {
      maker.inherit(level);
    } else {
      FLEETADM_CHECK(edit_level(read, name, level, ns, edit, maker, notes));
    }
  }
  return apply_change(context, hub, read, options.guard, maker.take(caller(hub)), std::move(notes));
}

Status validate_config_set(const ConfigSetOptions& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(validate_addon_guard(options.guard));
  FLEETADM_CHECK(check_name("add-on name", args.front()));
  FLEETADM_CHECK(validate_config_level(options.level));
  ConfigValues values = options.values;
  values.variables.assign(args.begin() + 1, args.end());
  FLEETADM_CHECK(validate_config_values(values));
  if (values.none() == options.file.empty()) {
    return options.file.empty() ? Status(fail(Category::kUsage, "nothing to set is named", "write KEY=VALUE, or use a flag"))
                                : Status(fail(Category::kUsage, "--config-file and single values exclude each other"));
  }
  return {};
}

Status validate_config_unset(const ConfigUnsetOptions& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(validate_addon_guard(options.guard));
  FLEETADM_CHECK(check_name("add-on name", args.front()));
  FLEETADM_CHECK(validate_config_level(options.level));
  const bool single = args.size() > 1 || !options.fields.empty();
  if (single == options.inherit)
    return single ? Status(fail(Category::kUsage, "--inherit goes with no single values"))
                  : Status(fail(Category::kUsage, "nothing to unset is named", "write KEY, or use --field or --inherit"));
  return {};
}

void bind_config_set(FlagSet& flags, ConfigSetOptions& options) {
  bind_config_level(flags, options.level);
  bind_config_values(flags, options.values);
  Flag& file = flags.text(&options.file, "config-file", "File of configurations to apply to the hub and use instead");
  file.value_name = "FILE";
  file.complete = Complete::kFiles;
  bind_addon_guard(flags, options.guard);
}

void bind_config_unset(FlagSet& flags, ConfigUnsetOptions& options) {
  bind_config_level(flags, options.level);
  Flag& field = flags.comma_texts(&options.fields, "field", "Fields to take away");
  field.value_name = "FIELD";
  field.complete = Complete::kValues;
  field.values = config_fields();
  flags.boolean(&options.inherit, "inherit", "Use no configuration of its own there, but the more general one");
  bind_addon_guard(flags, options.guard);
}

}  // namespace

void register_addon_config_set(Registry& registry) {
  Command command;
  command.path = "addon config set";
  command.group = "Add-ons";
  command.summary = "Configure an add-on's agents: variables, nodes, registries, proxies";
  command.description =
      "Edits the AddOnDeploymentConfig that the add-on uses by default, on the clusters of one of its placements, or on single "
      "clusters; where none is named there, one is made of what took effect until then. KEY=VALUE is a variable of the template. "
      "The more special configuration replaces the more general one as a whole. Nothing changes on clusters at once: the change "
      "goes through the rollout of the add-on, and \"rollout undo addon/NAME\" puts the earlier contents back.";
  command.description += kAddonGuardText;
  command.args = {"NAME [KEY=VALUE...]", 1, -1, false, Complete::kAddons};
  command.examples = {
      {"A variable, on all clusters", "fleetadm addon config set hello LEVEL=debug"},
      {"Where it runs, on the clusters of a placement",
       "fleetadm addon config set hello --node-selector disk=ssd --tolerate dedicated:NoSchedule --placement apps/eu --plan"},
      {"A mirror and a proxy, on one cluster",
       "fleetadm addon config set hello --registry quay.io=mirror.example.com --https-proxy http://proxy:3128 --clusters c1 --plan"}};
  command.make = invocation<ConfigSetOptions>(bind_config_set, validate_config_set, run_config_set);
  registry.add(std::move(command));

  command = Command();
  command.path = "addon config unset";
  command.group = "Add-ons";
  command.summary = "Take values from an add-on's configuration";
  command.description =
      "KEY is a variable. With --inherit, a placement or cluster names no configuration of its own any more, and the more general "
      "one takes effect; the object stays on the hub.";
  command.description += kAddonGuardText;
  command.args = {"NAME [KEY...]", 1, -1, false, Complete::kAddons};
  command.examples = {{"The proxy", "fleetadm addon config unset hello --field proxy --plan"},
                      {"What a cluster has of its own", "fleetadm addon config unset hello --inherit --clusters c1 --plan"}};
  command.make = invocation<ConfigUnsetOptions>(bind_config_unset, validate_config_unset, run_config_unset);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
