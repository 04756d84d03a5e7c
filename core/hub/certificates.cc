#include "core/hub/certificates.h"

#include <mutex>
#include <vector>

#include "core/registration/expiry/figures.h"
#include "core/registration/expiry/hub_hops.h"

namespace fleetadm::hub {
namespace {

namespace expiry = registration::expiry;

constexpr auto kCertificatesPause = std::chrono::hours(1);

struct Seen {
  std::mutex mutex;
  std::vector<expiry::Hop> hops;
};

}  // namespace

void add_certificates(controller::Manager& manager, const kube::Client& hub, const kube::RestConfig& config,
                      std::shared_ptr<Clock> clock) {
  const auto seen = std::make_shared<Seen>();
  manager.add({.name = "certificates", .resync = kCertificatesPause, .resync_keys = {"hub"}},
              [=](const std::string&, const std::stop_token& stop) -> Result<controller::Outcome> {
                auto hops = expiry::own_hops(hub.with_stop(stop), config,
                                             expiry::look_at(config.server, config.proxy_url, config.ca_data));
                const std::lock_guard lock(seen->mutex);
                seen->hops = std::move(hops);
                return controller::Outcome{};
              });
  manager.add_metrics([seen, clock = std::move(clock)] {
    std::vector<expiry::Hop> hops;
    {
      const std::lock_guard lock(seen->mutex);
      hops = seen->hops;
    }
    for (expiry::Hop& hop : hops) expiry::judge(hop, {}, clock->now());
    return expiry::figures(hops);
  });
}

}  // namespace fleetadm::hub
