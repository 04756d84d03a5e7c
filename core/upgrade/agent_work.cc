#include "core/upgrade/agent_work.h"

#include <utility>
#include <vector>

#include "core/api/kinds.h"
#include "core/install/install.h"
#include "core/upgrade/intents.h"
#include "core/work/rules/replica_set_state.h"
#include "templates/templates.h"

namespace fleetadm::upgrade {
namespace {

/// A manager of its own, in the form that the API asks for: the agent's next `join` or `upgrade` takes the fields over.
constexpr std::string_view kFieldManager = "work-agent-fleetadm-upgrade";
/// Stands for what only the cluster knows.
constexpr std::string_view kUnknown = "\x01unknown";

bool has_unknown(const Json& value) {
  if (value.is_string()) return value.get<std::string>() == kUnknown;
  if (!value.is_structured()) return false;
  for (const Json& member : value) {
    if (has_unknown(member)) return true;
  }
  return false;
}

/// The agent's own roles and accounts, as far as they are the same on every cluster.
Status add_rights(Json& manifests) {
  const std::string unknown(kUnknown);
  FLEETADM_TRY(const auto rendered, templates::render("agent/rbac.yaml", {{"secrets", unknown}, {"hub_secret", unknown}}));
  for (const Json& object : rendered) {
    if (has_unknown(object)) continue;
    manifests.push_back(object);
    at_or_make(manifests.back(), {"metadata", "labels", install::kPartLabel}) = std::string(install::kAgentPart);
  }
  return {};
}

/// Nothing of the old agent stops before the new one runs: an image that cannot be pulled leaves the cluster as it was.
Json rolling_strategy() { return {{"type", "RollingUpdate"}, {"rollingUpdate", {{"maxSurge", 1}, {"maxUnavailable", 0}}}}; }

Result<Json> deployment(const std::string& image, bool whole) {
  Json object{{"apiVersion", "apps/v1"},
              {"kind", "Deployment"},
              {"metadata", {{"name", std::string(api::kAgentDeployment)}, {"namespace", std::string(api::kAgentNamespace)}}}};
  Json& spec = object["spec"];
  spec["strategy"] = rolling_strategy();
  if (!whole) {
    spec["template"]["spec"]["containers"] = Json::array({{{"name", "agent"}, {"image", image}}});
    return object;
  }
  FLEETADM_TRY(const auto rendered, templates::render("agent/deployment.yaml", {{"image", image}, {"args", Json::array()}}));
  spec["template"] = object_at(rendered.front(), {"spec", "template"});
  for (Json& container : spec["template"]["spec"]["containers"]) container.erase("args");
  return object;
}

Json identifier(const Json& manifest) {
  const auto resource = install::resource_of(manifest);
  Json one{
      {"group", resource ? resource->group : ""}, {"resource", resource ? resource->plural : ""}, {"name", name_of(manifest)}};
  if (!namespace_of(manifest).empty()) one["namespace"] = namespace_of(manifest);
  return one;
}

}  // namespace

Result<Json> agent_work(const std::string& cluster, const std::string& image, AgentObjects objects, Instant now) {
  Json manifests = Json::array();
  if (objects == AgentObjects::kAll) FLEETADM_CHECK(add_rights(manifests));
  FLEETADM_TRY(Json agent, deployment(image, objects != AgentObjects::kImage));
  manifests.push_back(std::move(agent));
  Json configs = Json::array();
  for (const Json& manifest : manifests) {
    configs.push_back(
        {{"resourceIdentifier", identifier(manifest)},
         {"updateStrategy",
          {{"type", "ServerSideApply"}, {"serverSideApply", {{"force", true}, {"fieldManager", std::string(kFieldManager)}}}}}});
  }
  return Json{{"apiVersion", api::manifest_works().api_version()},
              {"kind", "ManifestWork"},
              {"metadata",
               {{"name", std::string(kAgentWork)},
                {"namespace", cluster},
                {"annotations", {{std::string(work::kBegunAnnotation), format_time(now)}}}}},
              {"spec",
               {{"workload", {{"manifests", std::move(manifests)}}},
                {"deleteOption", {{"propagationPolicy", "Orphan"}}},
                {"manifestConfigs", std::move(configs)}}}};
}

}  // namespace fleetadm::upgrade
