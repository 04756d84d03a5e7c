#include "core/addon/rules/rollout_revisions.h"

#include <algorithm>
#include <set>
#include <utility>

namespace fleetadm::addon {
namespace {

std::string placement_key(const Json& entry) { return str(entry, {"namespace"}) + "/" + str(entry, {"name"}); }

/// The configurations of `entries`, with the hashes that `references` tell.
std::vector<DesiredConfig> with_hashes(const Json& entries, const Json& references) {
  std::vector<DesiredConfig> configs;
  for (const Json& entry : entries) {
    DesiredConfig config{config_key(entry), {}};
    if (config.key.name.empty() || config.key.name == kNoDefaultName) continue;
    for (const Json& reference : references) {
      const std::optional<DesiredConfig> known = config_of(reference);
      if (known && known->key == config.key) config.hash = known->hash;
    }
    configs.push_back(std::move(config));
  }
  return configs;
}

bool same_list(const std::vector<DesiredConfig>& a, const std::vector<DesiredConfig>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const DesiredConfig& one, const DesiredConfig& other) {
    return one.key == other.key && (one.hash == other.hash || one.hash.empty() || other.hash.empty());
  });
}

const std::vector<DesiredConfig>& of_placement(const RevisionConfigs& configs, const std::string& placement) {
  static const std::vector<DesiredConfig> kNone;
  const auto found = configs.placements.find(placement);
  return found == configs.placements.end() ? kNone : found->second;
}

std::set<std::string> placements_of(const RevisionConfigs& a, const RevisionConfigs& b) {
  std::set<std::string> keys;
  for (const RevisionConfigs* one : {&a, &b}) {
    for (const auto& [key, configs] : one->placements) keys.insert(key);
  }
  return keys;
}

Json named_entry(const DesiredConfig& config) {
  Json entry{{"group", config.key.type.group}, {"resource", config.key.type.resource}, {"name", config.key.name}};
  if (!config.key.ns.empty()) entry["namespace"] = config.key.ns;
  return entry;
}

Json noted(const std::vector<DesiredConfig>& configs) {
  Json list = Json::array();
  for (const DesiredConfig& config : configs) {
    list.push_back(named_entry(config));
    list.back()["specHash"] = config.hash;
  }
  return list;
}

std::vector<DesiredConfig> read_noted(const Json& list) {
  std::vector<DesiredConfig> configs;
  for (const Json& entry : list) configs.push_back({config_key(entry), str(entry, {"specHash"})});
  return configs;
}

Json to_json(const AddonRevision& revision) {
  Json entry{{"revision", revision.number}, {"defaults", noted(revision.configs.defaults)}};
  if (!revision.by.empty()) entry["by"] = revision.by;
  if (revision.copied_from > 0) entry["copiedFrom"] = revision.copied_from;
  if (revision.started) entry["started"] = format_time(*revision.started);
  if (revision.finished) entry["finished"] = format_time(*revision.finished);
  if (revision.aborted) entry["aborted"] = true;
  for (const auto& [placement, configs] : revision.configs.placements) entry["placements"][placement] = noted(configs);
  return entry;
}

AddonRevision read_revision(const Json& entry) {
  AddonRevision revision;
  revision.number = num(entry, {"revision"});
  revision.by = str(entry, {"by"});
  revision.copied_from = num(entry, {"copiedFrom"});
  revision.started = parse_time(str(entry, {"started"}));
  revision.finished = parse_time(str(entry, {"finished"}));
  revision.aborted = flag(entry, {"aborted"});
  revision.configs.defaults = read_noted(list_at(entry, {"defaults"}));
  for (const auto& [placement, configs] : object_at(entry, {"placements"}).items()) {
    if (configs.is_array()) revision.configs.placements[placement] = read_noted(configs);
  }
  return revision;
}

void write_revisions(Json& declaration, const std::vector<AddonRevision>& revisions) {
  Json list = Json::array();
  for (const AddonRevision& one : revisions) list.push_back(to_json(one));
  std::string text = dump_json(list);
  while (!list.empty() && (list.size() > kAddonRevisionLimit || text.size() > kRevisionBytes)) {
    list.erase(list.begin());
    text = dump_json(list);
  }
  if (list.empty()) return;
  at_or_make(declaration, {"metadata", "annotations", kRevisionsAnnotation}) = std::move(text);
}

/// The hashes that `known` has and `configs` has not.
void complete_hashes(std::vector<DesiredConfig>& configs, const std::vector<DesiredConfig>& known) {
  for (std::size_t i = 0; i < configs.size() && i < known.size(); ++i) {
    if (configs[i].hash.empty()) configs[i].hash = known[i].hash;
  }
}

std::map<GroupResource, std::vector<DesiredConfig>> by_type(const std::vector<DesiredConfig>& configs) {
  std::map<GroupResource, std::vector<DesiredConfig>> types;
  for (const DesiredConfig& config : configs) types[config.key.type].push_back(config);
  return types;
}

void add_changes(const std::string& placement, const std::vector<DesiredConfig>& before, const std::vector<DesiredConfig>& after,
                 std::vector<ConfigChange>& changes) {
  auto now = by_type(before);
  auto then = by_type(after);
  std::set<GroupResource> types;
  for (const auto& [type, configs] : now) types.insert(type);
  for (const auto& [type, configs] : then) types.insert(type);
  for (const GroupResource& type : types) {
    if (!same_list(now[type], then[type])) changes.push_back({placement, type, now[type], then[type]});
  }
}

std::string names_of(const std::vector<DesiredConfig>& configs) {
  std::string text;
  for (const DesiredConfig& config : configs)
    text += (text.empty() ? "" : ", ") + (config.key.ns.empty() ? "" : config.key.ns + "/") + config.key.name;
  return text.empty() ? "none" : text;
}

}  // namespace

bool RevisionConfigs::none() const {
  return defaults.empty() &&
         std::all_of(placements.begin(), placements.end(), [](const auto& one) { return one.second.empty(); });
}

bool RevisionConfigs::known() const {
  const std::vector<DesiredConfig> configs = all();
  return std::none_of(configs.begin(), configs.end(), [](const DesiredConfig& one) { return one.hash.empty(); });
}

std::vector<DesiredConfig> RevisionConfigs::all() const {
  std::vector<DesiredConfig> configs = defaults;
  for (const auto& [placement, own] : placements) configs.insert(configs.end(), own.begin(), own.end());
  return configs;
}

void RevisionConfigs::drop(const std::string& placement, const GroupResource& type) {
  std::vector<DesiredConfig>& own = placement.empty() ? defaults : placements[placement];
  std::erase_if(own, [&](const DesiredConfig& one) { return one.key.type == type; });
}

void RevisionConfigs::name(const std::string& placement, const DesiredConfig& config) {
  drop(placement, config.key.type);
  (placement.empty() ? defaults : placements[placement]).push_back(config);
}

RevisionConfigs configs_now(const Json& declaration) {
  RevisionConfigs configs;
  configs.defaults =
      with_hashes(list_at(declaration, {"spec", "defaultConfigs"}), list_at(declaration, {"status", "defaultConfigReferences"}));
  for (const Json& placement : list_at(declaration, {"spec", "installStrategy", "placements"})) {
    Json references = Json::array();
    for (const Json& one : list_at(declaration, {"status", "installProgressions"})) {
      if (placement_key(one) == placement_key(placement)) references = list_at(one, {"configReferences"});
    }
    configs.placements[placement_key(placement)] = with_hashes(list_at(placement, {"configs"}), references);
  }
  return configs;
}

bool same_configs(const RevisionConfigs& a, const RevisionConfigs& b) {
  if (!same_list(a.defaults, b.defaults)) return false;
  const std::set<std::string> keys = placements_of(a, b);
  return std::all_of(keys.begin(), keys.end(),
                     [&](const std::string& key) { return same_list(of_placement(a, key), of_placement(b, key)); });
}

std::vector<AddonRevision> addon_revisions(const Json& declaration) {
  std::vector<AddonRevision> revisions;
  const Result<Json> list = parse_json(annotation_of(declaration, kRevisionsAnnotation));
  if (!list || !list->is_array()) return revisions;
  for (const Json& entry : *list) {
    AddonRevision revision = read_revision(entry);
    if (revision.number > (revisions.empty() ? 0 : revisions.back().number)) revisions.push_back(std::move(revision));
  }
  return revisions;
}

void note_revision(Json& declaration, const RevisionConfigs& configs, const RevisionNote& note, Instant now) {
  if (configs.none()) return;
  std::vector<AddonRevision> revisions = addon_revisions(declaration);
  if (revisions.empty() || !same_configs(revisions.back().configs, configs)) {
    AddonRevision next;
    next.number = revisions.empty() ? 1 : revisions.back().number + 1;
    next.by = note.by;
    next.copied_from = note.copied_from;
    next.started = now;
    next.configs = configs;
    revisions.push_back(std::move(next));
  } else {
    AddonRevision& newest = revisions.back();
    RevisionConfigs known = configs;
    complete_hashes(known.defaults, newest.configs.defaults);
    for (auto& [placement, own] : known.placements) complete_hashes(own, of_placement(newest.configs, placement));
    newest.configs = std::move(known);
    if (newest.by.empty()) newest.by = note.by;
    if (newest.copied_from == 0) newest.copied_from = note.copied_from;
  }
  if (note.gives_up && revisions.size() > 1) revisions[revisions.size() - 2].aborted = true;
  write_revisions(declaration, revisions);
}

void finish_revision(Json& declaration, const RevisionConfigs& configs, Instant now) {
  std::vector<AddonRevision> revisions = addon_revisions(declaration);
  const auto found = std::find_if(revisions.rbegin(), revisions.rend(),
                                  [&](const AddonRevision& one) { return same_configs(one.configs, configs); });
  if (found == revisions.rend() || found->finished) return;
  found->finished = now;
  write_revisions(declaration, revisions);
}

std::string ConfigChange::text() const {
  const std::string where = (placement.empty() ? "default " : "placement " + placement + ": ") + type.resource + " ";
  const std::string from = names_of(before);
  const std::string to = names_of(after);
  return from == to ? where + to + ": contents" : where + from + " -> " + to;
}

std::vector<ConfigChange> config_changes(const RevisionConfigs& before, const RevisionConfigs& after) {
  std::vector<ConfigChange> changes;
  add_changes({}, before.defaults, after.defaults, changes);
  for (const auto& [placement, own] : after.placements) {
    const auto now = before.placements.find(placement);
    if (now != before.placements.end()) add_changes(placement, now->second, own, changes);
  }
  return changes;
}

void set_configs(Json& declaration, const RevisionConfigs& configs) {
  std::map<GroupResource, std::vector<DesiredConfig>> wanted = by_type(configs.defaults);
  Json defaults = Json::array();
  std::set<GroupResource> placed;
  for (const Json& entry : list_at(declaration, {"spec", "defaultConfigs"})) {
    const GroupResource type = config_key(entry).type;
    if (!placed.insert(type).second) continue;
    for (const DesiredConfig& config : wanted[type]) defaults.push_back(named_entry(config));
    if (wanted[type].empty())
      defaults.push_back({{"group", type.group}, {"resource", type.resource}, {"name", std::string(kNoDefaultName)}});
  }
  for (const auto& [type, own] : wanted) {
    if (placed.contains(type)) continue;
    for (const DesiredConfig& config : own) defaults.push_back(named_entry(config));
  }
  if (!defaults.empty()) at_or_make(declaration, {"spec", "defaultConfigs"}) = std::move(defaults);
  if (list_at(declaration, {"spec", "installStrategy", "placements"}).empty()) return;
  for (Json& placement : at_or_make(declaration, {"spec", "installStrategy", "placements"})) {
    const auto own = configs.placements.find(placement_key(placement));
    if (own == configs.placements.end()) continue;
    if (own->second.empty()) {
      erase_at(placement, {"configs"});
      continue;
    }
    Json& entries = at_or_make(placement, {"configs"});
    entries = Json::array();
    for (const DesiredConfig& config : own->second) entries.push_back(named_entry(config));
  }
}

}  // namespace fleetadm::addon
