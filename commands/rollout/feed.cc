#include "commands/rollout/feed.h"

#include <utility>

#include "core/api/kinds.h"
#include "core/work/rules/names.h"

namespace fleetadm::commands {
namespace {

constexpr Duration kPatience = std::chrono::seconds(30);

kube::InformerOptions in(const std::string& ns) {
  kube::InformerOptions options;
  options.ns = ns;
  return options;
}

}  // namespace

RolloutFeed::RolloutFeed(const kube::Client& hub, RolloutName name, const Json& set) : name_(std::move(name)), watched_(hub) {
  kube::InformerOptions sets = in(name_.ns);
  sets.field_selector = "metadata.name=" + name_.name;
  sets_ = watched_.add(api::manifest_work_replica_sets(), std::move(sets));
  placements_ = watched_.add(api::placements(), in(name_.ns));
  decisions_ = watched_.add(api::placement_decisions(), in(name_.ns));
  kube::InformerOptions revisions = in(name_.ns);
  revisions.label_selector = std::string(work::kRevisionOfLabel) + "=" + name_.name;
  revisions_ = watched_.add(work::controller_revisions(), std::move(revisions));
  kube::InformerOptions works;
  works.label_selector = std::string(work::kReplicaSetLabel) + "=" + work::owner_label_of(set);
  works.project = project_rollout_work;
  works_ = watched_.add(api::manifest_works(), std::move(works));
}

Result<std::unique_ptr<RolloutFeed>> RolloutFeed::open(const kube::Client& hub, const RolloutName& name,
                                                       const std::stop_token& stop) {
  FLEETADM_TRY(const Json set, read_set(hub, name));
  std::unique_ptr<RolloutFeed> feed(new RolloutFeed(hub, name, set));
  FLEETADM_CHECK(feed->watched_.start(kPatience, stop));
  return feed;
}

Result<RolloutView> RolloutFeed::view(Instant now) const {
  RolloutObjects objects;
  std::optional<Json> set = watched_.find(sets_, name_.ns, name_.name);
  if (!set)
    return fail(Category::kNotFound,
                "ManifestWorkReplicaSet " + name_.ns + "/" + name_.name + " was deleted, which ended its rollout");
  objects.set = std::move(*set);
  objects.placements = watched_.objects(placements_);
  objects.decisions = watched_.objects(decisions_);
  objects.revisions = watched_.objects(revisions_);
  objects.works = watched_.objects(works_);
  return view_of(std::move(objects), now);
}

}  // namespace fleetadm::commands
