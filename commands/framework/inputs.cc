#include "commands/framework/inputs.h"

#include <map>

#include "commands/framework/grammar.h"
#include "commands/framework/manifests.h"
#include "commands/framework/schema_check.h"
#include "commands/framework/write_report.h"
#include "core/api/kinds.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

using placement::ObjectKind;

Status add_from_hub(const kube::Client& hub, const kube::Resource& resource, const std::string& ns, placement::Objects& into) {
  return on_hub(hub.list_each(resource, ns, {}, [&](Json&& object) -> Status {
    into.put(std::move(object));
    return {};
  }));
}

Status read_hub(const kube::Client& hub, const std::string& ns, Inputs& into) {
  for (const kube::Resource* resource : {&api::managed_clusters(), &api::managed_cluster_sets()}) {
    FLEETADM_CHECK(add_from_hub(hub, *resource, "", into.objects));
  }
  for (const kube::Resource* resource :
       {&api::managed_cluster_set_bindings(), &api::placements(), &api::placement_decisions(), &api::addon_placement_scores()}) {
    const Status all = add_from_hub(hub, *resource, "", into.objects);
    if (all) continue;
    if (all.error().category != Category::kAuth || all.error().code != 403) return all;
    if (*resource == api::addon_placement_scores()) {
      into.notes.push_back("Add-on scores cannot be read (forbidden) and count as 0.");
      continue;
    }
    FLEETADM_CHECK(add_from_hub(hub, *resource, ns, into.objects));
    if (*resource == api::placement_decisions()) {
      into.notes.push_back("Decisions in other namespaces cannot be read (forbidden); Balance does not count them.");
    }
  }
  return {};
}

/// The items of a typed list ("kind: ManagedClusterList"), which need not name their type; else the object itself.
std::vector<Json> items_of(Json object) {
  const std::string kind = str(object, {"kind"});
  const Json* items = find(object, {"items"});
  if (!kind.ends_with("List") || items == nullptr || !items->is_array()) return {std::move(object)};
  std::vector<Json> out;
  for (const Json& item : *items) {
    if (!item.is_object()) continue;
    Json one = item;
    if (str(one, {"kind"}).empty()) at_or_make(one, {"kind"}) = kind.substr(0, kind.size() - 4);
    if (str(one, {"apiVersion"}).empty()) at_or_make(one, {"apiVersion"}) = str(object, {"apiVersion"});
    out.push_back(std::move(one));
  }
  return out;
}

bool has_namespace(ObjectKind kind) { return kind != ObjectKind::kCluster && kind != ObjectKind::kSet; }

}  // namespace

void bind_inputs(FlagSet& flags, InputFlags& into) {
  filenames_flag(flags, &into.files,
                 "File or folder with the objects, in YAML or JSON (\"-\": standard input), instead of reading from a hub");
  flags.text(&into.now, "now", "Evaluate as of this time (default: now)").value_name = "TIME";
}

Status add_files(Context& context, const std::vector<std::string>& files, const std::string& default_ns, Inputs& into) {
  FLEETADM_TRY(std::vector<LoadedManifest> loaded, load_manifests(context, files));
  std::map<std::string, int> others;
  std::map<std::string, std::string> seen;
  KindSchema schema(api::placements());
  for (LoadedManifest& manifest : loaded) {
    for (Json& object : items_of(std::move(manifest.object))) {
      const auto kind = placement::object_kind(object);
      if (!kind) {
        ++others[str(object, {"kind"}, "no kind")];
        continue;
      }
      if (name_of(object).empty()) {
        return fail(Category::kInvalid,
                    manifest.where() + ": the " + std::string(placement::kind_name(*kind)) + " has no metadata.name");
      }
      if (has_namespace(*kind) && namespace_of(object).empty()) at_or_make(object, {"metadata", "namespace"}) = default_ns;
      const std::string full = has_namespace(*kind) ? namespace_of(object) + "/" + name_of(object) : name_of(object);
      const std::string identity = std::string(placement::kind_name(*kind)) + " " + full;
      if (const auto [first, fresh] = seen.emplace(identity, manifest.where()); !fresh) {
        return fail(Category::kInvalid, manifest.where() + ": " + identity + " is already in " + first->second,
                    "omit one of the two");
      }
      if (*kind == ObjectKind::kPlacement) {
        FLEETADM_CHECK(schema.check(object, manifest.where(), into.notes));
        placement::apply_placement_defaults(object);
      }
      into.objects.put(std::move(object));
    }
  }
  if (others.empty()) return {};
  int count = 0;
  std::string kinds;
  for (const auto& [kind, many] : others) {
    count += many;
    kinds += (kinds.empty() ? "" : ", ") + kind;
  }
  into.notes.push_back("Ignored " + pluralize(static_cast<std::uint64_t>(count), "object") +
                       " of kinds that the scheduler does not read: " + kinds);
  return {};
}

Result<std::string> input_namespace(Context& context, const InputFlags& flags) {
  if (flags.files.empty()) return context.ns();
  return context.global().config.ns.empty() ? std::string("default") : context.global().config.ns;
}

Result<Inputs> read_hub_inputs(const kube::Client& hub, Instant now, const std::string& ns) {
  Inputs inputs;
  inputs.now = now;
  FLEETADM_CHECK(read_hub(hub, ns, inputs));
  return inputs;
}

Result<Inputs> read_inputs(Context& context, const InputFlags& flags, const std::string& ns) {
  Inputs inputs;
  inputs.now = context.clock().now();
  if (!flags.now.empty()) {
    const auto given = parse_time(flags.now);
    if (!given)
      return fail(Category::kUsage, "--now \"" + flags.now + "\" is not a valid time",
                  "use RFC 3339, for example 2026-03-01T10:00:00Z");
    inputs.now = *given;
  }
  if (flags.files.empty()) {
    FLEETADM_TRY(const kube::Client hub, context.client());
    FLEETADM_CHECK(read_hub(hub, ns, inputs));
  } else {
    FLEETADM_CHECK(add_files(context, flags.files, ns, inputs));
  }
  return inputs;
}

}  // namespace fleetadm::commands
