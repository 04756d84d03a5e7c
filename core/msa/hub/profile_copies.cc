#include "core/msa/hub/profile_copies.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/api/cluster_profile.h"
#include "core/api/managed_service_account.h"
#include "core/msa/rules/not_ours.h"
#include "core/msa/rules/profile_copy.h"
#include "core/msa/rules/token_secret.h"
#include "kubeclient/base/log.h"
#include "kubeclient/rest/modify.h"

namespace fleetadm::msa {
namespace {

using controller::Outcome;
namespace res = kube::resources;

constexpr const char* kCopies = "profile-copies";
constexpr const char* kByName = "name";
constexpr const char* kByNamespace = "namespace";
// Whether what is somebody else's has gone: nobody tells.
constexpr auto kLookAgain = std::chrono::minutes(10);
// A token that replaces another one within the same second leaves the object's status as it is, and nobody is told.
constexpr auto kSameSecond = std::chrono::seconds(2);

class ProfileCopies {
 public:
  ProfileCopies(kube::Client hub, std::shared_ptr<kube::Informer> profiles, std::shared_ptr<kube::Informer> accounts,
                std::shared_ptr<kube::Recorder> recorder)
      : hub_(std::move(hub)), profiles_(std::move(profiles)), accounts_(std::move(accounts)), recorder_(std::move(recorder)) {}

  /// Before the first reconcile.
  void use(std::shared_ptr<controller::Queue> queue) { queue_ = std::move(queue); }

  Result<Outcome> reconcile(const std::string& key, const std::stop_token& stop) const {
    const kube::CachedPtr cached = profiles_->get(key);
    if (!cached) return Outcome{};  // the garbage collector deletes its copies
    Json profile = cached->decode();
    if (is_deleting(profile)) return Outcome{};
    const kube::Client hub = hub_.with_stop(stop);
    const std::vector<Json> accounts = is_copied_to(profile) ? accounts_of(name_of(profile)) : std::vector<Json>();
    std::set<std::string> wanted;
    for (const Json& account : accounts) wanted.insert(name_of(account));
    std::set<std::string> all = noted_copies(profile);
    all.insert(wanted.begin(), wanted.end());
    // First: what is killed in between has to find them again.
    FLEETADM_CHECK(note(hub, profile, all));

    std::optional<Error> failed;
    bool refused = false;
    bool wrote = false;
    const auto take = [&](const Status& status) {
      if (status) return;
      if (status.error().reason != kNotOurs) {
        if (!failed) failed = status.error();
        return;
      }
      refused = true;
      tell(profile, status.error().message);
    };
    for (const Json& account : accounts) {
      const Result<bool> copied = copy(hub, profile, account);
      if (!copied) take(fail(copied.error()));
      wrote = wrote || copied.value_or(false);
    }
    for (const std::string& account : all) {
      if (wanted.contains(account)) continue;
      const Result<bool> gone = remove(hub, profile, account);
      if (!gone) take(fail(gone.error()));
      if (!gone || !*gone) wanted.insert(account);
    }
    if (failed) return tl::unexpected(std::move(*failed));
    FLEETADM_CHECK(note(hub, profile, wanted));
    // Not by the outcome: that of the next event would take its place.
    if (wrote) queue_->add_after(key, kSameSecond);
    return refused ? Outcome{kLookAgain} : Outcome{};
  }

 private:
  std::vector<Json> accounts_of(const std::string& cluster) const {
    std::vector<Json> found;
    for (const kube::CachedPtr& one : accounts_->by_index(kByNamespace, cluster)) {
      Json account = one->decode();
      if (!is_deleting(account)) found.push_back(std::move(account));
    }
    return found;
  }

  Status note(const kube::Client& hub, Json& profile, const std::set<std::string>& accounts) const {
    if (noted_copies(profile) == accounts) return {};
    const auto change = [&](Json& live) -> Status {
      if (uid_of(live) != uid_of(profile)) return fail(Category::kConflict, "the ClusterProfile was replaced");
      note_copies(live, accounts);
      return {};
    };
    // What another replica has noted meanwhile must not be forgotten: a conflict begins anew.
    auto written = kube::modify_from(hub, api::cluster_profiles(), profile, change);
    if (!written) {
      return fail(written.error().wrap("cannot annotate ClusterProfile " + namespace_of(profile) + "/" + name_of(profile)));
    }
    profile = std::move(*written);
    return {};
  }

  /// True: it was written.
  Result<bool> copy(const kube::Client& hub, const Json& profile, const Json& account) const {
    const std::string cluster = name_of(profile);
    const std::string name = name_of(account);
    // The status is the cluster's word: no other Secret is read because of it.
    if (str(account, {"status", "tokenSecretRef", "name"}) != name) return false;
    FLEETADM_TRY(const auto source, hub.find(res::secrets(), cluster, name));
    if (!source) return false;
    FLEETADM_CHECK(check_secret(*source, account));
    if (!token_claims(token_in(*source))) return false;  // the cluster's agent mends it
    const std::string copied = copy_name(cluster, name);
    FLEETADM_TRY(const auto existing, hub.find(res::secrets(), namespace_of(profile), copied));
    if (existing) FLEETADM_CHECK(check_copy(*existing, cluster, name));
    const Json wanted = copy_object(existing.value_or(Json()), profile, name, *source);
    if (existing && *existing == wanted) return false;
    const auto written =
        existing ? hub.update(res::secrets(), wanted) : hub.create(res::secrets(), namespace_of(profile), wanted);
    if (!written) return fail(written.error().wrap("cannot write Secret " + namespace_of(profile) + "/" + copied));
    log::info(1, kCopies, "Secret " + namespace_of(profile) + "/" + copied + " has the token of " + cluster + "/" + name);
    return true;
  }

  /// False: it is not to be removed, after all.
  Result<bool> remove(const kube::Client& hub, const Json& profile, const std::string& account) const {
    const std::string cluster = name_of(profile);
    // A cache may lag behind.
    FLEETADM_TRY(const auto live, hub.find(api::managed_service_accounts(), cluster, account));
    if (is_copied_to(profile) && live && !is_deleting(*live) && label_of(*live, kSyncLabel) == "true") return false;
    const std::string copied = copy_name(cluster, account);
    FLEETADM_TRY(const auto existing, hub.find(res::secrets(), namespace_of(profile), copied));
    if (!existing || !check_copy(*existing, cluster, account) || !is_owned_by(*existing, profile)) return true;
    kube::DeleteOptions exactly;
    exactly.uid = uid_of(*existing);
    const auto removed = hub.remove(res::secrets(), namespace_of(profile), copied, exactly);
    if (!removed && removed.error().category != Category::kNotFound)
      return tl::unexpected(removed.error().wrap("cannot delete Secret " + namespace_of(profile) + "/" + copied));
    log::info(1, kCopies, "Secret " + namespace_of(profile) + "/" + copied + " is deleted");
    return true;
  }

  void tell(const Json& profile, const std::string& why) const {
    log::warn(kCopies, why);
    if (recorder_) recorder_->event(profile, namespace_of(profile), "Warning", "CredentialNotCopied", "CopyCredential", why);
  }

  kube::Client hub_;
  std::shared_ptr<kube::Informer> profiles_;
  std::shared_ptr<kube::Informer> accounts_;
  std::shared_ptr<kube::Recorder> recorder_;
  std::shared_ptr<controller::Queue> queue_;
};

}  // namespace

void add_profile_copies(controller::Manager& manager, const kube::Client& hub, std::shared_ptr<kube::Recorder> recorder) {
  kube::InformerOptions managed;
  managed.label_selector = std::string(api::kClusterManagerLabel) + "=" + std::string(api::kClusterManager);
  managed.indexes = {{kByName, [](const Json& profile) { return std::vector<std::string>{name_of(profile)}; }}};
  kube::InformerOptions copied;
  copied.label_selector = std::string(kSyncLabel) + "=true";
  copied.indexes = {{kByNamespace, [](const Json& account) { return std::vector<std::string>{namespace_of(account)}; }}};
  const auto profiles = manager.informer(hub, api::cluster_profiles(), managed);
  const auto accounts = manager.informer(hub, api::managed_service_accounts(), copied);
  const auto copies = std::make_shared<ProfileCopies>(hub, profiles, accounts, std::move(recorder));
  controller::ControllerOptions row;
  row.name = kCopies;
  row.workers = 2;
  const auto queue =
      manager.add(row, [copies](const std::string& key, const std::stop_token& stop) { return copies->reconcile(key, stop); });
  copies->use(queue);
  controller::Manager::enqueue_on(*profiles, queue);
  controller::Manager::enqueue_on(*accounts, queue, [profiles](const kube::CachedObject& account) {
    std::vector<std::string> keys;
    for (const kube::CachedPtr& profile : profiles->by_index(kByName, kube::split_key(account.key()).ns))
      keys.emplace_back(profile->key());
    return keys;
  });
}

}  // namespace fleetadm::msa
