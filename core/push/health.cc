#include "core/push/health.h"

#include <algorithm>

#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/controller/controller.h"

namespace fleetadm::push {
namespace {

using registration::agent::Probe;

struct ReadyWords {
  const char* reason;
  const char* message;
};

ReadyWords words_of(Seen seen) {
  switch (seen) {
    case Seen::kReady: return {"ClusterReady", "The cluster is ready"};
    case Seen::kNotReady: return {"ClusterNotReady", "The cluster answers, and is not ready"};
    case Seen::kUnreachable: return {"ClusterNotReachable", "The cluster does not answer"};
    case Seen::kRefused: return {"CredentialRefused", "The cluster refuses the hub's credential"};
    case Seen::kCertificateExpired: return {"CertificateExpired", "The certificate of the cluster's API server has expired"};
    case Seen::kUntrusted:
      return {"CertificateUntrusted", "The cluster's API server does not prove that it is the one that joined"};
    case Seen::kNoCredential: return {"StatusCollectionFailed", "The hub has no credential for the cluster that it can use"};
    case Seen::kOtherCluster: return {"OtherCluster", "Another cluster answers at the address of this one"};
  }
  return {"ClusterNotReachable", ""};
}

std::string status_of(const Json& cluster, std::string_view type) {
  const Json* condition = controller::find_condition(cluster, type);
  return condition == nullptr ? std::string() : str(*condition, {"status"});
}

/// Since when the condition says so already; nullopt: it says something else.
std::optional<Instant> said_since(const Json& cluster, std::string_view type, bool value, Instant now) {
  const Json* condition = controller::find_condition(cluster, type);
  if (condition == nullptr || str(*condition, {"status"}) != (value ? "True" : "False")) return std::nullopt;
  const auto since = parse_time(str(*condition, {"lastTransitionTime"}));
  if (!since || *since > now) return std::nullopt;
  return since;
}

/// Whether the change of a condition to `value` is to be held back.
bool is_held(const std::string& told, bool value, Instant since, const Holds& holds, Instant now) {
  if (told != "True" && told != "False") return false;
  if ((told == "True") == value) return false;
  return now - since < (value ? holds.success : holds.failure);
}

void take(std::optional<bool>& memory, Instant& since, bool value, std::optional<Instant> known, Instant now) {
  if (memory && *memory == value && since <= now) return;
  since = memory ? now : known.value_or(now);
  memory = value;
}

Duration hold_of(const Json& cluster, std::string_view annotation, Duration usual) {
  const auto own = parse_duration(annotation_of(cluster, annotation));
  return own && *own >= Duration::zero() ? *own : usual;
}

}  // namespace

Look look_of(std::string_view path, int status) {
  if (status == 200) return {Seen::kReady, status, {}};
  if (status == 401) return {Seen::kRefused, status, "it answered 401"};
  return {Seen::kNotReady, status, std::string(path) + " answered " + std::to_string(status)};
}

Look look_of(const Error& error) {
  if (error.code != 0) return look_of("it", error.code);
  if (error.reason == "CertificateExpired") return {Seen::kCertificateExpired, 0, error.message};
  if (error.category == Category::kTls) return {Seen::kUntrusted, 0, error.message};
  return {Seen::kUnreachable, 0, error.message};
}

Look look_of_both(const Look& ready, const Look& live) {
  if (live.seen == Seen::kReady) return is_unknown(ready) ? live : ready;
  // Alive is what says so.
  if (live.seen == Seen::kNotReady) return {Seen::kUnreachable, live.code, live.message};
  return live;
}

Holds holds_of(const Json& cluster, const Holds& usual) {
  return {hold_of(cluster, kFailureHoldAnnotation, usual.failure), hold_of(cluster, kSuccessHoldAnnotation, usual.success)};
}

Health judge(const Json& cluster, const Look& look, const Holds& holds, Instant now, Memory& memory) {
  const bool alive = is_alive(look);
  const bool ready = look.seen == Seen::kReady;
  const bool fresh = !memory.alive;
  take(memory.alive, memory.alive_since, alive, said_since(cluster, api::kConditionResponding, alive, now), now);
  // An outage that a former process saw begin is one of both.
  take(memory.ready, memory.ready_since, ready, fresh && ready == alive ? std::optional(memory.alive_since) : std::nullopt, now);
  Health health;
  health.probe.code = look.code;
  health.probe.message = look.message;
  if (is_held(status_of(cluster, api::kConditionAvailable), alive, memory.alive_since, holds, now)) {
    health.held = true;
    health.probe.state = Probe::State::kUnsure;
  } else {
    health.probe.state = alive ? Probe::State::kUp : Probe::State::kDown;
  }
  if (is_held(status_of(cluster, api::kConditionReady), ready, memory.ready_since, holds, now)) health.held = true;
  return health;
}

void write_ready(const Json& cluster, const Look& look, const Holds& holds, Instant now, const Memory& memory, Json& status) {
  Json& conditions = at_or_make(status, {"conditions"});
  if (!conditions.is_array()) conditions = Json::array();
  const bool alive = is_alive(look);
  controller::set_condition(conditions, api::kConditionResponding, alive ? "True" : "False", alive ? "Answered" : "NoAnswer",
                            alive ? "The last probe was answered" : "The last probe was not answered", memory.alive_since);
  const std::string told = status_of(cluster, api::kConditionReady);
  const bool ready = look.seen == Seen::kReady;
  if (is_held(told, ready, memory.ready_since, holds, now)) return;
  const ReadyWords words = words_of(look.seen);
  controller::set_condition(conditions, api::kConditionReady, ready ? "True" : "False", words.reason, words.message, now);
}

}  // namespace fleetadm::push
