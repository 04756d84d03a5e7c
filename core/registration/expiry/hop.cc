#include "core/registration/expiry/hop.h"

#include <algorithm>

namespace fleetadm::registration::expiry {
namespace {

constexpr auto kDay = std::chrono::hours(24);
constexpr auto kMonth = 30 * kDay;
constexpr int kLastPart = 10;

Duration soon_before(const Hop& hop, const Limit& limit) {
  if (limit) return *limit;
  if (!hop.counts) return Duration::zero();
  if (!hop.begins) return kMonth;
  return std::min<Duration>(kMonth, (*hop.ends - *hop.begins) / kLastPart);
}

}  // namespace

std::string_view to_string(Standing standing) {
  switch (standing) {
    case Standing::kGood: return "ok";
    case Standing::kSoon: return "soon";
    case Standing::kEnded: return "ended";
    case Standing::kWrong: return "wrong";
    case Standing::kUnknown: return "unknown";
  }
  return "";
}

bool Hop::fails() const {
  return counts && (standing == Standing::kSoon || standing == Standing::kEnded || standing == Standing::kWrong);
}

void judge(Hop& hop, const Limit& limit, Instant now) {
  if (hop.standing == Standing::kWrong) return;
  if (hop.begins && *hop.begins > now) {
    hop.standing = Standing::kWrong;
    hop.detail += std::string(hop.detail.empty() ? "" : "; ") + "not valid before " + format_time(*hop.begins);
    return;
  }
  if (!hop.ends) return;
  if (*hop.ends <= now) {
    hop.standing = Standing::kEnded;
  } else {
    hop.standing = *hop.ends - now < soon_before(hop, limit) ? Standing::kSoon : Standing::kGood;
  }
}

Hop hop_of(std::string place, std::string what, const pki::CertInfo& certificate) {
  Hop hop;
  hop.place = std::move(place);
  hop.what = std::move(what);
  hop.begins = certificate.not_before;
  hop.ends = certificate.not_after;
  return hop;
}

Hop wrong(std::string place, std::string what, std::string detail, std::string fix) {
  Hop hop;
  hop.place = std::move(place);
  hop.what = std::move(what);
  hop.standing = Standing::kWrong;
  hop.detail = std::move(detail);
  hop.fix = std::move(fix);
  return hop;
}

Hop unknown(std::string place, std::string what, std::string why) {
  Hop hop;
  hop.place = std::move(place);
  hop.what = std::move(what);
  hop.detail = std::move(why);
  return hop;
}

std::int64_t days_left(Instant ends, Instant now) { return std::chrono::floor<std::chrono::days>(ends - now).count(); }

}  // namespace fleetadm::registration::expiry
