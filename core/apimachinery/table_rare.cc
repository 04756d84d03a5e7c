// Rows of kinds that people seldom look at: storage drivers, device claims, flow control, addresses, templates.
#include "core/apimachinery/table_cells.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::apimachinery {
namespace {

Json driver_cells(const Json& object, Instant now) {
  std::vector<std::string> audiences;
  const Json* requests = find(object, {"spec", "tokenRequests"});
  for (const Json& one : list_at(object, {"spec", "tokenRequests"})) audiences.push_back(str(one, {"audience"}));
  return {name_of(object),
          flag(object, {"spec", "attachRequired"}, true),
          flag(object, {"spec", "podInfoOnMount"}),
          flag(object, {"spec", "storageCapacity"}),
          requests == nullptr ? "<unset>" : joined(audiences),
          flag(object, {"spec", "requiresRepublish"}),
          or_else(joined(string_list_at(object, {"spec", "volumeLifecycleModes"}))),
          age_of(object, now)};
}

Json capacity_cells(const Json& object, Instant) {
  return {name_of(object), str(object, {"storageClassName"}), or_else(str(object, {"capacity"}), "<unset>")};
}

Json flow_schema_cells(const Json& object, Instant now) {
  std::string dangling = "?";
  if (const Json* condition = condition_of(object, "Dangling")) dangling = str(*condition, {"status"});
  return {name_of(object),
          str(object, {"spec", "priorityLevelConfiguration", "name"}),
          num(object, {"spec", "matchingPrecedence"}),
          or_else(str(object, {"spec", "distinguisherMethod", "type"})),
          age_of(object, now),
          dangling};
}

Json priority_level_cells(const Json& object, Instant now) {
  Json cells = {name_of(object), str(object, {"spec", "type"})};
  const bool limited = find(object, {"spec", "limited"}) != nullptr;
  const Json* queuing = find(object, {"spec", "limited", "limitResponse", "queuing"});
  cells.push_back(limited ? Json(num(object, {"spec", "limited", "nominalConcurrencyShares"})) : Json("<none>"));
  for (const char* field : {"queues", "handSize", "queueLengthLimit"})
    cells.push_back(queuing == nullptr ? Json("<none>") : Json(num(*queuing, {field})));
  cells.push_back(age_of(object, now));
  return cells;
}

Json address_cells(const Json& object, Instant now) {
  std::string parent = "<none>";
  if (const Json* of = find(object, {"spec", "parentRef"})) {
    parent = str(*of, {"resource"});
    if (const auto group = str(*of, {"group"}); !group.empty()) parent += "." + group;
    if (const auto ns = str(*of, {"namespace"}); !ns.empty()) parent += "/" + ns;
    parent += "/" + str(*of, {"name"});
  }
  return {name_of(object), parent, age_of(object, now)};  // the age has no column; it is sent as the real server sends it
}

Json claim_state_cells(const Json& object, Instant now) {
  std::vector<std::string> states;
  if (is_deleting(object)) states.emplace_back("deleted");
  if (find(object, {"status", "allocation"}) != nullptr) {
    states.emplace_back("allocated");
    if (!list_at(object, {"status", "reservedFor"}).empty()) states.emplace_back("reserved");
  } else if (!is_deleting(object)) {
    states.emplace_back("pending");
  }
  return {name_of(object), joined(states), age_of(object, now)};
}

Json pod_template_cells(const Json& object, Instant) {
  Json cells = {name_of(object)};
  add_containers(cells, object_at(object, {"template", "spec"}));
  cells.push_back(labels_text(object_at(object, {"template", "metadata", "labels"})));
  return cells;
}

Json component_cells(const Json& object, Instant) {
  for (const Json& condition : list_at(object, {"conditions"})) {
    if (str(condition, {"type"}) != "Healthy") continue;
    return {name_of(object), str(condition, {"status"}) == "True" ? "Healthy" : "Unhealthy", str(condition, {"message"}),
            str(condition, {"error"})};
  }
  return {name_of(object), "Unknown", "", ""};
}

Json name_and_age(const Json& object, Instant now) { return {name_of(object), age_of(object, now)}; }

}  // namespace

void add_rare_printers(Printers& printers) {
  const auto add = [&](std::string_view group, std::string_view kind, std::vector<BuiltinColumn> columns, CellsOf cells) {
    printers.emplace(std::pair(group, kind), BuiltinPrinter(std::move(columns), cells));
  };
  add("", "PodTemplate", {{"Name"}, {"Containers"}, {"Images"}, {"Pod Labels"}}, pod_template_cells);
  add("", "ComponentStatus", {{"Name"}, {"Status"}, {"Message"}, {"Error"}}, component_cells);
  add("storage.k8s.io", "CSIDriver",
      {{"Name"},
       {"AttachRequired", "boolean"},
       {"PodInfoOnMount", "boolean"},
       {"StorageCapacity", "boolean"},
       {"TokenRequests"},
       {"RequiresRepublish", "boolean"},
       {"Modes"},
       {"Age"}},
      driver_cells);
  add("storage.k8s.io", "CSIStorageCapacity", {{"Name"}, {"StorageClassName"}, {"Capacity"}}, capacity_cells);
  add("storage.k8s.io", "VolumeAttributesClass", {{"Name"}, {"DriverName"}, {"Age"}},
      [](const Json& object, Instant now) -> Json {
        return {name_of(object), str(object, {"driverName"}), age_of(object, now)};
      });
  add("flowcontrol.apiserver.k8s.io", "FlowSchema",
      {{"Name"}, {"PriorityLevel"}, {"MatchingPrecedence"}, {"DistinguisherMethod"}, {"Age"}, {"MissingPL"}}, flow_schema_cells);
  add("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration",
      {{"Name"}, {"Type"}, {"NominalConcurrencyShares"}, {"Queues"}, {"HandSize"}, {"QueueLengthLimit"}, {"Age"}},
      priority_level_cells);
  add("networking.k8s.io", "ServiceCIDR", {{"Name"}, {"CIDRs"}, {"Age"}}, [](const Json& object, Instant now) -> Json {
    return {name_of(object), joined(string_list_at(object, {"spec", "cidrs"})), age_of(object, now)};
  });
  add("networking.k8s.io", "IPAddress", {{"Name"}, {"ParentRef"}}, address_cells);
  add("resource.k8s.io", "DeviceClass", {{"Name"}, {"Age"}}, name_and_age);
  add("resource.k8s.io", "ResourceClaim", {{"Name"}, {"State"}, {"Age"}}, claim_state_cells);
  add("resource.k8s.io", "ResourceClaimTemplate", {{"Name"}, {"Age"}}, name_and_age);
  add("resource.k8s.io", "ResourceSlice", {{"Name"}, {"Node"}, {"Driver"}, {"Pool"}, {"Age"}},
      [](const Json& object, Instant now) -> Json {
        return {name_of(object), str(object, {"spec", "nodeName"}), str(object, {"spec", "driver"}),
                str(object, {"spec", "pool", "name"}), age_of(object, now)};
      });
}

}  // namespace fleetadm::apimachinery
