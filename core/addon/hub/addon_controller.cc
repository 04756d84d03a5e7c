#include "core/addon/hub/addon_controller.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/addon/rules/failed_write.h"

namespace fleetadm::addon {
namespace {

using controller::Outcome;

constexpr std::string_view kStatusPart = "status";

bool lacks_finalizer_of(const Json& one, const Json& other) {
  const std::vector<std::string> has = string_list_at(one, {"metadata", "finalizers"});
  const std::vector<std::string> all = string_list_at(other, {"metadata", "finalizers"});
  return std::any_of(all.begin(), all.end(),
                     [&](const std::string& name) { return std::find(has.begin(), has.end(), name) == has.end(); });
}

bool is_free(const Json& addon) { return is_deleting(addon) && list_at(addon, {"metadata", "finalizers"}).empty(); }

/// Its roll-out decides what it is configured with.
bool waits_for_decision(const ObjectReader& objects, const Json& addon) {
  const ObjectPtr declaration = objects.get(cluster_management_addons(), {}, name_of(addon));
  return declaration != nullptr && is_rolled_out(*declaration) && !is_deleting(addon);
}

}  // namespace

/// The writes of one pass.
class AddonController::Writing {
 public:
  Writing(AddonController& owner, const ObjectReader& objects, const Json& addon, AddonPass pass, const std::stop_token& stop)
      : parts_(owner.parts_), objects_(objects), before_(addon), now_(addon), pass_(std::move(pass)), stop_(stop) {}

  Result<Outcome> run();
  /// Names of what was to be created and is there although the caches do not show it.
  const std::set<ObjectRef>& taken() const { return taken_; }

 private:
  Status write_all();
  Status write_rights();
  Status write_works();
  Status remove_leftovers();
  Status write_addon(std::string_view part);
  /// The first failure of writes that is no conflict; conflicts end the pass, which has seen what is no more.
  Result<std::optional<Error>> failure_of(const std::vector<Json>& objects, const std::vector<Status>& written);

  const Parts& parts_;
  const ObjectReader& objects_;
  const Json& before_;
  Json now_;  // as the server has it
  AddonPass pass_;
  const std::stop_token& stop_;
  std::set<ObjectRef> taken_;
  bool works_failed_ = false;
};

Result<Outcome> AddonController::Writing::run() {
  for (const std::vector<Json>* part : {&pass_.rights, &pass_.token, &pass_.works}) {
    if (parts_.writer->late(objects_, *part)) return Outcome{kRepeatSoon};
  }
  if (const Status written = write_all(); !written) {
    if (written.error().category == Category::kConflict) return Outcome{kRepeatSoon};
    return tl::unexpected(written.error());
  }
  if (!pass_.errors.empty()) return fail(pass_.errors.front());
  return Outcome{};
}

Status AddonController::Writing::write_all() {
  const bool gains = lacks_finalizer_of(before_, pass_.addon);
  const bool loses = !gains && lacks_finalizer_of(pass_.addon, before_);
  if (!loses) FLEETADM_CHECK(write_addon({}));
  FLEETADM_CHECK(write_rights());
  const Path references{"status", "configReferences"};
  if (list_at(before_, references) != list_at(pass_.addon, references)) FLEETADM_CHECK(write_addon(kStatusPart));
  FLEETADM_CHECK(write_works());
  if (!works_failed_) {
    FLEETADM_CHECK(remove_leftovers());
    if (loses) FLEETADM_CHECK(write_addon({}));
  }
  return is_free(now_) ? Status() : write_addon(kStatusPart);
}

Status AddonController::Writing::write_addon(std::string_view part) {
  if (stop_.stop_requested()) return fail(Category::kCancelled, "stopped");
  FLEETADM_TRY(now_, parts_.writer->patch(now_, pass_.addon, part));
  return {};
}

Result<std::optional<Error>> AddonController::Writing::failure_of(const std::vector<Json>& objects,
                                                                  const std::vector<Status>& written) {
  std::optional<Error> failure;
  std::optional<Error> ends;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i]) continue;
    const Error& error = written[i].error();
    if (error.category == Category::kConflict || error.category == Category::kCancelled) {
      if (error.reason == "AlreadyExists") taken_.insert({type_of(objects[i]), namespace_of(objects[i]), name_of(objects[i])});
      ends = error;
    } else if (!failure) {
      failure = error;
    }
  }
  if (ends) return tl::unexpected(*ends);
  return failure;
}

Status AddonController::Writing::write_rights() {
  std::vector<Json> all = pass_.rights;
  all.insert(all.end(), pass_.token.begin(), pass_.token.end());
  std::vector<Status> written = parts_.writer->write(objects_, all, stop_);
  const auto of_token = written.begin() + static_cast<std::ptrdiff_t>(pass_.rights.size());
  const std::vector<Status> token(of_token, written.end());
  written.erase(of_token, written.end());
  FLEETADM_TRY(const std::optional<Error> no_rights, failure_of(pass_.rights, written));
  FLEETADM_TRY(const std::optional<Error> no_token, failure_of(pass_.token, token));
  const Instant time = parts_.clock->now();
  if (no_rights) pass_.addon = with_failed_rights(before_, std::move(pass_.addon), *no_rights, time);
  if (no_token) pass_.addon = with_failed_token(before_, std::move(pass_.addon), *no_token, time);
  for (const std::optional<Error>& error : {no_rights, no_token}) {
    if (error) pass_.errors.push_back(*error);
  }
  return {};
}

Status AddonController::Writing::write_works() {
  for (const Side side : {Side::kManaged, Side::kHosting}) {
    std::vector<Json> works;
    std::vector<Status> written;
    // One after the other: what a manifest leaves comes after what it goes to.
    for (const Json& work : pass_.works) {
      if ((namespace_of(work) == namespace_of(before_)) != (side == Side::kManaged)) continue;
      works.push_back(work);
      written.push_back(parts_.writer->write(objects_, {work}, stop_).front());
    }
    FLEETADM_TRY(const std::optional<Error> failure, failure_of(works, written));
    if (!failure) continue;
    works_failed_ = true;
    pass_.addon = with_failed_work(before_, std::move(pass_.addon), side, *failure, parts_.clock->now());
    pass_.errors.push_back(*failure);
  }
  return {};
}

Status AddonController::Writing::remove_leftovers() {
  for (const ObjectRef& gone : pass_.deleted) {
    if (stop_.stop_requested()) return fail(Category::kCancelled, "stopped");
    FLEETADM_CHECK(parts_.writer->remove(objects_, gone));
  }
  return {};
}

std::set<ObjectRef> AddonController::unseen(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto known = unseen_.find(key);
  return known == unseen_.end() ? std::set<ObjectRef>{} : known->second;
}

void AddonController::note_unseen(const std::string& key, std::set<ObjectRef> unseen) {
  const std::lock_guard lock(mutex_);
  if (unseen.empty()) {
    unseen_.erase(key);
  } else {
    unseen_[key] = std::move(unseen);
  }
}

Result<Outcome> AddonController::reconcile(const std::string& key, const std::stop_token& stop) {
  LiveObjects objects(*parts_.objects);
  std::set<ObjectRef> unseen = this->unseen(key);
  FLEETADM_CHECK(objects.read(hub_.with_stop(stop), unseen));
  const kube::ObjectName name = kube::split_key(key);
  const ObjectPtr addon = objects.get(managed_cluster_addons(), name.ns, name.name);
  if (addon == nullptr) {
    note_unseen(key, {});
    for (const ObjectRef& left : leftovers_of_addon(objects, name.ns, name.name)) {
      if (stop.stop_requested()) return fail(Category::kCancelled, "stopped");
      FLEETADM_CHECK(parts_.writer->remove(objects, left));
    }
    return Outcome{};
  }
  if (parts_.writer->late(objects, {*addon})) return Outcome{kRepeatSoon};
  ConfigDecisions::Answer decided = parts_.decisions->of(name.name, name.ns);
  if (!decided.known && waits_for_decision(objects, *addon)) return Outcome{};
  AddonPass pass =
      look_after_addon(objects, *addon, {std::move(decided.decision), parts_.known, parts_.describe, parts_.clock->now()});
  Writing writing(*this, objects, *addon, std::move(pass), stop);
  Result<Outcome> outcome = writing.run();
  unseen.insert(writing.taken().begin(), writing.taken().end());
  note_unseen(key, std::move(unseen));
  return outcome;
}

}  // namespace fleetadm::addon
