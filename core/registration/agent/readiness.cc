#include "core/registration/agent/readiness.h"

#include <algorithm>

#include "core/api/kinds.h"
#include "core/api/push_member.h"
#include "core/controller/controller.h"

namespace fleetadm::registration::agent {
namespace {

constexpr Duration kLongestLook = std::chrono::seconds(10);

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

/// Until when the change of a condition to `value` is to be held back; nullopt: it counts now.
std::optional<Instant> held_until(const std::string& told, bool value, Instant since, const Holds& holds, Instant now) {
  if (told != "True" && told != "False") return std::nullopt;
  if ((told == "True") == value) return std::nullopt;
  const Instant until = since + (value ? holds.success : holds.failure);
  return now < until ? std::optional(until) : std::nullopt;
}

Look ask_health(const kube::Client& cluster, const char* path) {
  kube::Request request;
  request.path = path;
  request.accept = "*/*";
  const auto answer = cluster.raw(request);
  if (answer) return look_of(path, answer->status);
  return answer.error().code != 0 ? look_of(path, answer.error().code) : look_of(answer.error());
}

/// Since when what a look found is so: an answer counts from its arrival, silence from the question. Clocks are set meanwhile.
Instant began(const Look& look, Instant now) {
  if (is_alive(look) || look.asked == Instant{} || look.asked > now) return now;
  return std::max(look.asked, now - kLongestLook);
}

void take(std::optional<bool>& memory, Instant& since, bool value, std::optional<Instant> known, Instant began, Instant now) {
  if (memory && *memory == value && since <= now) return;
  since = memory ? began : known.value_or(began);
  memory = value;
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

Look look_once(const kube::Client& cluster) {
  const Look ready = ask_health(cluster, kReadyPath);
  if (ready.seen != Seen::kNotReady) return ready;
  const Look live = ask_health(cluster, kLivePath);
  return look_of_both(ready, is_unknown(live) ? ask_health(cluster, kHealthPath) : live);
}

Health judge(const Json& cluster, const Look& look, const Holds& holds, Instant now, Memory& memory) {
  const bool alive = is_alive(look);
  const bool ready = look.seen == Seen::kReady;
  const bool fresh = !memory.alive;
  const Instant from = began(look, now);
  take(memory.alive, memory.alive_since, alive, said_since(cluster, api::kConditionResponding, alive, now), from, now);
  // An outage that a former process saw begin is one of both.
  take(memory.ready, memory.ready_since, ready, fresh && ready == alive ? std::optional(memory.alive_since) : std::nullopt, from,
       now);
  Health health;
  health.probe.code = look.code;
  health.probe.message = look.message;
  health.due = held_until(status_of(cluster, api::kConditionAvailable), alive, memory.alive_since, holds, now);
  if (health.due) {
    health.probe.state = Probe::State::kUnsure;
  } else {
    health.probe.state = alive ? Probe::State::kUp : Probe::State::kDown;
  }
  const auto ready_due = held_until(status_of(cluster, api::kConditionReady), ready, memory.ready_since, holds, now);
  if (ready_due && (!health.due || *ready_due < *health.due)) health.due = ready_due;
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
  if (held_until(told, ready, memory.ready_since, holds, now)) return;
  const ReadyWords words = words_of(look.seen);
  controller::set_condition(conditions, api::kConditionReady, ready ? "True" : "False", words.reason, words.message, now);
}

void write_gave_up(const Look& look, Duration after, Instant now, Json& status) {
  Json& conditions = at_or_make(status, {"conditions"});
  if (!conditions.is_array()) conditions = Json::array();
  const std::string text = "The hub tries no more: in " + format_duration(after) + " the cluster could not be connected. " +
                           words_of(look.seen).message;
  controller::set_condition(conditions, api::kConditionReady, "False", "ReconnectFailed", text, now);
}

bool forget_ready(Json& status) {
  const auto is = [](std::string_view type) { return [type](const Json& one) { return str(one, {"type"}) == type; }; };
  // Ready alone may be somebody else's.
  const Json& told = list_at(status, {"conditions"});
  if (std::none_of(told.begin(), told.end(), is(api::kConditionResponding))) return false;
  Json& conditions = status["conditions"];
  for (const std::string_view type : {api::kConditionReady, api::kConditionResponding})
    conditions.erase(std::remove_if(conditions.begin(), conditions.end(), is(type)), conditions.end());
  return true;
}

}  // namespace fleetadm::registration::agent
