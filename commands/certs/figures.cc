#include "commands/certs/figures.h"

#include <algorithm>

#include "core/controller/metrics.h"

namespace fleetadm::commands {
namespace {

using registration::expiry::Hop;
using registration::expiry::Standing;

std::string time_left(const Hop& hop, Instant now) {
  if (!hop.ends) return "-";
  return *hop.ends > now ? format_age(now, *hop.ends) : "-" + format_age(*hop.ends, now);
}

std::string figure_labels(const Hop& hop) {
  return "{cluster=\"" + controller::metric_label(hop.place) + "\",hop=\"" + controller::metric_label(hop.what) + "\"}";
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

std::vector<std::string> figures(const std::vector<Hop>& hops) {
  std::vector<std::string> lines{
      "# HELP fleetadm_expiration_timestamp_seconds When a certificate, CA or token ends.",
      "# TYPE fleetadm_expiration_timestamp_seconds gauge",
  };
  for (const Hop& hop : hops) {
    if (!hop.ends) continue;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(hop.ends->time_since_epoch()).count();
    lines.push_back("fleetadm_expiration_timestamp_seconds" + figure_labels(hop) + " " + std::to_string(seconds));
  }
  lines.emplace_back("# HELP fleetadm_expiration_ok Whether a certificate or CA is good and does not end soon.");
  lines.emplace_back("# TYPE fleetadm_expiration_ok gauge");
  for (const Hop& hop : hops) {
    if (!hop.counts || hop.standing == Standing::kUnknown) continue;
    lines.push_back("fleetadm_expiration_ok" + figure_labels(hop) + (hop.standing == Standing::kGood ? " 1" : " 0"));
  }
  return lines;
}

}  // namespace fleetadm::commands
