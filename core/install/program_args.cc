#include "core/install/program_args.h"

#include "core/install/install.h"

namespace fleetadm::install {

Json hub_args() {
  return Json::array({"hub", "run", "--leader-elect=true", std::string(kHealthArgument), std::string(kWebhookArgument)});
}

Json gateway_args(bool konnectivity) {
  Json args = Json::array({"gateway", "run", std::string(kHealthArgument), std::string(kGatewayArgument),
                           std::string(kTunnelArgument), std::string(kPeerArgument)});
  if (!konnectivity) return args;
  for (const std::string_view arg :
       {std::string_view("--accept-konnectivity"), kKonnectivityArgument, kKonnectivityAgentArgument})
    args.emplace_back(arg);
  return args;
}

}  // namespace fleetadm::install
