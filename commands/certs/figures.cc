#include "commands/certs/figures.h"

#include <algorithm>

namespace fleetadm::commands {
namespace {

using registration::expiry::Hop;
using registration::expiry::Standing;

std::string time_left(const Hop& hop, Instant now) {
  if (!hop.ends) return "-";
  return *hop.ends > now ? format_age(now, *hop.ends) : "-" + format_age(*hop.ends, now);
}

Json hop_entry(const Hop& hop, Instant now) {
  Json entry{{"cluster", hop.place},
             {"hop", hop.what},
             {"result", std::string(to_string(hop.standing))},
             {"counts", hop.counts},
             {"detail", hop.detail}};
  if (hop.begins) entry["begins"] = format_time(*hop.begins);
  if (hop.ends) {
    entry["ends"] = format_time(*hop.ends);
    entry["daysLeft"] = registration::expiry::days_left(*hop.ends, now);
  }
  if (hop.fails()) entry["fix"] = hop.fix;
  return entry;
}

}  // namespace

Report certificate_report(const std::vector<Hop>& hops, Instant now) {
  Report report;
  const bool failed = std::any_of(hops.begin(), hops.end(), [](const Hop& hop) { return hop.fails(); });
  report.data = Json{{"kind", "CertificateReport"}, {"healthy", !failed}, {"items", Json::array()}};
  report.table = Table{{{"CLUSTER"}, {"HOP"}, {"RESULT"}, {"LEFT"}, {"ENDS"}, {"DETAIL"}}, {}, "Nothing to check."};
  for (const Hop& hop : hops) {
    report.data["items"].push_back(hop_entry(hop, now));
    report.table->rows.push_back({hop.place, hop.what, std::string(to_string(hop.standing)), time_left(hop, now),
                                  hop.ends ? format_time(*hop.ends) : "-", hop.detail});
    report.names.push_back(hop.place + "/" + hop.what);
    if (hop.fails() && !hop.fix.empty()) report.notes.push_back(hop.place + ": " + hop.what + ": " + hop.fix);
  }
  report.exit_code = failed ? 1 : 0;
  return report;
}

}  // namespace fleetadm::commands
