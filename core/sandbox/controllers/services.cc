// Service → Endpoints and EndpointSlices, from the pods that its selector selects.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/sandbox/controllers/pods.h"

namespace fleetadm::sandbox {
namespace {

const char* const kEndpointsComponent = "endpoint-controller";
const char* const kSliceComponent = "endpointslice-controller";
const char* const kSliceManager = "endpointslice-controller.k8s.io";
const char* const kServiceNameLabel = "kubernetes.io/service-name";
const char* const kHeadlessLabel = "service.kubernetes.io/headless";
constexpr std::size_t kMaxInSlice = 100;

/// One pod behind a service.
struct Backend {
  Json pod;
  std::string ip;
  bool serving = false;      // ready, or wanted regardless
  bool terminating = false;  //
  Json ports;                // as EndpointSlices and Endpoints list them, by name
};

std::optional<std::int64_t> port_of(const Json& pod, const Json& port) {
  const Json* target = find(port, {"targetPort"});
  if (target == nullptr) return num(port, {"port"});
  if (target->is_number_integer()) return num(port, {"targetPort"}) == 0 ? num(port, {"port"}) : num(port, {"targetPort"});
  const auto name = str(port, {"targetPort"});
  const auto protocol = str(port, {"protocol"}, "TCP");
  for (const char* list : {"containers", "initContainers"}) {
    for (const Json& container : list_at(pod, {"spec", list})) {
      if (std::string_view(list) == "initContainers" && str(container, {"restartPolicy"}) != "Always") continue;
      for (const Json& one : list_at(container, {"ports"})) {
        if (str(one, {"name"}) == name && str(one, {"protocol"}, "TCP") == protocol) return num(one, {"containerPort"});
      }
    }
  }
  return std::nullopt;
}

Json ports_of(const Json& service, const Json& pod) {
  std::vector<Json> out;
  for (const Json& port : list_at(service, {"spec", "ports"})) {
    const auto number = port_of(pod, port);
    if (!number) continue;  // this pod has no port of that name
    Json one = {{"name", str(port, {"name"})}, {"port", *number}, {"protocol", str(port, {"protocol"}, "TCP")}};
    if (const Json* application = find(port, {"appProtocol"})) one["appProtocol"] = *application;
    out.push_back(std::move(one));
  }
  std::sort(out.begin(), out.end(), [](const Json& a, const Json& b) { return str(a, {"name"}) < str(b, {"name"}); });
  return out;
}

std::vector<Backend> backends_of(const ControllerContext& context, const Json& service) {
  std::vector<Backend> out;
  const Json wrapped = {{"matchLabels", object_at(service, {"spec", "selector"})}};
  const auto selector = LabelSelector::from_object(&wrapped);
  if (!selector) return out;
  const bool regardless = flag(service, {"spec", "publishNotReadyAddresses"});
  for (Json& pod : context.engine.list(*kind_of(context, "", "pods"), namespace_of(service))) {
    const auto ip = str(pod, {"status", "podIP"});
    if (ip.empty() || pod_finished(pod) || !selector->matches(labels_of(pod))) continue;
    Backend one;
    one.ip = ip;
    one.serving = regardless || pod_ready(pod);
    one.terminating = is_deleting(pod);
    one.ports = ports_of(service, pod);
    if (one.ports.empty() && !list_at(service, {"spec", "ports"}).empty()) continue;
    one.pod = std::move(pod);
    out.push_back(std::move(one));
  }
  std::sort(out.begin(), out.end(),
            [](const Backend& a, const Backend& b) { return std::pair(a.ip, uid_of(a.pod)) < std::pair(b.ip, uid_of(b.pod)); });
  return out;
}

Json reference_to(const Json& pod) {
  return {{"kind", "Pod"}, {"namespace", namespace_of(pod)}, {"name", name_of(pod)}, {"uid", uid_of(pod)}};
}

/// A pod with a name of its own in the service's domain.
std::string hostname_of(const Json& service, const Json& pod) {
  return str(pod, {"spec", "subdomain"}) == name_of(service) ? str(pod, {"spec", "hostname"}) : std::string();
}

Json labels_for(const Json& service) {
  Json out = object_at(service, {"metadata", "labels"});
  if (str(service, {"spec", "clusterIP"}) == "None") out[kHeadlessLabel] = "";
  return out;
}

// --- Endpoints ---

Json address_of(const Json& service, const Backend& backend) {
  Json out = {{"ip", backend.ip}, {"targetRef", reference_to(backend.pod)}};
  if (const auto node = str(backend.pod, {"spec", "nodeName"}); !node.empty()) out["nodeName"] = node;
  if (const auto host = hostname_of(service, backend.pod); !host.empty()) out["hostname"] = host;
  return out;
}

/// Ports that the same pods have stand together.
Json subsets_of(const Json& service, const std::vector<Backend>& backends) {
  const bool regardless = flag(service, {"spec", "publishNotReadyAddresses"});
  struct Addresses {
    std::vector<Json> ready, waiting;
  };
  std::map<std::string, std::pair<Json, Addresses>> by_port;
  for (const auto& backend : backends) {
    if (backend.terminating && !regardless) continue;
    std::vector<Json> ports = backend.ports.get<std::vector<Json>>();
    if (ports.empty()) ports.emplace_back();  // of a headless service without any
    for (Json& port : ports) {
      if (port.is_object() && str(port, {"name"}).empty()) port.erase("name");
      auto& [known, addresses] = by_port[dump_json(port)];
      known = port;
      (backend.serving ? addresses.ready : addresses.waiting).push_back(address_of(service, backend));
    }
  }
  std::map<std::string, Json> by_addresses;
  for (const auto& [text, entry] : by_port) {
    const auto& [port, addresses] = entry;
    const Json both = Json::array({addresses.ready, addresses.waiting});
    Json& subset = by_addresses[dump_json(both)];
    if (!addresses.ready.empty()) subset["addresses"] = addresses.ready;
    if (!addresses.waiting.empty()) subset["notReadyAddresses"] = addresses.waiting;
    if (port.is_object()) {
      Json& ports = at_or_make(subset, {"ports"});
      if (!ports.is_array()) ports = Json::array();
      ports.push_back(port);
    }
  }
  Json out = Json::array();
  for (auto& [text, subset] : by_addresses) out.push_back(std::move(subset));
  return out;
}

void write_endpoints(const ControllerContext& context, const Json& service, const std::vector<Backend>& backends) {
  const auto kind = kind_of(context, "", "endpoints");
  Json labels = labels_for(service);
  labels["endpoints.kubernetes.io/managed-by"] = kEndpointsComponent;
  const Json subsets = subsets_of(service, backends);
  const auto fill = [&](Json& object) {
    at_or_make(object, {"metadata", "labels"}) = labels;
    if (subsets.empty()) {
      object.erase("subsets");
    } else {
      object["subsets"] = subsets;
    }
  };
  const auto known = context.engine.get(*kind, namespace_of(service), name_of(service));
  if (known) {
    change(context, *kind, *known, as_controller(kEndpointsComponent), fill);
    return;
  }
  Json made = {{"apiVersion", "v1"}, {"kind", "Endpoints"}, {"metadata", {{"name", name_of(service)}}}};
  fill(made);
  static_cast<void>(context.engine.create(*kind, namespace_of(service), std::move(made), as_controller(kEndpointsComponent)));
}

// --- EndpointSlices ---

Json slice_endpoint(const Json& service, const Backend& backend) {
  const bool regardless = flag(service, {"spec", "publishNotReadyAddresses"});
  const bool ready = backend.serving && (regardless || !backend.terminating);
  Json out = {{"addresses", Json::array({backend.ip})},
              {"conditions", {{"ready", ready}, {"serving", pod_ready(backend.pod)}, {"terminating", backend.terminating}}},
              {"targetRef", reference_to(backend.pod)}};
  if (const auto node = str(backend.pod, {"spec", "nodeName"}); !node.empty()) out["nodeName"] = node;
  if (const auto host = hostname_of(service, backend.pod); !host.empty()) out["hostname"] = host;
  return out;
}

struct SliceContent {
  Json ports;
  Json endpoints;
};

/// One for each set of ports and hundred pods; an empty one where there are no pods at all.
std::vector<SliceContent> slices_of(const Json& service, const std::vector<Backend>& backends) {
  std::map<std::string, std::vector<const Backend*>> by_ports;
  for (const auto& backend : backends) by_ports[dump_json(backend.ports)].push_back(&backend);
  std::vector<SliceContent> out;
  for (const auto& [text, group] : by_ports) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (i % kMaxInSlice == 0) out.push_back({group[i]->ports, Json::array()});
      out.back().endpoints.push_back(slice_endpoint(service, *group[i]));
    }
  }
  if (out.empty()) out.push_back({nullptr, nullptr});
  return out;
}

void write_slices(const ControllerContext& context, const Json& service, const std::vector<Backend>& backends) {
  const auto kind = kind_of(context, "discovery.k8s.io", "endpointslices");
  const auto ns = namespace_of(service);
  std::vector<Json> known;
  for (Json& one : context.engine.list(*kind, ns)) {
    if (label_of(one, kServiceNameLabel) == name_of(service) &&
        label_of(one, "endpointslice.kubernetes.io/managed-by") == kSliceManager && !is_deleting(one))
      known.push_back(std::move(one));
  }
  Json labels = labels_for(service);
  labels[kServiceNameLabel] = name_of(service);
  labels["endpointslice.kubernetes.io/managed-by"] = kSliceManager;
  const auto by = as_controller(kSliceComponent);
  const auto contents = slices_of(service, backends);
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const auto fill = [&](Json& object) {
      at_or_make(object, {"metadata", "labels"}) = labels;
      object["ports"] = contents[i].ports;
      object["endpoints"] = contents[i].endpoints;
    };
    if (i < known.size()) {
      change(context, *kind, known[i], by, fill);
      continue;
    }
    Json made = {
        {"apiVersion", "discovery.k8s.io/v1"},
        {"kind", "EndpointSlice"},
        {"addressType", "IPv4"},
        {"metadata", {{"generateName", name_of(service) + "-"}, {"ownerReferences", Json::array({owner_reference(service)})}}}};
    fill(made);
    static_cast<void>(context.engine.create(*kind, ns, std::move(made), by));
  }
  for (auto i = contents.size(); i < known.size(); ++i) remove(context, *kind, known[i]);
}

}  // namespace

void sync_service(const ControllerContext& context, const std::string& ns, const std::string& name) {
  const auto kind = kind_of(context, "", "services");
  const auto service = context.engine.get(*kind, ns, name);
  if (!service) {
    const auto endpoints = kind_of(context, "", "endpoints");
    if (const auto known = context.engine.get(*endpoints, ns, name)) remove(context, *endpoints, *known);
    return;  // slices go with their owner
  }
  if (is_deleting(*service) || object_at(*service, {"spec", "selector"}).empty() ||
      str(*service, {"spec", "type"}) == "ExternalName") {
    return;  // somebody else tells where it leads to
  }
  const auto backends = backends_of(context, *service);
  write_endpoints(context, *service, backends);
  write_slices(context, *service, backends);
}

}  // namespace fleetadm::sandbox
