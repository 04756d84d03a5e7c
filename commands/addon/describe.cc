// addon describe: what the hub knows of one add-on, for people.
#include <algorithm>
#include <map>

#include "commands/addon/addon.h"
#include "commands/framework/addon_change.h"
#include "commands/framework/description.h"
#include "commands/framework/listing.h"
#include "commands/framework/write_report.h"
#include "core/addon/rules/names.h"
#include "core/api/kinds.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::commands {
namespace {

using work::Phase;

constexpr std::size_t kMostClusters = 50;  // of the text; -o json has all

struct DescribeAddonOptions {};

/// Everything that is told, read once.
struct AddonPicture {
  std::string name;
  addon::AddonRolloutObjects read;
  addon::ObjectPtr declaration;
  std::optional<addon::RolloutStanding> standing;  // nullopt: its own manager rolls it out
  std::string standing_trouble;
  std::map<std::string, std::size_t> works;  // by cluster
};

Result<AddonPicture> read_picture(const kube::Client& hub, const std::string& name, Instant now) {
  AddonPicture picture;
  picture.name = name;
  FLEETADM_TRY(picture.read, addon_objects(hub, name));
  picture.declaration = picture.read.declaration(name);
  auto standing = addon::rollout_standing(picture.read.objects, name, picture.read.known(), now);
  if (standing) {
    picture.standing = std::move(*standing);
  } else {
    picture.standing_trouble = standing.error().message;
  }
  kube::ListOptions which;
  which.label_selector = std::string(api::kAddonNameLabel) + "=" + name;
  FLEETADM_CHECK(hub.list_each(api::manifest_works(), "", which, [&](const Json& work) -> Status {
    const std::string of = label_of(work, addon::kAddonNamespaceLabel);
    ++picture.works[of.empty() ? namespace_of(work) : of];
    return {};
  }));
  return picture;
}

// --- the parts, as data -------------------------------------------------------------------------------------------------------

Json config_entry(const addon::DesiredConfig& config) {
  Json entry = addon::to_json(config);
  entry["group"] = config.key.type.group;
  entry["resource"] = config.key.type.resource;
  return entry;
}

Json config_entries(const std::vector<addon::DesiredConfig>& configs) {
  Json list = Json::array();
  for (const addon::DesiredConfig& one : configs) list.push_back(config_entry(one));
  return list;
}

Json placement_parts(const AddonPicture& picture, const addon::RevisionConfigs& configs) {
  Json list = Json::array();
  for (const Json& one : list_at(*picture.declaration, {"spec", "installStrategy", "placements"})) {
    const std::string key = str(one, {"namespace"}) + "/" + str(one, {"name"});
    Json part{{"placement", key}, {"strategy", str(one, {"rolloutStrategy", "type"}, "All")}, {"configs", Json::array()}};
    for (const char* body : {"all", "progressive", "progressivePerGroup"}) {
      if (const Json& details = object_at(one, {"rolloutStrategy", body}); !details.empty()) part["details"] = details;
    }
    if (const auto own = configs.placements.find(key); own != configs.placements.end())
      part["configs"] = config_entries(own->second);
    part["exists"] = picture.read.objects.get(addon::placements(), str(one, {"namespace"}), str(one, {"name"})) != nullptr;
    for (const Json& progression : list_at(*picture.declaration, {"status", "installProgressions"})) {
      if (str(progression, {"namespace"}) + "/" + str(progression, {"name"}) == key)
        part["conditions"] = told_conditions(list_at(progression, {"conditions"}));
    }
    list.push_back(std::move(part));
  }
  return list;
}

Json template_parts(const AddonPicture& picture, const addon::RevisionConfigs& configs) {
  Json list = Json::array();
  std::set<std::string> told;
  for (const addon::DesiredConfig& config : configs.all()) {
    if (config.key.type != addon::addon_templates() || !told.insert(config.key.name).second) continue;
    const addon::ObjectPtr object = picture.read.objects.get(config.key.type, {}, config.key.name);
    Json part{
        {"name", config.key.name}, {"exists", object != nullptr}, {"manifests", Json::array()}, {"registrations", Json::array()}};
    if (object) {
      for (const Json& manifest : list_at(*object, {"spec", "agentSpec", "workload", "manifests"})) {
        const std::string ns = namespace_of(manifest);
        part["manifests"].push_back(str(manifest, {"kind"}) + " " + (ns.empty() ? "" : ns + "/") + name_of(manifest));
      }
      for (const Json& one : list_at(*object, {"spec", "registration"})) part["registrations"].push_back(str(one, {"type"}));
    }
    list.push_back(std::move(part));
  }
  return list;
}

Json cluster_parts(const AddonPicture& picture) {
  std::map<std::string, Json> parts;
  for (const addon::ObjectPtr& one : picture.read.objects.addons_named(picture.name)) {
    const std::string cluster = namespace_of(*one);
    const auto works = picture.works.find(cluster);
    parts[cluster] = {{"cluster", cluster},
                      {"available", condition_cell(*one, "Available")},
                      {"works", works == picture.works.end() ? 0 : works->second},
                      {"conditions", told_conditions(list_at(*one, {"status", "conditions"}))}};
    Json configs = Json::array();
    for (const Json& entry : list_at(*one, {"spec", "configs"})) configs.push_back(addon::config_key(entry).text());
    if (!configs.empty()) parts[cluster]["ownConfigs"] = std::move(configs);
    if (is_deleting(*one)) parts[cluster]["deleting"] = true;
  }
  if (picture.standing) {
    for (const addon::ClusterStanding& one : picture.standing->clusters) {
      Json& part = parts[one.cluster];
      if (part.is_null()) part = {{"cluster", one.cluster}, {"available", "<none>"}, {"works", 0}, {"conditions", Json::array()}};
      part["phase"] = to_string(one.phase);
      if (!one.placement.empty()) part["placement"] = one.placement;
      if (!one.why.empty()) part["why"] = one.why;
    }
  }
  Json list = Json::array();
  for (auto& [cluster, part] : parts) list.push_back(std::move(part));
  return list;
}

Json rollout_part(const AddonPicture& picture) {
  Json part = Json::object();
  const auto revisions = addon::addon_revisions(*picture.declaration);
  if (!revisions.empty()) part["revision"] = revisions.back().number;
  if (!picture.standing) {
    part["trouble"] = picture.standing_trouble;
    return part;
  }
  const addon::RolloutStanding& standing = *picture.standing;
  part["paused"] = standing.paused;
  part["done"] = standing.count(Phase::kDone);
  part["clusters"] = standing.clusters.size() - standing.count(Phase::kSkipped);
  part["failed"] = standing.count(Phase::kFailed) + standing.count(Phase::kTimedOut);
  if (standing.missing) part["missing"] = standing.missing->text();
  return part;
}

// --- the parts, as text -------------------------------------------------------------------------------------------------------

std::string config_text(const Json& config) {
  const std::string ns = str(config, {"namespace"});
  const std::string hash = str(config, {"specHash"});
  return str(config, {"resource"}) + " " + (ns.empty() ? "" : ns + "/") + str(config, {"name"}) +
         (hash.empty() ? " (does not exist or cannot be read)" : " (" + hash.substr(0, 12) + ")");
}

void describe_placements(const Json& data, Instant now, std::vector<std::string>& lines) {
  lines.emplace_back("Placements:");
  if (list_at(data, {"placements"}).empty()) lines.emplace_back("  <none>");
  for (const Json& one : list_at(data, {"placements"})) {
    std::string text = "  " + str(one, {"placement"}) + ": " + str(one, {"strategy"});
    for (const auto& [member, value] : object_at(one, {"details"}).items())
      text += ", " + member + " " + (value.is_string() ? value.get<std::string>() : dump_json(value));
    lines.push_back(text + (flag(one, {"exists"}) ? "" : " (does not exist)"));
    for (const Json& config : list_at(one, {"configs"})) lines.push_back("    " + config_text(config));
    for (const Json& condition : list_at(one, {"conditions"})) lines.push_back("    " + condition_text(condition, now));
  }
}

void describe_templates(const Json& data, std::vector<std::string>& lines) {
  for (const Json& one : list_at(data, {"templates"})) {
    if (!flag(one, {"exists"})) {
      lines.push_back(described("Template", str(one, {"name"}) + " (does not exist or cannot be read)"));
      continue;
    }
    const auto manifests = string_list_at(one, {"manifests"});
    const auto registrations = string_list_at(one, {"registrations"});
    lines.push_back(
        described("Template", str(one, {"name"}) + ", " + pluralize(static_cast<std::uint64_t>(manifests.size()), "manifest") +
                                  (registrations.empty() ? ", no registration with the hub"
                                                         : ", registers with the hub: " + joined(registrations, ", "))));
    for (const std::string& manifest : manifests) lines.push_back("  " + manifest);
  }
}

void describe_rollout(const Json& data, std::vector<std::string>& lines) {
  const Json& part = object_at(data, {"rollout"});
  if (const std::string trouble = str(part, {"trouble"}); !trouble.empty()) {
    lines.push_back(described("Rollout", trouble));
    return;
  }
  std::string text = std::to_string(num(part, {"done"})) + " of " + std::to_string(num(part, {"clusters"})) + " clusters done";
  if (num(part, {"failed"}) > 0) text += ", " + std::to_string(num(part, {"failed"})) + " failed";
  if (num(part, {"revision"}) > 0) text = "revision " + std::to_string(num(part, {"revision"})) + ", " + text;
  if (flag(part, {"paused"})) text += ", paused";
  if (const std::string missing = str(part, {"missing"}); !missing.empty()) text += "; " + missing + " does not exist";
  lines.push_back(described("Rollout", text));
}

bool is_troubled(const Json& condition) {
  const std::string type = str(condition, {"type"});
  const std::string status = str(condition, {"status"});
  if (type == "Progressing") return str(condition, {"reason"}) != "Completed";
  if (type == "Degraded") return status != "False";
  return status != "True";
}

void describe_clusters(const Json& data, Instant now, std::vector<std::string>& lines) {
  lines.emplace_back("Clusters:");
  const Json& clusters = list_at(data, {"clusters"});
  if (clusters.empty()) lines.emplace_back("  <none>");
  for (std::size_t i = 0; i < clusters.size() && i < kMostClusters; ++i) {
    const Json& one = clusters[i];
    std::string text = "  " + str(one, {"cluster"}) + ": available " + str(one, {"available"});
    if (const std::string phase = str(one, {"phase"}); !phase.empty()) text += ", " + phase;
    text += ", " + pluralize(static_cast<std::uint64_t>(num(one, {"works"})), "work");
    if (flag(one, {"deleting"})) text += ", being removed";
    if (const std::string why = str(one, {"why"}); !why.empty()) text += " (" + why + ")";
    lines.push_back(std::move(text));
    for (const std::string& config : string_list_at(one, {"ownConfigs"})) lines.push_back("    own " + config);
    for (const Json& condition : list_at(one, {"conditions"})) {
      if (is_troubled(condition)) lines.push_back("    " + condition_text(condition, now));
    }
  }
  if (clusters.size() > kMostClusters)
    lines.push_back("  and " + std::to_string(clusters.size() - kMostClusters) + " more (-o json shows all)");
}

Result<Report> run_describe(Context& context, const DescribeAddonOptions&, const std::vector<std::string>& args) {
  FLEETADM_TRY(const kube::Client hub, context.client());
  const Instant now = context.clock().now();
  FLEETADM_TRY(const AddonPicture picture, read_picture(hub, args.front(), now));
  const Json& declaration = *picture.declaration;
  const addon::RevisionConfigs configs = addon::live_configs(picture.read.objects, declaration, picture.read.known());
  Report report;
  report.names.push_back(full_name(api::cluster_management_addons(), picture.name));
  report.data = {{"kind", "AddonDescription"},
                 {"name", picture.name},
                 {"displayName", str(declaration, {"spec", "addOnMeta", "displayName"})},
                 {"description", str(declaration, {"spec", "addOnMeta", "description"})},
                 {"labels", object_at(declaration, {"metadata", "labels"})},
                 {"created", str(declaration, {"metadata", "creationTimestamp"})},
                 {"installStrategy", str(declaration, {"spec", "installStrategy", "type"}, "Manual")},
                 {"managed", addon::is_managed(declaration)},
                 {"defaultConfigs", config_entries(configs.defaults)},
                 {"placements", placement_parts(picture, configs)},
                 {"templates", template_parts(picture, configs)},
                 {"rollout", rollout_part(picture)},
                 {"clusters", cluster_parts(picture)}};
  std::vector<std::string>& lines = report.lines;
  lines.push_back(described("Name", picture.name));
  lines.push_back(described("Display Name", or_none(str(report.data, {"displayName"}))));
  lines.push_back(described("Description", or_none(str(report.data, {"description"}))));
  for (const auto& [key, value] : strings_at(declaration, {"metadata", "labels"}))
    lines.push_back(described("Label", key + "=" + value));
  lines.push_back(described("Age", age_cell(declaration, now)));
  lines.push_back(
      described("Installed", str(report.data, {"installStrategy"}) == "Placements" ? "by placements" : "cluster by cluster"));
  lines.push_back(described("Managed By", flag(report.data, {"managed"}) ? "the hub's controllers" : "its own manager"));
  lines.emplace_back("Default Configs:");
  if (configs.defaults.empty()) lines.emplace_back("  <none>");
  for (const Json& config : list_at(report.data, {"defaultConfigs"})) lines.push_back("  " + config_text(config));
  describe_placements(report.data, now, lines);
  describe_templates(report.data, lines);
  describe_rollout(report.data, lines);
  describe_clusters(report.data, now, lines);
  return report;
}

}  // namespace

void register_addon_describe(Registry& registry) {
  Command command;
  command.path = "addon describe";
  command.group = "Add-ons";
  command.summary = "Show everything the hub knows about an add-on";
  command.description =
      "Its declaration, how it is installed and rolled out, its default configurations with the hashes of their contents, its "
      "templates, and how it stands on each cluster, with the conditions that are not as they should be.";
  command.args = {"NAME", 1, 1, false, Complete::kAddons};
  command.aliases = {"describe addon"};
  command.examples = {{"For people", "fleetadm addon describe hello"},
                      {"The clusters where it is not available",
                       "fleetadm addon describe hello -o jsonpath='{.clusters[?(@.available==\"False\")].cluster}'"}};
  command.make = invocation<DescribeAddonOptions>(
      [](FlagSet&, DescribeAddonOptions&) {},
      [](const DescribeAddonOptions&, const std::vector<std::string>& args) { return check_name("add-on name", args.front()); },
      run_describe);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
