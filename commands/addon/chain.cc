#include "commands/addon/chain.h"

#include <algorithm>

#include "core/addon/rules/names.h"
#include "core/work/rules/progress.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::commands {
namespace {

using State = Link::State;

const Json* condition_in(const Json& object, std::string_view type) {
  for (const Json& one : list_at(object, {"status", "conditions"})) {
    if (str(one, {"type"}) == type) return &one;
  }
  return nullptr;
}

bool is(const Json& object, std::string_view type, std::string_view status) {
  const Json* condition = condition_in(object, type);
  return condition != nullptr && str(*condition, {"status"}) == status;
}

/// "reason: message" of a condition.
std::string told_by(const Json& object, std::string_view type) {
  const Json* condition = condition_in(object, type);
  if (condition == nullptr) return {};
  const std::string reason = str(*condition, {"reason"});
  const std::string message = str(*condition, {"message"});
  return message.empty() ? reason : reason + ": " + message;
}

Link declaration_link(const AddonFacts& facts) {
  if (facts.declaration.is_null()) {
    return {"declaration", State::kBroken, "there is no add-on \"" + facts.addon + "\" on the hub",
            "fleetadm addon create " + facts.addon + " -f FILE"};
  }
  if (is_deleting(facts.declaration)) return {"declaration", State::kBroken, "the add-on is being deleted on the hub", ""};
  const std::string type = str(facts.declaration, {"spec", "installStrategy", "type"}, "Manual");
  return {"declaration", State::kHolds, type == "Placements" ? "installed by placements" : "enabled cluster by cluster", ""};
}

Link installation_link(const AddonFacts& facts) {
  const std::string where = " " + facts.addon + " --clusters " + facts.cluster;
  const bool by_placements = str(facts.declaration, {"spec", "installStrategy", "type"}) == "Placements";
  if (!facts.managed_addon.is_null() && is_deleting(facts.managed_addon)) {
    const Json& finalizers = list_at(facts.managed_addon, {"metadata", "finalizers"});
    std::vector<std::string> names;
    for (const Json& one : finalizers) {
      if (one.is_string()) names.push_back(one.get<std::string>());
    }
    return {"installation", State::kWaits,
            "the add-on is being removed" + (names.empty() ? "" : " (" + joined(names, ", ") + ")"), ""};
  }
  if (by_placements && facts.selected_by.empty()) {
    const Json& placements = list_at(facts.declaration, {"spec", "installStrategy", "placements"});
    if (placements.empty()) {
      return {"installation", State::kBroken, "the add-on is to be installed by placements, and names none",
              "fleetadm addon enable " + facts.addon + " --placement NAMESPACE/NAME"};
    }
    std::vector<std::string> names;
    for (const Json& one : placements) names.push_back(str(one, {"namespace"}) + "/" + str(one, {"name"}));
    return {"installation", State::kBroken, "no placement of the add-on selects the cluster (" + joined(names, ", ") + ")",
            "fleetadm placement explain " + str(placements.front(), {"name"}) + " -n " + str(placements.front(), {"namespace"}) +
                " --cluster " + facts.cluster};
  }
  if (facts.managed_addon.is_null()) {
    if (!by_placements)
      return {"installation", State::kBroken, "the add-on is not enabled on the cluster", "fleetadm addon enable" + where};
    return {"installation", State::kWaits,
            "placement " + joined(facts.selected_by, ", ") + " selects the cluster, and the hub has not created the add-on there",
            "fleetadm doctor"};
  }
  return {"installation", State::kHolds,
          by_placements ? "selected by placement " + joined(facts.selected_by, ", ") : std::string("enabled on the cluster"), ""};
}

Link cluster_link(const AddonFacts& facts) {
  const std::string look = "fleetadm get clusters " + facts.cluster + " -o wide";
  if (facts.managed_cluster.is_null())
    return {"cluster", State::kBroken, "there is no such cluster on the hub", "fleetadm get clusters"};
  if (!flag(facts.managed_cluster, {"spec", "hubAcceptsClient"}))
    return {"cluster", State::kBroken, "the hub has not accepted the cluster", "fleetadm accept --clusters " + facts.cluster};
  if (const auto silent = work::unreachable(facts.managed_cluster))
    return {"cluster", State::kBroken, "the cluster's agent does not respond: " + silent->message, look};
  return {"cluster", State::kHolds, "accepted", ""};
}

Link configuration_link(const AddonFacts& facts) {
  const Json& its = facts.managed_addon;
  for (const Json& one : list_at(its, {"status", "configReferences"})) {
    const bool wanted = !object_at(one, {"desiredConfig"}).empty();
    if (!wanted || !str(one, {"desiredConfig", "specHash"}).empty()) continue;
    const std::string ns = str(one, {"desiredConfig", "namespace"});
    const std::string name = (ns.empty() ? "" : ns + "/") + str(one, {"desiredConfig", "name"});
    return {"configuration", State::kBroken, str(one, {"resource"}) + " " + name + " does not exist",
            "kubectl get " + str(one, {"resource"}) + "." + str(one, {"group"}) + (ns.empty() ? "" : " -n " + ns)};
  }
  // A manager of its own configures such an add-on, and need not say so.
  const bool own = annotation_of(facts.declaration, addon::kLifecycleAnnotation) == "self";
  if (own && condition_in(its, "Configured") == nullptr) return {"configuration", State::kHolds, "left to its own manager", ""};
  if (condition_in(its, "Configured") == nullptr)
    return {"configuration", State::kWaits, "the hub has not configured the add-on", "fleetadm doctor"};
  if (!is(its, "Configured", "True"))
    return {"configuration", State::kWaits, told_by(its, "Configured"), "fleetadm rollout status addon/" + facts.addon};
  return {"configuration", State::kHolds, "configured", ""};
}

Link template_link(const AddonFacts& facts) {
  if (facts.no_template) {
    return {"template", State::kBroken, "AddOnTemplate " + *facts.no_template + " does not exist",
            "fleetadm addon create " + facts.addon + " -f FILE"};
  }
  return {"template", State::kHolds, "exists", ""};
}

bool is_open(const Json& request) {
  const Json& conditions = list_at(request, {"status", "conditions"});
  return std::none_of(conditions.begin(), conditions.end(),
                      [](const Json& one) { return str(one, {"type"}) == "Approved" || str(one, {"type"}) == "Denied"; });
}

Link registration_link(const AddonFacts& facts) {
  const Json& addon = facts.managed_addon;
  const Json* applied = condition_in(addon, "RegistrationApplied");
  if (applied == nullptr)
    return {"registration", State::kWaits, "the hub has not set up the registration of the agent", "fleetadm doctor"};
  if (str(*applied, {"status"}) != "True") {
    return {"registration", State::kBroken, told_by(addon, "RegistrationApplied"),
            "kubectl -n " + facts.cluster + " get rolebindings"};
  }
  for (const Json& request : facts.requests) {
    if (is_open(request)) {
      return {"registration", State::kWaits, "certificate request " + name_of(request) + " is not approved",
              "kubectl describe csr " + name_of(request)};
    }
  }
  return {"registration", State::kHolds, "applied", ""};
}

/// The first work that is not as it should be.
Link works_link(const AddonFacts& facts) {
  for (const char* type : {"ManifestApplied", "HostingManifestApplied"}) {
    for (const Json& work : facts.works) {
      const work::WorkProgress progress = work::progress_of(work);
      if (progress.state != work::kStateNotApplied) continue;
      std::string why = progress.blocking ? progress.blocking->message : std::string();
      for (const work::ManifestProgress& manifest : progress.manifests) {
        if (manifest.state == work::kStateNotApplied && manifest.blocking) {
          why = manifest.describe() + ": " + manifest.blocking->message;
          break;
        }
      }
      return {"works", State::kBroken, "work " + name_of(work) + " is not applied: " + why,
              "fleetadm work describe " + name_of(work) + " --clusters " + namespace_of(work)};
    }
    if (condition_in(facts.managed_addon, type) != nullptr && !is(facts.managed_addon, type, "True")) {
      return {"works", State::kWaits, told_by(facts.managed_addon, type),
              "fleetadm addon render " + facts.addon + " --cluster " + facts.cluster};
    }
  }
  if (!facts.works.empty() && condition_in(facts.managed_addon, "ManifestApplied") == nullptr &&
      condition_in(facts.managed_addon, "HostingManifestApplied") == nullptr) {
    return {"works", State::kWaits, "the cluster has not applied the manifests",
            "fleetadm work status " + name_of(facts.works.front()) + " --clusters " + namespace_of(facts.works.front())};
  }
  return {"works", State::kHolds, facts.works.empty() ? "none are needed" : "applied", ""};
}

Link health_link(const AddonFacts& facts) {
  const Json* available = condition_in(facts.managed_addon, "Available");
  const std::string logs = "fleetadm get works --clusters " + facts.cluster;
  if (available == nullptr) return {"health", State::kWaits, "nothing is known of the agent's health yet", logs};
  const std::string why = told_by(facts.managed_addon, "Available");
  if (str(*available, {"status"}) == "True") return {"health", State::kHolds, why, ""};
  const bool unknown = str(*available, {"status"}) == "Unknown";
  return {"health", unknown ? State::kWaits : State::kBroken, why, logs};
}

}  // namespace

std::string_view to_string(Link::State state) {
  return state == State::kHolds ? "Holds" : state == State::kWaits ? "Waits" : "Broken";
}

std::vector<Link> addon_chain(const AddonFacts& facts) {
  std::vector<Link> chain;
  for (const auto link : {declaration_link, cluster_link, installation_link, configuration_link, template_link, registration_link,
                          works_link, health_link}) {
    chain.push_back(link(facts));
    if (chain.back().state != State::kHolds) break;
  }
  return chain;
}

}  // namespace fleetadm::commands
