#include "core/sandbox/quota/usage.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

namespace fleetadm::sandbox::quota {
namespace {

constexpr std::array<std::string_view, 3> kComputed = {"cpu", "memory", "ephemeral-storage"};
constexpr std::string_view kOfClass = ".storageclass.storage.k8s.io/";

void add(Amounts& to, const std::string& name, const Quantity& amount) {
  const auto [at, fresh] = to.emplace(name, amount);
  if (!fresh) at->second += amount;
}
void add(Amounts& to, const Amounts& amounts) {
  for (const auto& [name, amount] : amounts) add(to, name, amount);
}
void at_least(Amounts& to, const Amounts& amounts) {
  for (const auto& [name, amount] : amounts) {
    const auto [at, fresh] = to.emplace(name, amount);
    if (!fresh && at->second.compare(amount) < 0) at->second = amount;
  }
}

bool is_extended(std::string_view name) {
  const auto slash = name.find('/');
  return slash != std::string_view::npos && !name.substr(0, slash).ends_with("kubernetes.io") && !name.starts_with("requests.");
}

/// Requests and limits under the names that quotas have for them.
Amounts named_for_quotas(const Amounts& requests, const Amounts& limits) {
  Amounts out;
  for (const auto& [name, amount] : requests) {
    const bool computed = std::find(kComputed.begin(), kComputed.end(), name) != kComputed.end();
    const bool huge = name.starts_with("hugepages-");
    if (computed || huge) out.emplace(name, amount);
    if (computed || huge || is_extended(name)) out.emplace("requests." + name, amount);
  }
  for (const auto& [name, amount] : limits) {
    if (std::find(kComputed.begin(), kComputed.end(), name) != kComputed.end()) out.emplace("limits." + name, amount);
  }
  return out;
}

/// Over, or to be over by now.
bool has_ended(const Json& pod, Instant now) {
  const auto phase = str(pod, {"status", "phase"});
  if (phase == "Succeeded" || phase == "Failed") return true;
  const auto until = parse_time(str(pod, {"metadata", "deletionTimestamp"}));
  return until && *until + std::chrono::seconds(num(pod, {"metadata", "deletionGracePeriodSeconds"})) < now;
}

void add_service(const Json& service, Amounts& out) {
  const auto type = str(service, {"spec", "type"});
  const Json& ports = list_at(service, {"spec", "ports"});
  std::int64_t node_ports = 0;
  if (type == "NodePort" || (type == "LoadBalancer" && flag(service, {"spec", "allocateLoadBalancerNodePorts"}, true))) {
    node_ports = static_cast<std::int64_t>(ports.size());
  } else if (type == "LoadBalancer") {
    node_ports = std::count_if(ports.begin(), ports.end(), [](const Json& port) { return num(port, {"nodePort"}) != 0; });
  }
  out.emplace("services", Quantity::from_int(1));
  out.emplace("services.nodeports", Quantity::from_int(node_ports));
  out.emplace("services.loadbalancers", Quantity::from_int(type == "LoadBalancer" ? 1 : 0));
}

void add_claim(const Json& claim, Amounts& out) {
  const auto storage_class =
      str(claim, {"spec", "storageClassName"}, annotation_of(claim, "volume.beta.kubernetes.io/storage-class"));
  out.emplace("persistentvolumeclaims", Quantity::from_int(1));
  const auto size = Quantity::parse(str(claim, {"spec", "resources", "requests", "storage"}));
  if (size) out.emplace("requests.storage", *size);
  if (storage_class.empty()) return;
  const auto prefix = storage_class + std::string(kOfClass);
  out.emplace(prefix + "persistentvolumeclaims", Quantity::from_int(1));
  if (size) out.emplace(prefix + "requests.storage", *size);
}

bool asks_for_nothing(const Json& pod) {
  for (const char* list : {"containers", "initContainers"}) {
    for (const Json& container : list_at(pod, {"spec", list})) {
      for (const char* what : {"requests", "limits"}) {
        for (const auto& [name, amount] : amounts_of(object_at(container, {"resources", what}))) {
          if ((name == "cpu" || name == "memory") && !amount.is_zero()) return false;
        }
      }
    }
  }
  return true;
}

bool looks_into_namespaces(const Json& pod) {
  for (const char* affinity : {"podAffinity", "podAntiAffinity"}) {
    const auto wide = [](const Json& term) {
      return !list_at(term, {"namespaces"}).empty() || find(term, {"namespaceSelector"}) != nullptr;
    };
    for (const Json& term : list_at(pod, {"spec", "affinity", affinity, "requiredDuringSchedulingIgnoredDuringExecution"})) {
      if (wide(term)) return true;
    }
    for (const Json& term : list_at(pod, {"spec", "affinity", affinity, "preferredDuringSchedulingIgnoredDuringExecution"})) {
      if (wide(object_at(term, {"podAffinityTerm"}))) return true;
    }
  }
  return false;
}

bool has_active_deadline(const Json& pod) { return find(pod, {"spec", "activeDeadlineSeconds"}) != nullptr; }

bool in_scope(const std::string& scope, const std::string& how, const std::vector<std::string>& values, const Json& pod) {
  if (scope == "Terminating") return has_active_deadline(pod);
  if (scope == "NotTerminating") return !has_active_deadline(pod);
  if (scope == "BestEffort") return asks_for_nothing(pod);
  if (scope == "NotBestEffort") return !asks_for_nothing(pod);
  if (scope == "CrossNamespacePodAffinity") return looks_into_namespaces(pod);
  if (scope != "PriorityClass") return false;
  const auto name = str(pod, {"spec", "priorityClassName"});
  const bool listed = std::find(values.begin(), values.end(), name) != values.end();
  if (how == "In") return !name.empty() && listed;
  if (how == "NotIn") return !listed;
  if (how == "DoesNotExist") return name.empty();
  return !name.empty();
}

}  // namespace

Amounts peak_of(const Json& pod, std::string_view what) {
  Amounts together;
  Amounts beside;  // containers that are started first and stay
  Amounts before;
  for (const Json& container : list_at(pod, {"spec", "initContainers"})) {
    Amounts own = amounts_of(object_at(container, {"resources", what}));
    if (str(container, {"restartPolicy"}) == "Always") {
      add(beside, own);
      own = beside;
    } else {
      add(own, beside);
    }
    at_least(before, own);
  }
  for (const Json& container : list_at(pod, {"spec", "containers"}))
    add(together, amounts_of(object_at(container, {"resources", what})));
  add(together, beside);
  at_least(together, before);
  for (const auto& [name, amount] : amounts_of(object_at(pod, {"spec", "overhead"}))) {
    if (what == "requests" || together.contains(name)) add(together, name, amount);
  }
  return together;
}

std::string qos_class(const Json& pod) {
  if (asks_for_nothing(pod)) return "BestEffort";
  for (const char* list : {"containers", "initContainers"}) {
    for (const Json& container : list_at(pod, {"spec", list})) {
      const auto requests = amounts_of(object_at(container, {"resources", "requests"}));
      const auto limits = amounts_of(object_at(container, {"resources", "limits"}));
      for (const char* name : {"cpu", "memory"}) {
        const auto limit = limits.find(name);
        const auto request = requests.find(name);
        if (limit == limits.end() || limit->second.is_zero()) return "Burstable";
        if (request == requests.end() || request->second.compare(limit->second) != 0) return "Burstable";
      }
    }
  }
  return "Guaranteed";
}

namespace {

/// How the objects of a core kind count, beside that there is one of them.
struct Evaluator {
  /// The kind's objects can count for this resource.
  bool (*counts)(std::string_view resource);
  void (*add_usage)(const Json& object, Instant now, Amounts& out);
  /// An update can change what an object counts for.
  bool (*update_counts)(const Json& object, const Json& old);
};

bool counts_pods(std::string_view resource) {
  static const std::set<std::string, std::less<>> kOfPods = {"pods",
                                                             "cpu",
                                                             "memory",
                                                             "requests.cpu",
                                                             "requests.memory",
                                                             "limits.cpu",
                                                             "limits.memory",
                                                             "ephemeral-storage",
                                                             "requests.ephemeral-storage",
                                                             "limits.ephemeral-storage"};
  if (kOfPods.contains(resource) || resource.starts_with("hugepages-") || resource.starts_with("requests.hugepages-"))
    return true;
  return resource.starts_with("requests.") && is_extended(resource.substr(9));
}

void add_pod(const Json& pod, Instant now, Amounts& out) {
  if (has_ended(pod, now)) return;
  out.emplace("pods", Quantity::from_int(1));
  add(out, named_for_quotas(peak_of(pod, "requests"), peak_of(pod, "limits")));
}

/// Null for kinds of which only the number counts.
const Evaluator* evaluator_of(const Kind& kind) {
  static const std::map<std::string, Evaluator> kEvaluators = {
      {"/pods",
       {counts_pods, add_pod,
        [](const Json& pod, const Json& old) { return has_active_deadline(pod) != has_active_deadline(old); }}},
      {"/services",
       {[](std::string_view resource) {
          return resource == "services" || resource == "services.nodeports" || resource == "services.loadbalancers";
        },
        [](const Json& service, Instant, Amounts& out) { add_service(service, out); },
        [](const Json&, const Json&) { return true; }}},
      {"/persistentvolumeclaims",
       {[](std::string_view resource) {
          return resource == "persistentvolumeclaims" || resource == "requests.storage" ||
                 resource.find(kOfClass) != std::string_view::npos;
        },
        [](const Json& claim, Instant, Amounts& out) { add_claim(claim, out); }, [](const Json&, const Json&) { return true; }}},
  };
  const auto at = kEvaluators.find(kind.storage);
  return at == kEvaluators.end() ? nullptr : &at->second;
}

}  // namespace

bool counts_for(const Kind& kind, std::string_view resource) {
  if (resource == "count/" + kind.qualified()) return true;
  if (!kind.group.empty()) return false;
  if (const auto* own = evaluator_of(kind)) return own->counts(resource);
  static const std::set<std::string> kCounted = {"configmaps", "secrets", "replicationcontrollers", "resourcequotas"};
  return resource == kind.plural && kCounted.contains(kind.plural);
}

Amounts usage_of(const Kind& kind, const Json& object, Instant now) {
  Amounts out;
  out.emplace("count/" + kind.qualified(), Quantity::from_int(1));
  if (const auto* own = evaluator_of(kind)) {
    own->add_usage(object, now, out);
  } else if (kind.group.empty() && counts_for(kind, kind.plural)) {
    out.emplace(kind.plural, Quantity::from_int(1));
  }
  return out;
}

bool update_counts(const Kind& kind, const Json& object, const Json& old) {
  const auto* own = evaluator_of(kind);
  return own != nullptr && own->update_counts(object, old);
}

bool in_scopes(const Json& quota, const Kind& kind, const Json& object) {
  const auto scopes = string_list_at(quota, {"spec", "scopes"});
  const Json& selected = list_at(quota, {"spec", "scopeSelector", "matchExpressions"});
  if (scopes.empty() && selected.empty()) return true;
  if (kind.storage != "/pods") return false;
  return std::all_of(scopes.begin(), scopes.end(),
                     [&](const std::string& scope) { return in_scope(scope, "Exists", {}, object); }) &&
         std::all_of(selected.begin(), selected.end(), [&](const Json& one) {
           return in_scope(str(one, {"scopeName"}), str(one, {"operator"}), string_list_at(one, {"values"}), object);
         });
}

std::string unspecified(const Json& pod, const Amounts& restricted) {
  static constexpr std::array<const char*, 6> kDemanded = {"cpu",    "limits.cpu",   "limits.memory",
                                                           "memory", "requests.cpu", "requests.memory"};
  std::string out;
  for (const char* resource : kDemanded) {
    if (!restricted.contains(resource)) continue;
    std::set<std::string> missing;
    for (const char* list : {"containers", "initContainers"}) {
      for (const Json& container : list_at(pod, {"spec", list})) {
        const auto own = named_for_quotas(amounts_of(object_at(container, {"resources", "requests"})),
                                          amounts_of(object_at(container, {"resources", "limits"})));
        if (!own.contains(resource)) missing.insert(str(container, {"name"}));
      }
    }
    if (missing.empty()) continue;
    std::string names;
    for (const auto& name : missing) names += (names.empty() ? "" : ",") + name;
    out += (out.empty() ? "must specify " : "; ") + std::string(resource) + " for: " + names;
  }
  return out;
}

Amounts amounts_of(const Json& list) {
  Amounts out;
  if (!list.is_object()) return out;
  for (const auto& [name, value] : list.items()) {
    const auto amount = Quantity::parse(value.is_string() ? value.get<std::string>() : dump_json(value));
    if (amount) out.emplace(name, *amount);
  }
  return out;
}

Json to_json(const Amounts& amounts) {
  Json out = Json::object();
  for (const auto& [name, amount] : amounts) out[name] = amount.to_string();
  return out;
}

std::string to_text(const Amounts& amounts) {
  std::string out;
  for (const auto& [name, amount] : amounts) out += (out.empty() ? "" : ",") + name + "=" + amount.to_string();
  return out;
}

Amounts masked(const Amounts& amounts, const Amounts& names) {
  Amounts out;
  for (const auto& [name, amount] : amounts) {
    if (names.contains(name)) out.emplace(name, amount);
  }
  return out;
}

}  // namespace fleetadm::sandbox::quota
