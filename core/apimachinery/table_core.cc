// Rows of the kinds that are no workloads.
#include <algorithm>
#include <set>

#include "core/apimachinery/table_cells.h"
#include "kubeclient/base/host_port.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::apimachinery {
namespace {

std::string external_ip(const Json& service) {
  const std::string type = str(service, {"spec", "type"});
  if (type == "ExternalName") return str(service, {"spec", "externalName"});
  std::vector<std::string> addresses;
  for (const Json& ingress : list_at(service, {"status", "loadBalancer", "ingress"})) {
    addresses.push_back(or_else(str(ingress, {"ip"}), str(ingress, {"hostname"})));
  }
  for (const std::string& address : string_list_at(service, {"spec", "externalIPs"})) addresses.push_back(address);
  if (addresses.empty()) return type == "LoadBalancer" ? "<pending>" : "<none>";
  return joined(addresses);
}

Json service_cells(const Json& object, Instant now) {
  std::vector<std::string> ports;
  for (const Json& port : list_at(object, {"spec", "ports"})) {
    std::string text = std::to_string(num(port, {"port"}));
    if (num(port, {"nodePort"}) > 0) text += ":" + std::to_string(num(port, {"nodePort"}));
    ports.push_back(text + "/" + str(port, {"protocol"}));
  }
  const auto addresses = string_list_at(object, {"spec", "clusterIPs"});
  return {name_of(object),
          str(object, {"spec", "type"}),
          addresses.empty() ? "<none>" : addresses.front(),
          external_ip(object),
          or_else(joined(ports)),
          age_of(object, now),
          labels_text(object_at(object, {"spec", "selector"}))};
}

Json node_cells(const Json& object, Instant now) {
  std::string status = "Unknown";
  if (const Json* ready = condition_of(object, "Ready")) status = str(*ready, {"status"}) == "True" ? "Ready" : "NotReady";
  if (flag(object, {"spec", "unschedulable"})) status += ",SchedulingDisabled";
  std::set<std::string> roles;
  for (const auto& [label, value] : strings_at(object, {"metadata", "labels"})) {
    constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
    if (label.starts_with(kPrefix) && label.size() > kPrefix.size()) roles.insert(label.substr(kPrefix.size()));
    if (label == "kubernetes.io/role" && !value.empty()) roles.insert(value);
  }
  const auto address = [&](std::string_view type) {
    for (const Json& entry : list_at(object, {"status", "addresses"})) {
      if (str(entry, {"type"}) == type) return str(entry, {"address"});
    }
    return std::string("<none>");
  };
  const auto info = [&](std::string_view member) { return or_else(str(object, {"status", "nodeInfo", member}), "<unknown>"); };
  return {name_of(object),
          status,
          or_else(joined({roles.begin(), roles.end()})),
          age_of(object, now),
          str(object, {"status", "nodeInfo", "kubeletVersion"}),
          address("InternalIP"),
          address("ExternalIP"),
          info("osImage"),
          info("kernelVersion"),
          info("containerRuntimeVersion")};
}

Json event_cells(const Json& object, Instant now) {
  const bool new_kind = find(object, {"regarding"}) != nullptr;
  const Json& about = object_at(object, {new_kind ? "regarding" : "involvedObject"});
  const char* first_name = new_kind ? "deprecatedFirstTimestamp" : "firstTimestamp";
  const char* last_name = new_kind ? "deprecatedLastTimestamp" : "lastTimestamp";
  const auto since = [&](Path path) -> std::string {
    const auto at = parse_time(str(object, path));
    return at ? format_age(*at, now) : "<unknown>";
  };
  std::string first = since({first_name});
  if (first == "<unknown>") first = since({"eventTime"});
  std::string last = since({last_name});
  if (last == "<unknown>") last = first;
  std::int64_t count = num(object, {new_kind ? "deprecatedCount" : "count"});
  if (find(object, {"series"}) != nullptr) {
    last = since({"series", "lastObservedTime"});
    count = num(object, {"series", "count"});
  } else if (count == 0) {
    count = 1;
  }
  std::string kind = str(about, {"kind"});
  std::transform(kind.begin(), kind.end(), kind.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const Json& source = object_at(object, {new_kind ? "deprecatedSource" : "source"});
  std::string from = or_else(str(source, {"component"}), str(object, {new_kind ? "reportingController" : "reportingComponent"}));
  const std::string host = or_else(str(source, {"host"}), str(object, {"reportingInstance"}));
  if (!host.empty()) from += ", " + host;
  std::string message = str(object, {new_kind ? "note" : "message"});
  constexpr std::string_view kBlanks = " \t\r\n";
  message.erase(message.find_last_not_of(kBlanks) + 1);
  message.erase(0, std::min(message.find_first_not_of(kBlanks), message.size()));
  if (const std::string name = str(about, {"name"}); !name.empty()) kind += "/" + name;
  return {last,  str(object, {"type"}), str(object, {"reason"}), kind, str(about, {"fieldPath"}), from, message, first,
          count, name_of(object)};
}

Json binding_cells(const Json& object, Instant now) {
  std::vector<std::string> users, groups, accounts;
  for (const Json& subject : list_at(object, {"subjects"})) {
    const std::string kind = str(subject, {"kind"});
    if (kind == "User") users.push_back(str(subject, {"name"}));
    if (kind == "Group") groups.push_back(str(subject, {"name"}));
    if (kind == "ServiceAccount") accounts.push_back(str(subject, {"namespace"}) + "/" + str(subject, {"name"}));
  }
  return {name_of(object),      str(object, {"roleRef", "kind"}) + "/" + str(object, {"roleRef", "name"}),
          age_of(object, now),  joined(users, ", "),
          joined(groups, ", "), joined(accounts, ", ")};
}

Json csr_cells(const Json& object, Instant now) {
  std::string condition = condition_of(object, "Denied") != nullptr     ? "Denied"
                          : condition_of(object, "Approved") != nullptr ? "Approved"
                                                                        : "Pending";
  if (condition_of(object, "Failed") != nullptr) condition += ",Failed";
  if (!str(object, {"status", "certificate"}).empty()) condition += ",Issued";
  const auto seconds = num(object, {"spec", "expirationSeconds"});
  const Instant zero{};
  return {
      name_of(object),
      age_of(object, now),
      or_else(str(object, {"spec", "signerName"})),
      str(object, {"spec", "username"}),
      seconds == 0 ? std::string("<none>") : format_age(zero + std::chrono::seconds(1), zero + std::chrono::seconds(1 + seconds)),
      condition};
}

Json endpoints_cells(const Json& object, Instant now) {
  std::vector<std::string> found;
  for (const Json& subset : list_at(object, {"subsets"})) {
    const Json& addresses = list_at(subset, {"addresses"});
    const Json& ports = list_at(subset, {"ports"});
    if (ports.empty()) {
      for (const std::string& ip : names_in(addresses, "ip")) found.push_back(ip);
    }
    for (const Json& port : ports) {
      for (const std::string& ip : names_in(addresses, "ip"))
        found.push_back(join_host_port(ip, std::to_string(num(port, {"port"}))));
    }
  }
  const std::size_t more = found.size() > 3 ? found.size() - 3 : 0;
  if (more > 0) found.resize(3);
  std::string text = or_else(joined(found));
  if (more > 0) text += " + " + std::to_string(more) + " more...";
  return {name_of(object), text, age_of(object, now)};
}

Json slice_cells(const Json& object, Instant now) {
  std::vector<std::string> ports, addresses;
  for (const Json& port : list_at(object, {"ports"}))
    ports.push_back(find(port, {"port"}) != nullptr ? std::to_string(num(port, {"port"})) : or_else(str(port, {"name"}), "*"));
  for (const Json& endpoint : list_at(object, {"endpoints"})) {
    for (const std::string& address : string_list_at(endpoint, {"addresses"})) addresses.push_back(address);
  }
  const auto shortened = [](std::vector<std::string> words) {
    const std::size_t more = words.size() > 3 ? words.size() - 3 : 0;
    if (more > 0) words.resize(3);
    return or_else(joined(words), "<unset>") + (more > 0 ? " + " + std::to_string(more) + " more..." : "");
  };
  return {name_of(object), str(object, {"addressType"}), shortened(ports), shortened(addresses), age_of(object, now)};
}

std::string access_modes(const std::vector<std::string>& given) {
  std::vector<std::string> modes;
  for (const std::string& mode : given) {
    modes.push_back(mode == "ReadWriteOnce" ? "RWO" : mode == "ReadOnlyMany" ? "ROX" : mode == "ReadWriteMany" ? "RWX" : "RWOP");
  }
  return joined(modes);
}

Json claim_cells(const Json& object, Instant now) {
  const bool bound = !str(object, {"spec", "volumeName"}).empty();
  return {name_of(object),
          is_deleting(object) ? "Terminating" : str(object, {"status", "phase"}),
          str(object, {"spec", "volumeName"}),
          bound ? str(object, {"status", "capacity", "storage"}) : "",
          bound ? access_modes(string_list_at(object, {"status", "accessModes"})) : "",
          str(object, {"spec", "storageClassName"}),
          or_else(str(object, {"spec", "volumeAttributesClassName"}), "<unset>"),
          age_of(object, now),
          or_else(str(object, {"spec", "volumeMode"}), "<unset>")};
}

Json volume_cells(const Json& object, Instant now) {
  const Json* claim = find(object, {"spec", "claimRef"});
  return {name_of(object),
          str(object, {"spec", "capacity", "storage"}),
          access_modes(string_list_at(object, {"spec", "accessModes"})),
          str(object, {"spec", "persistentVolumeReclaimPolicy"}),
          is_deleting(object) ? "Terminating" : str(object, {"status", "phase"}),
          claim == nullptr ? "" : str(*claim, {"namespace"}) + "/" + str(*claim, {"name"}),
          str(object, {"spec", "storageClassName"}),
          or_else(str(object, {"spec", "volumeAttributesClassName"}), "<unset>"),
          str(object, {"status", "reason"}),
          age_of(object, now),
          or_else(str(object, {"spec", "volumeMode"}), "<unset>")};
}

Json quota_cells(const Json& object, Instant now) {
  std::vector<std::string> requests, limits;
  for (const auto& [name, hard] : strings_at(object, {"status", "hard"})) {
    const std::string text = name + ": " + or_else(str(object, {"status", "used", name}), "0") + "/" + hard;
    (name.starts_with("limits") ? limits : requests).push_back(text);
  }
  return {name_of(object), joined(requests, ", "), joined(limits, ", "), age_of(object, now)};
}

Json ingress_cells(const Json& object, Instant now) {
  constexpr std::size_t kShownHosts = 3;
  std::vector<std::string> hosts, addresses;
  const Json& rules = list_at(object, {"spec", "rules"});
  for (const Json& rule : rules) {
    if (const std::string host = str(rule, {"host"}); !host.empty() && hosts.size() < kShownHosts) hosts.push_back(host);
  }
  std::string names = or_else(joined(hosts), "*");
  if (hosts.size() == kShownHosts && rules.size() > kShownHosts)
    names += " + " + std::to_string(rules.size() - kShownHosts) + " more...";
  for (const Json& ingress : list_at(object, {"status", "loadBalancer", "ingress"})) {
    addresses.push_back(or_else(str(ingress, {"ip"}), str(ingress, {"hostname"})));
  }
  return {name_of(object),   or_else(str(object, {"spec", "ingressClassName"})),          names,
          joined(addresses), list_at(object, {"spec", "tls"}).empty() ? "80" : "80, 443", age_of(object, now)};
}

}  // namespace

void add_core_printers(Printers& printers) {
  const auto add = [&](std::string_view group, std::string_view kind, std::vector<BuiltinColumn> columns, CellsOf cells) {
    printers.emplace(std::pair(group, kind), BuiltinPrinter(std::move(columns), cells));
  };
  add("", "Service", {{"Name"}, {"Type"}, {"Cluster-IP"}, {"External-IP"}, {"Port(s)"}, {"Age"}, {"Selector", "string", 1}},
      service_cells);
  add("", "Node",
      {{"Name"},
       {"Status"},
       {"Roles"},
       {"Age"},
       {"Version"},
       {"Internal-IP", "string", 1},
       {"External-IP", "string", 1},
       {"OS-Image", "string", 1},
       {"Kernel-Version", "string", 1},
       {"Container-Runtime", "string", 1}},
      node_cells);
  const std::vector<BuiltinColumn> events{{"Last Seen"},
                                          {"Type"},
                                          {"Reason"},
                                          {"Object"},
                                          {"Subobject", "string", 1},
                                          {"Source", "string", 1},
                                          {"Message"},
                                          {"First Seen", "string", 1},
                                          {"Count", "string", 1},
                                          {"Name", "string", 1}};
  add("", "Event", events, event_cells);
  add("events.k8s.io", "Event", events, event_cells);
  add("", "Namespace", {{"Name"}, {"Status"}, {"Age"}}, [](const Json& object, Instant now) -> Json {
    return {name_of(object), str(object, {"status", "phase"}), age_of(object, now)};
  });
  add("", "ConfigMap", {{"Name"}, {"Data"}, {"Age"}}, [](const Json& object, Instant now) -> Json {
    return {name_of(object), object_at(object, {"data"}).size() + object_at(object, {"binaryData"}).size(), age_of(object, now)};
  });
  add("", "Secret", {{"Name"}, {"Type"}, {"Data"}, {"Age"}}, [](const Json& object, Instant now) -> Json {
    return {name_of(object), str(object, {"type"}), object_at(object, {"data"}).size(), age_of(object, now)};
  });
  add("", "ServiceAccount", {{"Name"}, {"Age"}}, [](const Json& object, Instant now) -> Json {
    return {name_of(object), age_of(object, now)};
  });
  add("", "Endpoints", {{"Name"}, {"Endpoints"}, {"Age"}}, endpoints_cells);
  add("discovery.k8s.io", "EndpointSlice", {{"Name"}, {"AddressType"}, {"Ports"}, {"Endpoints"}, {"Age"}}, slice_cells);
  add("", "ResourceQuota", {{"Name"}, {"Request"}, {"Limit"}, {"Age"}}, quota_cells);
  add("", "PersistentVolumeClaim",
      {{"Name"},
       {"Status"},
       {"Volume"},
       {"Capacity"},
       {"Access Modes"},
       {"StorageClass"},
       {"VolumeAttributesClass"},
       {"Age"},
       {"VolumeMode", "string", 1}},
      claim_cells);
  add("", "PersistentVolume",
      {{"Name"},
       {"Capacity"},
       {"Access Modes"},
       {"Reclaim Policy"},
       {"Status"},
       {"Claim"},
       {"StorageClass"},
       {"VolumeAttributesClass"},
       {"Reason"},
       {"Age"},
       {"VolumeMode", "string", 1}},
      volume_cells);
  add("coordination.k8s.io", "Lease", {{"Name"}, {"Holder"}, {"Age"}}, [](const Json& object, Instant now) -> Json {
    return {name_of(object), str(object, {"spec", "holderIdentity"}), age_of(object, now)};
  });
  add("networking.k8s.io", "Ingress", {{"Name"}, {"Class"}, {"Hosts"}, {"Address"}, {"Ports"}, {"Age"}}, ingress_cells);
  add("networking.k8s.io", "IngressClass", {{"Name"}, {"Controller"}, {"Parameters"}, {"Age"}},
      [](const Json& object, Instant now) -> Json {
        std::string parameters = "<none>";
        if (const Json* given = find(object, {"spec", "parameters"})) {
          const std::string group = str(*given, {"apiGroup"});
          parameters = str(*given, {"kind"}) + (group.empty() ? "" : "." + group) + "/" + str(*given, {"name"});
        }
        return {name_of(object), str(object, {"spec", "controller"}), parameters, age_of(object, now)};
      });
  add("networking.k8s.io", "NetworkPolicy", {{"Name"}, {"Pod-Selector"}, {"Age"}}, [](const Json& object, Instant now) -> Json {
    return {name_of(object), selector_text(find(object, {"spec", "podSelector"})), age_of(object, now)};
  });
}

void add_cluster_printers(Printers& printers) {
  const auto add = [&](std::string_view group, std::string_view kind, std::vector<BuiltinColumn> columns, CellsOf cells) {
    printers.emplace(std::pair(group, kind), BuiltinPrinter(std::move(columns), cells));
  };
  const std::vector<BuiltinColumn> bindings{
      {"Name"}, {"Role"}, {"Age"}, {"Users", "string", 1}, {"Groups", "string", 1}, {"ServiceAccounts", "string", 1}};
  add("rbac.authorization.k8s.io", "RoleBinding", bindings, binding_cells);
  add("rbac.authorization.k8s.io", "ClusterRoleBinding", bindings, binding_cells);
  add("certificates.k8s.io", "CertificateSigningRequest",
      {{"Name"}, {"Age"}, {"SignerName"}, {"Requestor"}, {"RequestedDuration"}, {"Condition"}}, csr_cells);
  add("scheduling.k8s.io", "PriorityClass",
      {{"Name"}, {"Value", "integer"}, {"Global-Default", "boolean"}, {"Age"}, {"PreemptionPolicy"}},
      [](const Json& object, Instant now) -> Json {
        return {name_of(object), num(object, {"value"}), flag(object, {"globalDefault"}), age_of(object, now),
                str(object, {"preemptionPolicy"})};
      });
  const auto hooks = [](const Json& object, Instant now) -> Json {
    return {name_of(object), list_at(object, {"webhooks"}).size(), age_of(object, now)};
  };
  for (const char* kind : {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}) {
    add("admissionregistration.k8s.io", kind, {{"Name"}, {"Webhooks", "integer"}, {"Age"}}, hooks);
  }
  add("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", {{"Name"}, {"Validations", "integer"}, {"ParamKind"}, {"Age"}},
      [](const Json& object, Instant now) -> Json {
        const Json* param = find(object, {"spec", "paramKind"});
        return {name_of(object), list_at(object, {"spec", "validations"}).size(),
                param == nullptr ? "<unset>" : str(*param, {"apiVersion"}) + "/" + str(*param, {"kind"}), age_of(object, now)};
      });
  add("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", {{"Name"}, {"PolicyName"}, {"ParamRef"}, {"Age"}},
      [](const Json& object, Instant now) -> Json {
        const Json* param = find(object, {"spec", "paramRef"});
        std::string text = "<unset>";
        if (param != nullptr)
          text = str(*param, {"name"}).empty()        ? "*"
                 : str(*param, {"namespace"}).empty() ? "*/" + str(*param, {"name"})
                                                      : str(*param, {"namespace"}) + "/" + str(*param, {"name"});
        return {name_of(object), str(object, {"spec", "policyName"}), text, age_of(object, now)};
      });
  add("storage.k8s.io", "StorageClass",
      {{"Name"}, {"Provisioner"}, {"ReclaimPolicy"}, {"VolumeBindingMode"}, {"AllowVolumeExpansion"}, {"Age"}},
      [](const Json& object, Instant now) -> Json {
        const bool is_default = annotation_of(object, "storageclass.kubernetes.io/is-default-class") == "true";
        return {name_of(object) + (is_default ? " (default)" : ""),
                str(object, {"provisioner"}),
                str(object, {"reclaimPolicy"}),
                str(object, {"volumeBindingMode"}),
                flag(object, {"allowVolumeExpansion"}),
                age_of(object, now)};
      });
  add("apiregistration.k8s.io", "APIService", {{"Name"}, {"Service"}, {"Available"}, {"Age"}},
      [](const Json& object, Instant now) -> Json {
        const Json* target = find(object, {"spec", "service"});
        std::string available = "Unknown";
        if (const Json* condition = condition_of(object, "Available")) {
          available = str(*condition, {"status"});
          if (available != "True") available += " (" + str(*condition, {"reason"}) + ")";
        }
        return {name_of(object), target == nullptr ? "Local" : str(*target, {"namespace"}) + "/" + str(*target, {"name"}),
                available, age_of(object, now)};
      });
  add("node.k8s.io", "RuntimeClass", {{"Name"}, {"Handler"}, {"Age"}}, [](const Json& object, Instant now) -> Json {
    return {name_of(object), str(object, {"handler"}), age_of(object, now)};
  });
  add("storage.k8s.io", "CSINode", {{"Name"}, {"Drivers", "integer"}, {"Age"}}, [](const Json& object, Instant now) -> Json {
    return {name_of(object), list_at(object, {"spec", "drivers"}).size(), age_of(object, now)};
  });
  add("storage.k8s.io", "VolumeAttachment", {{"Name"}, {"Attacher"}, {"PV"}, {"Node"}, {"Attached", "boolean"}, {"Age"}},
      [](const Json& object, Instant now) -> Json {
        return {name_of(object),
                str(object, {"spec", "attacher"}),
                str(object, {"spec", "source", "persistentVolumeName"}),
                str(object, {"spec", "nodeName"}),
                flag(object, {"status", "attached"}),
                age_of(object, now)};
      });
}

}  // namespace fleetadm::apimachinery
