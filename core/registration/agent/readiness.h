// How a cluster is, as pure functions of what was seen and of what its ManagedCluster says already: one model for those that the
// hub dials and for agents that report readiness (docs/reference/registration.md#push-members). Short outages and short
// recoveries change nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/registration/agent/holds.h"
#include "core/registration/agent/status.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::registration::agent {

enum class Seen {
  kReady,
  kNotReady,            // it answers, and says that it is not ready
  kUnreachable,         // no answer, or one that says nothing
  kRefused,             // 401
  kCertificateExpired,  // of the API server
  kUntrusted,           // another certificate than the one that was checked
  kNoCredential,        // nothing that could be sent
  kOtherCluster,        // it answers as another cluster than the one that joined
};

struct Look {
  Seen seen = Seen::kUnreachable;
  int code = 0;         // HTTP status of the last answer; 0: none
  std::string message;  // what failed, of a server or of ours
  Instant asked{};      // when it was asked; what is not answered was down then already. Unset: just now
};

/// What is asked: the first; where it is unknown or forbidden, or says that the member is not ready, the second; where that one
/// is unknown or forbidden, the third.
inline constexpr const char* kReadyPath = "/readyz";
inline constexpr const char* kLivePath = "/livez";
inline constexpr const char* kHealthPath = "/healthz";

/// Of the answer to one of them, and of none.
Look look_of(std::string_view path, int status);
Look look_of(const Error& error);
/// Of a member that did not say it is ready, with what the second or third question brought.
Look look_of_both(const Look& ready, const Look& live);
inline bool is_unknown(const Look& look) { return look.code == 404 || look.code == 403; }
/// Asks a cluster, one path after the other.
Look look_once(const kube::Client& cluster);

inline bool is_alive(const Look& look) { return look.seen == Seen::kReady || look.seen == Seen::kNotReady; }

/// Since when the member is as it was seen last. Only while a process runs more exact than the conditions.
struct Memory {
  std::optional<bool> alive;
  std::optional<bool> ready;
  Instant alive_since{};
  Instant ready_since{};
};

struct Health {
  Probe probe;                 // for wanted_status(): kUnsure while a change is held back
  std::optional<Instant> due;  // when the first change that is held back counts; nullopt: none is
};

/// Takes what was seen into `memory`, which a new process fills from the cluster's conditions.
Health judge(const Json& cluster, const Look& look, const Holds& holds, Instant now, Memory& memory);

/// Writes the conditions Responding and, unless held back, Ready.
void write_ready(const Json& cluster, const Look& look, const Holds& holds, Instant now, const Memory& memory, Json& status);

/// The condition Ready of a member that is not tried any more.
void write_gave_up(const Look& look, Duration after, Instant now, Json& status);

/// Takes both conditions away where both were told: nobody judges them any more. Whether it did.
bool forget_ready(Json& status);

}  // namespace fleetadm::registration::agent
