#include "core/placement/hub/publish.h"

#include "core/api/kinds.h"

namespace fleetadm::placement {
namespace {

class Publisher {
 public:
  Publisher(const kube::Client& hub, kube::Recorder& recorder, const Json& placement, const Pass& pass,
            std::map<std::string, Json> known, Superseded& replaced)
      : hub_(hub),
        recorder_(recorder),
        placement_(placement),
        pass_(pass),
        ns_(namespace_of(placement)),
        known_(std::move(known)),
        replaced_(replaced) {}

  Status make(const Write& write) {
    switch (write.kind) {
      case Write::Kind::kCreate: return create(write);
      case Write::Kind::kLabels: return patch(write.decision, {}, {{"labels", write.object}}, Json());
      case Write::Kind::kEntries: return entries(write);
      case Write::Kind::kDelete: return remove(write);
    }
    return {};
  }

 private:
  Status create(const Write& write) {
    FLEETADM_TRY(Json stored, hub_.create(api::placement_decisions(), ns_, write.object));
    replaced_[write.decision].insert("");
    known_[write.decision] = std::move(stored);
    tell("Normal", "DecisionCreate", "DecisionCreated", about(write.decision, "created"));
    return {};
  }

  Status entries(const Write& write) {
    FLEETADM_CHECK(patch(write.decision, "status", Json::object(), {{"decisions", entries_json(write.clusters)}}));
    const bool warned = pass_.verdict.code == Code::kWarning;
    std::string note = about(write.decision, "updated");
    if (warned) note += ": " + pass_.verdict.message + " in plugin " + pass_.verdict.plugin;
    tell(warned ? "Warning" : "Normal", "DecisionUpdate", "DecisionUpdated", note);
    if (!pass_.score_note.empty()) tell("Normal", "ScoreUpdate", "ScoreUpdated", pass_.score_note);
    return {};
  }

  Status remove(const Write& write) {
    const Json& object = known_[write.decision];
    kube::DeleteOptions options;
    options.uid = uid_of(object);
    options.resource_version = resource_version_of(object);
    auto removed = hub_.remove(api::placement_decisions(), ns_, write.decision, options);
    if (!removed && removed.error().category != Category::kNotFound) return tl::unexpected(std::move(removed).error());
    replaced_[write.decision].insert(resource_version_of(object));
    if (removed) tell("Normal", "DecisionDelete", "DecisionDeleted", about(write.decision, "deleted"));
    return {};
  }

  // A merge patch that holds only for the object as it is known.
  Status patch(const std::string& name, std::string_view subresource, Json metadata, Json status) {
    const Json& object = known_[name];
    metadata["uid"] = uid_of(object);
    metadata["resourceVersion"] = resource_version_of(object);
    Json body{{"metadata", std::move(metadata)}};
    if (!status.is_null()) body["status"] = std::move(status);
    kube::WriteOptions options;
    options.subresource = subresource;
    FLEETADM_TRY(Json stored, hub_.patch(api::placement_decisions(), ns_, name, kube::PatchType::kMerge, body, options));
    // A patch that changes nothing leaves the version as it is, and there is nothing to wait for.
    if (resource_version_of(stored) != resource_version_of(object)) replaced_[name].insert(resource_version_of(object));
    known_[name] = std::move(stored);
    return {};
  }

  std::string about(const std::string& decision, std::string_view what) const {
    return "Decision " + decision + " is " + std::string(what) + " with placement " + name_of(placement_) + " in namespace " +
           ns_;
  }
  void tell(std::string_view type, std::string_view reason, std::string_view action, std::string_view note) {
    recorder_.event(placement_, ns_, type, reason, action, note);
  }

  const kube::Client& hub_;
  kube::Recorder& recorder_;
  const Json& placement_;
  const Pass& pass_;
  std::string ns_;
  std::map<std::string, Json> known_;
  Superseded& replaced_;
};

}  // namespace

Status publish(const kube::Client& hub, kube::Recorder& recorder, const Json& placement, const Pass& pass,
               const std::map<std::string, Json>& existing, Instant now, Published& published) {
  Publisher publisher(hub, recorder, placement, pass, existing, published.decisions);
  for (const Write& write : plan_writes(placement, pass, existing)) FLEETADM_CHECK(publisher.make(write));
  Json change = kube::merge_diff(object_at(placement, {"status"}), wanted_status(placement, pass, now));
  if (change.empty()) return {};
  kube::WriteOptions options;
  options.subresource = "status";
  const Json body{{"metadata", {{"uid", uid_of(placement)}, {"resourceVersion", resource_version_of(placement)}}},
                  {"status", std::move(change)}};
  FLEETADM_TRY(const Json stored,
               hub.patch(api::placements(), namespace_of(placement), name_of(placement), kube::PatchType::kMerge, body, options));
  if (resource_version_of(stored) != resource_version_of(placement))
    published.placements[name_of(placement)].insert(resource_version_of(placement));
  return {};
}

}  // namespace fleetadm::placement
