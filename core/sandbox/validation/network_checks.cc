#include "core/sandbox/validation/network_checks.h"

#include <algorithm>
#include <set>

#include "core/sandbox/model/validation_helpers.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/names.h"

namespace fleetadm::sandbox {
namespace {

// --- services ---

void check_service_ports(const Json& spec, FieldErrors& out) {
  const std::string path = "spec.ports";
  const Json& ports = list_at(spec, {"ports"});
  std::set<std::string> names;
  std::set<std::pair<std::string, std::int64_t>> numbers;
  FieldErrors twice;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const auto at = at_index(path, i);
    const Json& port = ports[i];
    const auto name = str(port, {"name"});
    if (name.empty()) {
      if (ports.size() > 1) out.push_back(required(at + ".name"));
    } else {
      say(at + ".name", name, dns_label_problems(name), out);
      if (!names.insert(name).second) out.push_back(duplicate(at + ".name", name));
    }
    const auto number = num(port, {"port"});
    check_port(at + ".port", number, out);
    const auto protocol = str(port, {"protocol"}, "TCP");
    one_of(port, at + ".", "protocol", {"SCTP", "TCP", "UDP"}, out);
    if (const Json* target = find(port, {"targetPort"}); target != nullptr && target->is_number())
      check_port(at + ".targetPort", num(port, {"targetPort"}), out);
    if (!numbers.emplace(protocol, number).second) twice.push_back(duplicate(at, {{"protocol", protocol}, {"port", number}}));
  }
  out.insert(out.end(), twice.begin(), twice.end());
}

// --- ingresses ---

void check_ingress_backend(const Json& backend, const std::string& at, FieldErrors& out) {
  const Json* resource = find(backend, {"resource"});
  const Json* service = find(backend, {"service"});
  if (resource != nullptr && service != nullptr) {
    out.push_back(bad_value(at, "", "cannot set both resource and service backends"));
  } else if (service != nullptr) {
    const auto name = str(*service, {"name"});
    if (name.empty()) {
      out.push_back(required(at + ".service.name"));
    } else {
      say(at + ".service.name", name, service_name_problems(name), out);
    }
    const bool named = !str(*service, {"port", "name"}).empty();
    const auto number = num(*service, {"port", "number"});
    if (named && number != 0) {
      out.push_back(bad_value(at, "", "cannot set both port name & port number"));
    } else if (!named && number == 0) {
      out.push_back(required(at, "port name or number is required"));
    } else if (!named) {
      check_port(at + ".service.port.number", number, out);
    }
  } else if (resource == nullptr) {
    out.push_back(bad_value(at, "", "resource or service backend is required"));
  }
}

void check_ingress_path(const Json& one, const std::string& at, FieldErrors& out) {
  const auto type = str(one, {"pathType"});
  const auto path = str(one, {"path"});
  if (type.empty()) return out.push_back(required(at + ".pathType", "pathType must be specified"));
  const bool exact = type == "Exact" || type == "Prefix";
  if (!exact && type != "ImplementationSpecific") {
    out.push_back(unsupported(at + ".pathType", type, {"Exact", "ImplementationSpecific", "Prefix"}));
  } else if ((exact || !path.empty()) && !path.starts_with('/')) {
    out.push_back(bad_value(at + ".path", path, "must be an absolute path"));
  }
  if (exact) {
    for (const std::string_view part : {"//", "/./", "/../", "%2f", "%2F"}) {
      if (path.find(part) != std::string::npos)
        out.push_back(bad_value(at + ".path", path, "must not contain '" + std::string(part) + "'"));
    }
    for (const std::string_view end : {"/..", "/."}) {
      if (path.ends_with(end)) out.push_back(bad_value(at + ".path", path, "cannot end with '" + std::string(end) + "'"));
    }
  }
  check_ingress_backend(object_at(one, {"backend"}), at + ".backend", out);
}

bool is_ipv4(std::string_view text) {
  return std::count(text.begin(), text.end(), '.') == 3 &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || c == '.'; });
}

// --- network policies ---

void check_policy_port(const Json& one, const std::string& at, FieldErrors& out) {
  one_of(one, at + ".", "protocol", {"TCP", "UDP", "SCTP"}, out);
  const Json* port = find(one, {"port"});
  const Json* last = find(one, {"endPort"});
  if (port != nullptr && port->is_number()) {
    const auto first = num(one, {"port"});
    check_port(at + ".port", first, out);
    if (last == nullptr) return;
    if (num(one, {"endPort"}) < first)
      out.push_back(bad_value(at + ".endPort", first, "must be greater than or equal to `port`"));
    check_port(at + ".endPort", num(one, {"endPort"}), out);
  } else if (last != nullptr) {
    out.push_back(bad_value(at + ".endPort", *last,
                            port == nullptr ? "may not be specified when `port` is not specified"
                                            : "may not be specified when `port` is non-numeric"));
  }
}

void check_policy_peer(const Json& peer, const std::string& at, FieldErrors& out) {
  int kinds = 0;
  for (const char* member : {"podSelector", "namespaceSelector"}) {
    const Json* selector = find(peer, {member});
    if (selector == nullptr || !selector->is_object()) continue;
    ++kinds;
    check_label_selector(*selector, at + "." + member, {}, out);
  }
  if (const Json* block = find(peer, {"ipBlock"}); block != nullptr && block->is_object()) {
    if (str(*block, {"cidr"}).empty()) out.push_back(required(at + ".ipBlock.cidr"));
    if (kinds > 0) out.push_back(forbidden_field(at, "may not specify both ipBlock and another peer"));
  } else if (kinds == 0) {
    out.push_back(required(at, "must specify a peer"));
  }
}

}  // namespace

std::vector<Cause> service_problems(const Json& service) {
  FieldErrors out;
  const Json& spec = object_at(service, {"spec"});
  const auto type = str(spec, {"type"}, "ClusterIP");
  const bool external = type == "ExternalName";
  const bool headless = str(spec, {"clusterIP"}) == "None";
  if (list_at(spec, {"ports"}).empty() && !external && !headless) out.push_back(required("spec.ports"));
  if (headless && (type == "LoadBalancer" || type == "NodePort"))
    out.push_back(bad_value("spec.clusterIPs[0]", "None", "may not be set to 'None' for " + type + " services"));
  if (external) {
    auto name = str(spec, {"externalName"});
    if (name.ends_with('.')) name.pop_back();
    if (name.empty()) {
      out.push_back(required("spec.externalName"));
    } else {
      say("spec.externalName", name, dns_subdomain_problems(name), out);
    }
  }
  check_service_ports(spec, out);
  for (const auto& [key, value] : strings_at(spec, {"selector"})) {
    say("spec.selector", key, label_key_problems(key), out);
    say("spec.selector", value, label_value_problems(value), out);
  }
  one_of(spec, "spec.", "sessionAffinity", {"ClientIP", "None"}, out);
  one_of(spec, "spec.", "type", {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"}, out);
  return out;
}

std::vector<Cause> ingress_problems(const Json& ingress) {
  FieldErrors out;
  const Json& spec = object_at(ingress, {"spec"});
  const Json& rules = list_at(spec, {"rules"});
  const Json* backend = find(spec, {"defaultBackend"});
  if (rules.empty() && backend == nullptr)
    out.push_back(bad_value("spec", nullptr, "either `defaultBackend` or `rules` must be specified"));
  if (backend != nullptr) check_ingress_backend(*backend, "spec.defaultBackend", out);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto at = at_index("spec.rules", i);
    const auto host = str(rules[i], {"host"});
    if (is_ipv4(host)) out.push_back(bad_value(at + ".host", host, "must be a DNS name, not an IP address"));
    if (!host.empty() && host.find('*') == std::string::npos) say(at + ".host", host, dns_subdomain_problems(host), out);
    const Json* http = find(rules[i], {"http"});
    if (http == nullptr) continue;
    const Json& paths = list_at(*http, {"paths"});
    if (paths.empty()) out.push_back(required(at + ".http.paths"));
    for (std::size_t j = 0; j < paths.size(); ++j) check_ingress_path(paths[j], at_index(at + ".http.paths", j), out);
  }
  return out;
}

std::vector<Cause> network_policy_problems(const Json& policy) {
  FieldErrors out;
  const Json& spec = object_at(policy, {"spec"});
  check_label_selector(object_at(spec, {"podSelector"}), "spec.podSelector", {}, out);
  for (const auto& [list, peers] : {std::pair("ingress", "from"), std::pair("egress", "to")}) {
    const Json& rules = list_at(spec, {list});
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const auto at = at_index(std::string("spec.") + list, i);
      const Json& ports = list_at(rules[i], {"ports"});
      for (std::size_t j = 0; j < ports.size(); ++j) check_policy_port(ports[j], at_index(at + ".ports", j), out);
      const Json& others = list_at(rules[i], {peers});
      for (std::size_t j = 0; j < others.size(); ++j) check_policy_peer(others[j], at_index(at + "." + peers, j), out);
    }
  }
  const auto types = string_list_at(spec, {"policyTypes"});
  if (types.size() > 2) {
    out.push_back(bad_value("spec.policyTypes", types, "may not specify more than two policyTypes"));
    return out;
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] != "Ingress" && types[i] != "Egress")
      out.push_back(unsupported(at_index("spec.policyTypes", i), types[i], {"Ingress", "Egress"}));
  }
  return out;
}

}  // namespace fleetadm::sandbox
