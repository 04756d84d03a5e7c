#include "core/work/rules/replica_set_revisions.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/work/rules/replica_set_state.h"

namespace fleetadm::work {
namespace {

constexpr const char* kHash = "fleetadm.io/template-hash";
constexpr const char* kStarted = "fleetadm.io/rollout-started-at";
constexpr const char* kBy = "fleetadm.io/rollout-by";
constexpr const char* kCopiedFrom = "fleetadm.io/rollout-copied-from";

std::int64_t number_of(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value > 0 ? value : 0;
}

}  // namespace

const kube::Resource& controller_revisions() {
  static const kube::Resource resource{"apps", "v1", "controllerrevisions", "ControllerRevision", true};
  return resource;
}

Json new_revision(const Json& set, const RevisionStart& start, Instant now) {
  const Json& wanted = object_at(set, {"spec", "manifestWorkTemplate"});
  Json object = Json::object({{"apiVersion", "apps/v1"}, {"kind", "ControllerRevision"}, {"revision", start.number}});
  Json annotations = Json::object({{kHash, work_spec_hash(wanted)}, {kStarted, format_time(now)}});
  if (!start.by.empty()) annotations[kBy] = start.by;
  if (start.copied_from > 0) annotations[kCopiedFrom] = std::to_string(start.copied_from);
  object["metadata"] = Json::object({{"name", name_of(set) + "-rollout-" + std::to_string(start.number)},
                                     {"namespace", namespace_of(set)},
                                     {"labels", Json::object({{kRevisionOfLabel, name_of(set)}})},
                                     {"annotations", std::move(annotations)}});
  object["metadata"]["ownerReferences"] = Json::array({Json::object({{"apiVersion", "work.open-cluster-management.io/v1alpha1"},
                                                                     {"kind", "ManifestWorkReplicaSet"},
                                                                     {"name", name_of(set)},
                                                                     {"uid", uid_of(set)},
                                                                     {"controller", true}})});
  object["data"] = Json::object({{"manifestWorkTemplate", wanted}, {"members", Json(start.members)}});
  return object;
}

void project_revision(Json& object) {
  erase_at(object, {"data", "manifestWorkTemplate"});
  erase_at(object, {"metadata", "managedFields"});
}

Revision decode_revision(const Json& object) {
  Revision revision;
  revision.number = num(object, {"revision"});
  revision.ns = namespace_of(object);
  revision.name = name_of(object);
  revision.uid = uid_of(object);
  for (const Json& owner : list_at(object, {"metadata", "ownerReferences"})) {
    if (str(owner, {"kind"}) == "ManifestWorkReplicaSet") revision.owner_uid = str(owner, {"uid"});
  }
  revision.hash = annotation_of(object, kHash);
  revision.by = annotation_of(object, kBy);
  revision.copied_from = number_of(annotation_of(object, kCopiedFrom));
  revision.started = parse_time(annotation_of(object, kStarted));
  revision.finished = parse_time(annotation_of(object, kFinishedAnnotation));
  revision.outcome = annotation_of(object, kOutcomeAnnotation);
  for (const auto& [placement, clusters] : object_at(object, {"data", "members"}).items()) {
    std::set<std::string>& members = revision.members[placement];
    for (const Json& cluster : clusters) {
      if (cluster.is_string()) members.insert(cluster.get<std::string>());
    }
  }
  return revision;
}

std::vector<Revision> revisions_of(const Json& set, const std::vector<Json>& objects) {
  std::vector<Revision> revisions;
  for (const Json& object : objects) {
    if (is_deleting(object)) continue;
    Revision revision = decode_revision(object);
    if (revision.owner_uid == uid_of(set) && label_of(object, kRevisionOfLabel) == name_of(set))
      revisions.push_back(std::move(revision));
  }
  std::sort(revisions.begin(), revisions.end(), [](const Revision& a, const Revision& b) { return a.number < b.number; });
  return revisions;
}

Control control_of(const Json& set) {
  Control control;
  control.paused = annotation_of(set, kPausedAnnotation) == "true";
  control.aborted = number_of(annotation_of(set, kAbortedAnnotation));
  control.retry_at = parse_time(annotation_of(set, kRetryAnnotation));
  return control;
}

std::string changed_by(const Json& set) {
  const std::string noted = annotation_of(set, kChangedByAnnotation);
  const std::string prefix = work_spec_hash(object_at(set, {"spec", "manifestWorkTemplate"})) + " ";
  if (noted.size() > prefix.size() && noted.starts_with(prefix)) return noted.substr(prefix.size());
  std::string manager;
  std::string latest;
  for (const Json& entry : list_at(set, {"metadata", "managedFields"})) {
    const bool spec = find(entry, {"fieldsV1", "f:spec"}) != nullptr && str(entry, {"subresource"}).empty();
    if (!spec || str(entry, {"time"}) < latest) continue;
    latest = str(entry, {"time"});
    manager = str(entry, {"manager"});
  }
  return manager;
}

}  // namespace fleetadm::work
