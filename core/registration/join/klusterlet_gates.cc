#include "core/registration/join/klusterlet_gates.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace fleetadm::join {
namespace {

struct Gate {
  std::string_view name;
  bool always;       // what it is here, whatever the file says
  const char* text;  // about it
};

// Those that the agent follows are handled where they are read.
constexpr std::array kRegistrationGates = {
    Gate{"ClusterClaim", true, "the agent always reports claims"},
    Gate{"ClusterProperty", true, "the agent always reports ClusterProperties, where their kind exists"},
    Gate{"AddonManagement", true, "the agent always registers add-ons"},
    Gate{"V1beta1CSRAPICompatibility", false, "the agent uses certificates.k8s.io/v1 alone"},
};
constexpr std::array kWorkGates = {
    Gate{"ExecutorValidatingCaches", false, "the agent asks for the permissions of executors in access reviews"},
};

void read_gates(const Json& list, const KlusterletFields& fields, std::span<const Gate> known, const FollowedGates& followed) {
  for (const Json& entry : list) {
    const std::string name = str(entry, {"feature"});
    const bool on = str(entry, {"mode"}) == "Enable";
    const std::string field = "featureGates." + name;
    if (const auto at = followed.find(name); at != followed.end()) {
      if (on) at->second.enable();
      fields.becomes(field, on ? at->second.becomes : "off, as without it");
      continue;
    }
    const auto at = std::ranges::find(known, name, &Gate::name);
    if (at == known.end()) {
      fields.without_effect(field, "no gate of a Klusterlet has this name");
    } else if (at->always == on) {
      fields.becomes(field, at->text);
    } else {
      fields.without_effect(field, at->text);
    }
  }
}

}  // namespace

void read_registration_gates(const Json& list, const KlusterletFields& fields, const FollowedGates& followed) {
  read_gates(list, fields, kRegistrationGates, followed);
}

void read_work_gates(const Json& list, const KlusterletFields& fields, const FollowedGates& followed) {
  read_gates(list, fields, kWorkGates, followed);
}

}  // namespace fleetadm::join
