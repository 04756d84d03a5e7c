// What the ways of a fleet depend on and what ends some day: one hop each, and how it stands. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/clock.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::registration::expiry {

enum class Standing {
  kGood,
  kSoon,  // ends soon
  kEnded,
  kWrong,    // is not what the other side takes, or is missing
  kUnknown,  // cannot be seen from here
};
/// "ok", "soon", "ended", "wrong", "unknown".
std::string_view to_string(Standing standing);

// What hops are called that are looked at from several places: figures are told apart by these.
inline constexpr const char* kAgentCertificate = "agent certificate";
inline constexpr const char* kAuthorityOfAgent = "hub CA of the agent";
inline constexpr const char* kAuthorityOfBootstrap = "hub CA of the bootstrap";

struct Hop {
  std::string place;  // "hub", or the cluster's name
  std::string what;   // "agent certificate"
  Standing standing = Standing::kUnknown;
  std::optional<Instant> begins;
  std::optional<Instant> ends;  // nullopt: never, or not known
  std::string detail;
  std::string fix;  // the next step where it does not stand well; shown only then
  /// False: that it has ended is no fault, as of a bootstrap token that did its work.
  bool counts = true;

  /// It counts, and something has to be done.
  bool fails() const;
};

/// What is soon: what ends within that time; without one, within 30 days, or the last tenth of the life of what lives for less
/// than 300 days. Agents renew at a fifth, so that what is in its last tenth was not renewed. What does not count is never soon
/// without one.
using Limit = std::optional<Duration>;

/// Of a hop's dates. What was found wrong stays wrong.
void judge(Hop& hop, const Limit& limit, Instant now);

/// A hop of a certificate, with its dates.
Hop hop_of(std::string place, std::string what, const pki::CertInfo& certificate);
/// Of what is not there or cannot be read.
Hop wrong(std::string place, std::string what, std::string detail, std::string fix);
/// Of what cannot be seen from here.
Hop unknown(std::string place, std::string what, std::string why);

/// Whole days until the end, negative afterwards.
std::int64_t days_left(Instant ends, Instant now);

}  // namespace fleetadm::registration::expiry
