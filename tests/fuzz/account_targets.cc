// Random ManagedServiceAccounts, their accounts, Secrets and ClusterProfiles: what clusters and people write reaches the agent,
// the hub's copies and the credential plugin.
#include <algorithm>
#include <bit>
#include <cctype>

#include "core/api/managed_service_account.h"
#include "core/controller/controller.h"
#include "core/msa/rules/demand.h"
#include "core/msa/rules/exec_credential.h"
#include "core/msa/rules/profile_copy.h"
#include "core/msa/rules/token_secret.h"
#include "core/msa/rules/token_status.h"
#include "kubeclient/base/encoding.h"
#include "tests/fuzz/targets.h"

namespace fleetadm::fuzz {
namespace {

constexpr std::int64_t kShortestToken = 600;
constexpr std::int64_t kLongestToken = std::int64_t{1} << 32;
constexpr std::size_t kLongestName = 253;

tl::unexpected<Error> not_kept(std::string what) { return fail(Category::kInternal, "broken promise: " + std::move(what)); }

bool texts_or_none(const Json& object, Path path) {
  const Json* map = find(object, path);
  return map == nullptr ||
         (map->is_object() && std::all_of(map->begin(), map->end(), [](const Json& one) { return one.is_string(); }));
}

bool objects_or_none(const Json& object, Path path) {
  const Json* list = find(object, path);
  return list == nullptr ||
         (list->is_array() && std::all_of(list->begin(), list->end(), [](const Json& one) { return one.is_object(); }));
}

/// As every API server hands it over: where there are members, they have the types of the schemas.
bool comes_from_server(const Json& object) {
  const auto object_or_none = [&](Path path) {
    const Json* member = find(object, path);
    return member == nullptr || member->is_object();
  };
  return object.is_object() && find(object, {"metadata"}) != nullptr && object_or_none({"metadata"}) &&
         texts_or_none(object, {"metadata", "labels"}) && texts_or_none(object, {"metadata", "annotations"}) &&
         objects_or_none(object, {"metadata", "ownerReferences"}) && object_or_none({"status"}) && object_or_none({"spec"}) &&
         object_or_none({"status", "tokenSecretRef"}) && objects_or_none(object, {"status", "conditions"}) &&
         texts_or_none(object, {"data"});
}

/// What the agent writes into the Secret of an object, where it may.
Result<std::string> run_secret(const Json& object, const Json& secret) {
  const Status ours = msa::check_secret(secret, object);
  if (!ours) return "secret: " + shape_of(ours.error().message.substr(ours.error().message.find(" exists and ")));
  const Json written = msa::secret_object(secret, object, "a.b.c", "ca");
  if (!msa::check_secret(written, object)) return not_kept("a Secret of ours that is not ours");
  if (msa::secret_object(written, object, "a.b.c", "ca") != written) return not_kept("another Secret the second time");
  if (msa::token_in(written) != "a.b.c") return not_kept("another token than was stored");
  for (const auto& [key, value] : object_at(secret, {"metadata", "labels"}).items()) {
    if (!find(written, {"metadata", "labels", key})) return not_kept("a label that is lost");
  }
  return std::string("secret");
}

/// Its token's claims, when it is due, and what is reported of it.
Result<std::string> run_token(const Json& object, const Json& secret, Instant now) {
  const auto claims = token_claims(msa::token_in(secret));
  if (!claims) return std::string("no token");
  if (claims->expires <= claims->issued) return not_kept("a token that never lived");
  if (!msa::claims_for(secret, claims->account_uid)) return not_kept("a token that is not its account's");
  if (msa::claims_for(secret, claims->account_uid + "x")) return not_kept("a token of another account");
  const Instant due = msa::refresh_at(object, *claims, now);
  const Duration life = claims->expires - claims->issued;
  if (due - std::max(now, claims->issued) > life) return not_kept("a token that is due after its end");
  Json reported = object;
  msa::report_token(reported, *claims, std::nullopt, now);
  Json again = reported;
  msa::report_token(again, *claims, std::nullopt, now);
  if (again != reported) return not_kept("a second report that says something else");
  if (!controller::condition_is(reported, api::kConditionTokenReported, "True")) return not_kept("a report that is not one");
  Json fresh = object;
  msa::report_token(fresh, *claims, now, now);
  if (msa::refresh_at(fresh, *claims, now) - now > life) return not_kept("a new token that is due after its end");
  const auto usable = msa::usable_token(secret, now);
  if (!usable) return "unusable: " + shape_of(usable.error().message);
  if (usable->claims.expires <= now) return not_kept("a token that has expired");
  if (std::any_of(usable->text.begin(), usable->text.end(),
                  [](unsigned char c) { return !std::isalnum(c) && c != '-' && c != '_' && c != '.'; }))
    return not_kept("a token that is none");
  return std::string(due <= now ? "due" : "fresh");
}

Result<std::string> run_copy(const Json& profile, const Json& object, const Json& secret, const Json& existing) {
  std::string shape = msa::is_copied_to(profile) ? "copied" : "not copied";
  Json noted = profile;
  const auto names = msa::noted_copies(profile);
  msa::note_copies(noted, names);
  if (msa::noted_copies(noted) != names) return not_kept("copies that are forgotten");
  const Status ours = msa::check_copy(existing, name_of(profile), name_of(object));
  if (!ours) return shape + " " + shape_of(ours.error().message.substr(ours.error().message.find(' ', 7) + 1));
  const Json copy = msa::copy_object(existing, profile, name_of(object), secret);
  if (!msa::check_copy(copy, name_of(profile), name_of(object)) || !msa::is_owned_by(copy, profile))
    return not_kept("a copy of ours that is not ours");
  if (msa::copy_object(copy, profile, name_of(object), secret) != copy) return not_kept("another copy the second time");
  return shape + " owned";
}

Result<std::string> run_account(std::string_view text) {
  const Result<Json> line = parse_json(text);
  if (!line) return "no JSON: " + shape_of(line.error().message);
  const Json& object = object_at(*line, {"object"});
  const Json& secret = object_at(*line, {"secret"});
  const Json& profile = object_at(*line, {"profile"});
  const Json& copy = object_at(*line, {"copy"});
  for (const Json* one : {&object, &secret, &profile, &copy}) {
    if (!comes_from_server(*one)) return std::string("no server's");
  }
  // What clocks say; the times in the objects may be any.
  const Instant now = std::clamp(parse_time(str(*line, {"now"})).value_or(Instant(std::chrono::hours(490'000))),
                                 Instant(std::chrono::hours(0)), Instant(std::chrono::hours(1'000'000)));
  std::string shape;
  const auto seconds = msa::validity_seconds(object);
  if (seconds && (*seconds < kShortestToken || *seconds > kLongestToken)) return not_kept("a validity that no server takes");
  shape += seconds ? std::to_string(std::bit_width(static_cast<std::uint64_t>(*seconds)) / 4)
                   : shape_of(seconds.error().message.substr(seconds.error().message.rfind('"') + 1));
  const std::string name = name_of(object);
  if (msa::check_account_name(name) && (name.empty() || name.size() > kLongestName)) return not_kept("a name that cannot be");
  const auto ends = msa::ends_at(object);
  if (ends && *ends <= parse_time(str(object, {"metadata", "creationTimestamp"})).value_or(Instant::max()))
    return not_kept("an end before the beginning");
  shape += ends ? (*ends <= now ? " over" : " ends") : " lasts";
  FLEETADM_TRY(const std::string of_secret, run_secret(object, secret));
  FLEETADM_TRY(const std::string of_token, run_token(object, secret, now));
  FLEETADM_TRY(const std::string of_copy, run_copy(profile, object, secret, copy));
  Json failed = object;
  msa::report_failure(failed, "why", true, now);
  if (!str(failed, {"status", "tokenSecretRef", "name"}).empty()) return not_kept("a Secret that is lost and named");
  return shape + " " + of_secret + " " + of_token + " " + of_copy;
}

Result<std::string> run_exec_info(std::string_view text) {
  const auto request = msa::exec_request(text);
  if (!request) {
    if (request.error().category != Category::kUsage || request.error().hint.empty()) return not_kept("an error without advice");
    return "error: " + shape_of(request.error().message);
  }
  if (request->cluster.empty()) return not_kept("a request without a cluster");
  return "asked " + shape_of(request->api_version) + " " + std::to_string(std::bit_width(request->cluster.size())) +
         (request->server.empty() ? "" : " at");
}

const std::vector<std::string_view> kAccountWords = {
    "metadata",
    "\"name\"",
    "\"uid\"",
    "labels",
    "ownerReferences",
    "\"ManagedServiceAccount\"",
    "\"ClusterProfile\"",
    "\"authentication.open-cluster-management.io/v1beta1\"",
    "\"authentication.open-cluster-management.io/is-managed-serviceaccount\": \"true\"",
    "\"authentication.open-cluster-management.io/synced-from\": \"c1-app\"",
    "\"x-k8s.io/cluster-manager\": \"open-cluster-management\"",
    "\"open-cluster-management.io/cluster-name\": \"c1\"",
    "\"fleetadm.io/credential-copies\": \"[\\\"app\\\"]\"",
    "\"controller\": true",
    "\"Opaque\"",
    "\"validity\": \"10m\"",
    "\"validity\": \"0\"",
    "\"validity\": \"-1h\"",
    "\"validity\": \"1m\"",
    "\"validity\": \"876000h\"",
    "\"ttlSecondsAfterCreation\": 1",
    "9223372036854775807",
    "\"lastRefreshTimestamp\"",
    "\"expirationTimestamp\"",
    "\"TokenReported\"",
    "\"conditions\"",
    "e30.",
    "2026-03-01T10:00:00Z",
    "9999-12-31T23:59:59Z",
    "null",
    "[]",
    "{}",
    "\"\""};
const std::vector<std::string_view> kExecInfoWords = {"\"client.authentication.k8s.io/v1\"",
                                                      "\"client.authentication.k8s.io/v1beta1\"",
                                                      "\"client.authentication.k8s.io/v1alpha1\"",
                                                      "\"apiVersion\"",
                                                      "\"kind\"",
                                                      "\"ExecCredential\"",
                                                      "\"spec\"",
                                                      "\"cluster\"",
                                                      "\"server\"",
                                                      "\"config\"",
                                                      "\"clusterName\"",
                                                      "\"interactive\": false",
                                                      "null",
                                                      "[]",
                                                      "{}",
                                                      "\"\""};

}  // namespace

std::vector<Target> account_targets() {
  return {{"account", 8'000, true, kAccountWords, run_account}, {"exec_info", 2'000, true, kExecInfoWords, run_exec_info}};
}

}  // namespace fleetadm::fuzz
