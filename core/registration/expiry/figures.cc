#include "core/registration/expiry/figures.h"

#include "core/controller/metrics.h"

namespace fleetadm::registration::expiry {
namespace {

std::string figure_labels(const Hop& hop) {
  return "{cluster=\"" + controller::metric_label(hop.place) + "\",hop=\"" + controller::metric_label(hop.what) + "\"} ";
}

}  // namespace

std::string figures(const std::vector<Hop>& hops) {
  std::string ends =
      "# HELP fleetadm_expiration_timestamp_seconds When a certificate, CA or token ends.\n"
      "# TYPE fleetadm_expiration_timestamp_seconds gauge\n";
  std::string good =
      "# HELP fleetadm_expiration_ok Whether a certificate or CA is good and does not end soon.\n"
      "# TYPE fleetadm_expiration_ok gauge\n";
  for (const Hop& hop : hops) {
    if (hop.ends) {
      const auto seconds = std::chrono::floor<std::chrono::seconds>(hop.ends->time_since_epoch()).count();
      ends += "fleetadm_expiration_timestamp_seconds" + figure_labels(hop) + std::to_string(seconds) + "\n";
    }
    if (hop.counts && hop.standing != Standing::kUnknown)
      good += "fleetadm_expiration_ok" + figure_labels(hop) + (hop.standing == Standing::kGood ? "1\n" : "0\n");
  }
  return ends + good;
}

}  // namespace fleetadm::registration::expiry
