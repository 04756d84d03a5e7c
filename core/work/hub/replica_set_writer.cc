#include "core/work/hub/replica_set_writer.h"

#include <utility>
#include <vector>

#include "core/api/kinds.h"
#include "core/work/rules/names.h"

namespace fleetadm::work {
namespace {

constexpr Duration kPatience = std::chrono::seconds(5);  // then the server is asked whether the work is still there

}  // namespace

Result<Json> ReplicaSetWriter::patch(const kube::Resource& resource, const Json& before, const Json& after,
                                     std::string_view subresource) const {
  Json body = kube::merge_diff(before, after);
  if (body.empty()) return after;
  at_or_make(body, {"metadata", "uid"}) = uid_of(before);
  at_or_make(body, {"metadata", "resourceVersion"}) = resource_version_of(before);
  kube::WriteOptions options;
  options.subresource = std::string(subresource);
  return hub_.patch(resource, namespace_of(before), name_of(before), kube::PatchType::kMerge, body, options);
}

void ReplicaSetWriter::expect(const Json& set, const Json& work) {
  const std::lock_guard lock(mutex_);
  expected_[owner_label_of(set)][kube::object_key(work)] = {uid_of(work), num(work, {"metadata", "generation"}), clock_->now()};
}

void ReplicaSetWriter::forget(const Json& set) {
  const std::lock_guard lock(mutex_);
  expected_.erase(owner_label_of(set));
}

Result<bool> ReplicaSetWriter::arrived(const std::string& key, const Expected& expected, const kube::Informer& works) const {
  if (const kube::CachedPtr cached = works.get(key)) {
    return cached->uid() != expected.uid || num(cached->decode(), {"metadata", "generation"}) >= expected.generation;
  }
  if (clock_->now() - expected.since < kPatience) return false;
  const kube::ObjectName name = kube::split_key(key);
  FLEETADM_TRY(const std::optional<Json> live, hub_.find(api::manifest_works(), name.ns, name.name));
  return !live || uid_of(*live) != expected.uid;  // gone before the cache saw it
}

Result<bool> ReplicaSetWriter::caught_up(const Json& set, const kube::Informer& works) {
  const std::string owner = owner_label_of(set);
  std::map<std::string, Expected> waiting;
  bool known = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = expected_.find(owner);
    known = found != expected_.end();
    if (known) waiting = found->second;
  }
  if (!known) {
    kube::ListOptions which;
    which.label_selector = std::string(kReplicaSetLabel) + "=" + owner;
    FLEETADM_TRY(const Json list, hub_.list(api::manifest_works(), {}, which));
    for (const Json& work : list_at(list, {"items"})) {
      waiting[kube::object_key(work)] = {uid_of(work), num(work, {"metadata", "generation"}), clock_->now()};
    }
    const std::lock_guard lock(mutex_);
    expected_[owner] = waiting;
  }
  std::vector<std::string> seen;
  for (const auto& [key, expected] : waiting) {
    FLEETADM_TRY(const bool here, arrived(key, expected, works));
    if (here) seen.push_back(key);
  }
  const std::lock_guard lock(mutex_);
  auto& left = expected_[owner];
  for (const std::string& key : seen) left.erase(key);
  return left.empty();
}

Status ReplicaSetWriter::create(const Json& set, const WantedWork& wanted) {
  Result<Json> created = hub_.create(api::manifest_works(), wanted.cluster, new_work(set, wanted, clock_->now()));
  if (created) {
    expect(set, *created);
    return {};
  }
  if (created.error().category != Category::kConflict) return tl::unexpected(created.error().wrap("cluster " + wanted.cluster));
  // It is there already, and the cache is behind; unless someone else's work has the name.
  FLEETADM_TRY(const std::optional<Json> existing, hub_.find(api::manifest_works(), wanted.cluster, work_name_of(set)));
  if (!existing) return {};
  if (label_of(*existing, kReplicaSetLabel) != owner_label_of(set)) {
    return fail(Category::kInvalid,
                "cluster " + wanted.cluster + " has a ManifestWork " + work_name_of(set) + " of someone else");
  }
  expect(set, *existing);
  return {};
}

Status ReplicaSetWriter::update(const Json& set, const WorkChange& change) {
  FLEETADM_TRY(const std::optional<Json> before, hub_.find(api::manifest_works(), change.work.ns, change.work.name));
  if (!before || uid_of(*before) != change.work.uid) return {};
  Json after = *before;
  for (const auto& [key, value] : work_labels(set, change.placement)) at_or_make(after, {"metadata", "labels", key}) = value;
  const Json& wanted = object_at(set, {"spec", "manifestWorkTemplate"});
  if (change.spec && work_spec_hash(object_at(*before, {"spec"})) != work_spec_hash(wanted)) {
    after["spec"] = without_timestamps(wanted);
    at_or_make(after, {"metadata", "annotations", kBegunAnnotation}) = format_micro_time(clock_->now());
  }
  FLEETADM_TRY(const Json stored, patch(api::manifest_works(), *before, after, {}));
  if (change.spec) expect(set, stored);
  return {};
}

Status ReplicaSetWriter::remove(const std::string& ns, const std::string& name, const std::string& uid) const {
  kube::DeleteOptions options;
  options.uid = uid;
  Result<Json> removed = hub_.remove(api::manifest_works(), ns, name, options);
  if (removed || removed.error().category == Category::kNotFound || removed.error().category == Category::kConflict) return {};
  return tl::unexpected(removed.error().wrap("cluster " + ns));
}

Status ReplicaSetWriter::carry_out(const Json& set, const ReplicaSetPlan& plan, const std::stop_token& stop) {
  Status outcome;
  const auto note = [&](Status status) {
    if (!status && outcome) outcome = std::move(status);
  };
  for (const OwnedWork& work : plan.remove) {
    if (stop.stop_requested()) return fail(Category::kCancelled, "stopped");
    note(remove(work.ns, work.name, work.uid));
  }
  for (const WorkChange& change : plan.update) {
    if (stop.stop_requested()) return fail(Category::kCancelled, "stopped");
    note(update(set, change));
  }
  for (const WantedWork& wanted : plan.create) {
    if (stop.stop_requested()) return fail(Category::kCancelled, "stopped");
    note(create(set, wanted));
  }
  return outcome;
}

}  // namespace fleetadm::work
