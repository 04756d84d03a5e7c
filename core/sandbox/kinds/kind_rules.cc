#include "core/sandbox/kinds/kind_rules.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/sandbox/kinds/pod_checks.h"
#include "core/sandbox/kinds/service_ports.h"
#include "core/sandbox/quota/limits.h"
#include "core/sandbox/quota/usage.h"
#include "core/sandbox/validation/update_rules.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox {
namespace {

void set_default(Json& object, Path path, const Json& value) {
  if (find(object, path) == nullptr) at_or_make(object, path) = value;
}

ApiStatus check_update(const StrategyContext& context, const Json& object, const Json& old) {
  const auto problems = update_problems(context.kind, object, old);
  if (problems.empty()) return {};
  return invalid(context.kind, name_of(object), problems);
}

// --- namespaces ---

void default_namespace(Json& ns) {
  at_or_make(ns, {"metadata", "labels", "kubernetes.io/metadata.name"}) = name_of(ns);
  if (str(ns, {"status", "phase"}).empty()) at_or_make(ns, {"status", "phase"}) = is_deleting(ns) ? "Terminating" : "Active";
}

Strategy namespace_rules() {
  Strategy out;
  out.defaults = default_namespace;
  out.status_writes_owners = true;
  out.is_held = [](const Json& ns) { return !list_at(ns, {"spec", "finalizers"}).empty(); };
  out.after_marked = [](Json& ns) {
    erase_at(ns, {"metadata", "deletionGracePeriodSeconds"});  // which namespaces do not have
    at_or_make(ns, {"status", "phase"}) = "Terminating";
  };
  out.create = [](const StrategyContext&, Json& ns) -> ApiStatus {
    at_or_make(ns, {"spec", "finalizers"}) = {"kubernetes"};
    ns["status"] = {{"phase", "Active"}};
    return {};
  };
  out.update = [](const StrategyContext& context, Json& ns, const Json& old) -> ApiStatus {
    // spec.finalizers only change through /finalize.
    if (context.options.subresource != "finalize") {
      if (const Json* spec = find(old, {"spec"})) ns["spec"] = *spec;
    }
    if (context.options.subresource != "status") {
      if (const Json* status = find(old, {"status"})) ns["status"] = *status;
    }
    return {};
  };
  out.remove = [](const StrategyContext& context, const Json& ns) -> ApiStatus {
    static const std::set<std::string> kKept = {"default", "kube-system", "kube-public"};
    if (kKept.contains(name_of(ns))) return forbidden(context.kind, name_of(ns), "this namespace may not be deleted");
    return {};
  };
  return out;
}

// --- ConfigMaps and Secrets ---

ApiStatus check_immutable_data(const StrategyContext& context, const Json& object, const Json& old,
                               std::initializer_list<const char*> fields) {
  if (!flag(old, {"immutable"})) return {};
  std::vector<Cause> causes;
  if (!flag(object, {"immutable"})) causes.push_back(forbidden_field("immutable", "field is immutable when `immutable` is set"));
  for (const char* field : fields) {
    if (object_at(object, {field}) != object_at(old, {field}))
      causes.push_back(forbidden_field(field, "field is immutable when `immutable` is set"));
  }
  if (causes.empty()) return {};
  return invalid(context.kind, name_of(object), causes);
}

ApiStatus check_keys(const StrategyContext& context, const Json& object, const char* field) {
  for (const auto& [key, value] : object_at(object, {field}).items()) {
    const bool good =
        !key.empty() && key.size() <= 253 && key != "." && key != ".." && std::all_of(key.begin(), key.end(), [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
        });
    if (!good) {
      return invalid(context.kind, name_of(object),
                     {bad_value(std::string(field) + "[" + key + "]", key,
                                "a valid config key must consist of alphanumeric characters, '-', '_' or '.'")});
    }
  }
  return {};
}

Strategy config_map_rules() {
  Strategy out;
  out.create = [](const StrategyContext& context, Json& object) { return check_keys(context, object, "data"); };
  out.update = [](const StrategyContext& context, Json& object, const Json& old) -> ApiStatus {
    FLEETADM_CHECK(check_keys(context, object, "data"));
    return check_immutable_data(context, object, old, {"data", "binaryData"});
  };
  return out;
}

void default_secret(Json& secret) {
  set_default(secret, {"type"}, "Opaque");
  const auto plain = strings_at(secret, {"stringData"});
  for (const auto& [key, value] : plain) at_or_make(secret, {"data", key}) = base64_encode(value);
  secret.erase("stringData");
}

ApiStatus check_secret(const StrategyContext& context, const Json& secret) {
  FLEETADM_CHECK(check_keys(context, secret, "data"));
  for (const auto& [key, value] : object_at(secret, {"data"}).items()) {
    if (value.is_null()) continue;
    if (!value.is_string() || !base64_decode(value.get<std::string>())) {
      return bad_request("Secret in version \"v1\" cannot be handled as a Secret: illegal base64 data in data." + key);
    }
  }
  return {};
}

}  // namespace

Strategy secret_rules() {
  Strategy out;
  out.defaults = default_secret;
  out.create = [](const StrategyContext& context, Json& secret) { return check_secret(context, secret); };
  out.update = [](const StrategyContext& context, Json& secret, const Json& old) -> ApiStatus {
    FLEETADM_CHECK(check_secret(context, secret));
    FLEETADM_CHECK(check_immutable_data(context, secret, old, {"data"}));
    if (str(secret, {"type"}) != str(old, {"type"}))
      return invalid(context.kind, name_of(secret), {bad_value("type", str(secret, {"type"}), "field is immutable")});
    return {};
  };
  return out;
}

namespace {

// --- leases ---

ApiStatus check_lease(const StrategyContext& context, Json& lease) {
  for (const char* field : {"acquireTime", "renewTime"}) {
    const auto text = str(lease, {"spec", field});
    if (text.empty()) continue;
    const auto at = parse_time(text);
    if (!at) return bad_request("Lease in version \"v1\" cannot be handled as a Lease: parsing time " + dump_json(Json(text)));
    at_or_make(lease, {"spec", field}) = format_micro_time(*at);
  }
  std::vector<Cause> causes;
  if (const Json* seconds = find(lease, {"spec", "leaseDurationSeconds"});
      seconds != nullptr && seconds->is_number() && num(lease, {"spec", "leaseDurationSeconds"}) <= 0) {
    causes.push_back(bad_value("spec.leaseDurationSeconds", *seconds, "must be greater than 0"));
  }
  if (num(lease, {"spec", "leaseTransitions"}) < 0)
    causes.push_back(
        bad_value("spec.leaseTransitions", num(lease, {"spec", "leaseTransitions"}), "must be greater than or equal to 0"));
  if (!causes.empty()) return invalid(context.kind, name_of(lease), causes);
  return {};
}

Strategy lease_rules() {
  Strategy out;
  out.create = check_lease;
  out.update = [](const StrategyContext& context, Json& lease, const Json&) { return check_lease(context, lease); };
  return out;
}

// --- pods and services ---

const char* const kTokenMount = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The service account's token, the CA and the namespace, mounted where clients in pods look for them.
ApiStatus mount_account(const StrategyContext& context, Json& pod) {
  const auto ns = namespace_of(pod);
  const auto account = str(pod, {"spec", "serviceAccountName"});
  const auto stored = context.engine.store().get("/serviceaccounts", ns, account);
  if (!stored)
    return forbidden(context.kind, name_of(pod),
                     "error looking up service account " + ns + "/" + account + ": serviceaccount \"" + account + "\" not found");
  if (!flag(pod, {"spec", "automountServiceAccountToken"}, flag(stored->json(), {"automountServiceAccountToken"}, true)))
    return {};
  const auto volume = "kube-api-access-" + random_suffix(5);
  bool used = false;
  for (const char* list : {"initContainers", "containers"}) {
    const auto at = pod["spec"].find(list);
    if (at == pod["spec"].end() || !at->is_array()) continue;
    for (Json& container : *at) {
      Json& mounts = at_or_make(container, {"volumeMounts"});
      if (!mounts.is_array()) mounts = Json::array();
      if (std::any_of(mounts.begin(), mounts.end(), [](const Json& one) { return str(one, {"mountPath"}) == kTokenMount; }))
        continue;
      mounts.push_back({{"name", volume}, {"mountPath", kTokenMount}, {"readOnly", true}});
      used = true;
    }
  }
  if (!used) return {};
  const Json token = {{"serviceAccountToken", {{"expirationSeconds", 3607}, {"path", "token"}}}};
  const Json ca = {
      {"configMap", {{"name", "kube-root-ca.crt"}, {"items", Json::array({{{"key", "ca.crt"}, {"path", "ca.crt"}}})}}}};
  const Json where = {{"path", "namespace"}, {"fieldRef", {{"apiVersion", "v1"}, {"fieldPath", "metadata.namespace"}}}};
  const Json downward = {{"downwardAPI", {{"items", Json::array({where})}}}};
  Json& volumes = at_or_make(pod, {"spec", "volumes"});
  if (!volumes.is_array()) volumes = Json::array();
  volumes.push_back({{"name", volume}, {"projected", {{"defaultMode", 420}, {"sources", Json::array({token, ca, downward})}}}});
  return {};
}

Strategy pod_rules() {
  Strategy out;
  out.defaults = [](Json& pod) {
    set_default(pod, {"spec", "serviceAccountName"}, "default");
    set_default(pod, {"spec", "serviceAccount"}, str(pod, {"spec", "serviceAccountName"}));
    set_default(pod, {"status", "phase"}, "Pending");
  };
  out.grace_seconds = [](const Json& pod, std::optional<std::int64_t> asked) -> std::int64_t {
    const auto phase = str(pod, {"status", "phase"});
    if (str(pod, {"spec", "nodeName"}).empty() || phase == "Failed" || phase == "Succeeded") return 0;
    const auto grace = asked.value_or(num(pod, {"spec", "terminationGracePeriodSeconds"}, 30));
    return grace < 0 ? 1 : grace;
  };
  out.create = [](const StrategyContext& context, Json& pod) -> ApiStatus {
    const auto ns = namespace_of(pod);
    FLEETADM_CHECK(complete_pod(context, pod));
    if (context.engine.store().count("/limitranges", ns) > 0)
      quota::give_default_limits(context.engine.list(*context.engine.kinds().find("", "v1", "limitranges"), ns), pod);
    pod["status"] = {{"phase", "Pending"}, {"qosClass", quota::qos_class(pod)}};
    FLEETADM_CHECK(mount_account(context, pod));
    auto problems = pod_spec_problems(object_at(pod, {"spec"}), "spec");
    if (!list_at(pod, {"spec", "ephemeralContainers"}).empty())
      problems.push_back(forbidden_field("spec.ephemeralContainers", "cannot be set on create"));
    if (!problems.empty()) return invalid(context.kind, name_of(pod), problems);
    return {};
  };
  out.update = [](const StrategyContext& context, Json& pod, const Json& old) -> ApiStatus {
    if (context.options.admitted_as == "binding") return {};  // which gives the pod its node
    if (context.options.subresource == "ephemeralcontainers") {
      if (const auto problems = ephemeral_container_problems(pod, old); !problems.empty())
        return invalid(context.kind, name_of(pod), problems);
      return {};
    }
    return check_update(context, pod, old);
  };
  return out;
}

bool has_address(const Json& service) { return str(service, {"spec", "type"}) != "ExternalName"; }

void give_address(Json& service) {
  if (!has_address(service)) return;
  if (const auto wanted = str(service, {"spec", "clusterIP"}); !wanted.empty()) {
    set_default(service, {"spec", "clusterIPs"}, {wanted});
    if (wanted == "None" && object_at(service, {"spec", "selector"}).empty()) {
      // Whoever writes its endpoints may write any address.
      set_default(service, {"spec", "ipFamilies"}, {"IPv4", "IPv6"});
      set_default(service, {"spec", "ipFamilyPolicy"}, "RequireDualStack");
    }
  } else {
    // Nothing routes to it: it only has to look like an address and stay the same.
    const auto digest = sha256_hex(uid_of(service));
    const auto byte = [&](std::size_t at) { return std::to_string(1 + std::stoul(digest.substr(at, 2), nullptr, 16) % 254); };
    const auto address = "10.96." + byte(0) + "." + byte(2);
    at_or_make(service, {"spec", "clusterIP"}) = address;
    at_or_make(service, {"spec", "clusterIPs"}) = {address};
  }
  set_default(service, {"spec", "ipFamilies"}, {"IPv4"});
  set_default(service, {"spec", "ipFamilyPolicy"}, "SingleStack");
}

/// What the server had given the service stays where the client leaves it out, and goes with its type.
void keep_address(Json& service, const Json& old) {
  constexpr std::array kGiven = {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"};
  if (!has_address(service)) {
    if (has_address(old)) {
      for (const char* field : kGiven) erase_at(service, {"spec", field});
    }
    return;
  }
  if (!has_address(old)) return give_address(service);
  const auto now = str(service, {"spec", "clusterIP"});
  if (now.empty()) {
    for (const char* field : kGiven) {
      if (const Json* value = find(old, {"spec", field})) set_default(service, {"spec", field}, *value);
    }
    return;
  }
  // Clients that know only of the first one.
  auto all = string_list_at(service, {"spec", "clusterIPs"});
  if (all.empty() || (now != str(old, {"spec", "clusterIP"}) && all == string_list_at(old, {"spec", "clusterIPs"}))) {
    if (all.empty()) all.emplace_back();
    all.front() = now;
    at_or_make(service, {"spec", "clusterIPs"}) = all;
  }
  set_default(service, {"spec", "ipFamilies"}, list_at(old, {"spec", "ipFamilies"}));
  set_default(service, {"spec", "ipFamilyPolicy"}, str(old, {"spec", "ipFamilyPolicy"}, "SingleStack"));
}

Strategy service_rules() {
  Strategy out;
  out.defaults = [](Json& service) { set_default(service, {"status", "loadBalancer"}, Json::object()); };
  out.create = [](const StrategyContext& context, Json& service) -> ApiStatus {
    give_address(service);
    return give_node_ports(context, service, nullptr);
  };
  out.update = [](const StrategyContext& context, Json& service, const Json& old) -> ApiStatus {
    keep_address(service, old);
    FLEETADM_CHECK(give_node_ports(context, service, &old));
    return check_update(context, service, old);
  };
  return out;
}

/// Names and values of the system's own classes are not for others.
ApiStatus check_new_priority_class(const StrategyContext& context, Json& one) {
  constexpr std::int64_t kHighest = 1'000'000'000;
  if (context.options.internal) return {};
  std::vector<Cause> causes;
  if (name_of(one).starts_with("system-")) {
    causes.push_back(forbidden_field(
        "metadata.name", "priority class names with 'system-' prefix are reserved for system use only. error: " + name_of(one) +
                             " is not a known system priority class"));
  } else if (num(one, {"value"}) > kHighest) {
    causes.push_back(forbidden_field("value", "maximum allowed value of a user defined priority is " + std::to_string(kHighest)));
  }
  if (causes.empty()) return {};
  return invalid(context.kind, name_of(one), causes);
}

/// Since when a volume has its phase.
void note_volume_phase(const StrategyContext& context, Json& volume, const Json* old) {
  if (old == nullptr) at_or_make(volume, {"status", "phase"}) = "Pending";
  if (old == nullptr || str(volume, {"status", "phase"}) != str(*old, {"status", "phase"}))
    at_or_make(volume, {"status", "lastPhaseTransitionTime"}) = format_time(context.now);
}

}  // namespace

void set_kind_rules(Engine& engine) {
  engine.set_strategy("/namespaces", namespace_rules());
  engine.set_strategy("/configmaps", config_map_rules());
  engine.set_strategy("/secrets", secret_rules());
  engine.set_strategy("coordination.k8s.io/leases", lease_rules());
  engine.set_strategy("/pods", pod_rules());
  engine.set_strategy("/services", service_rules());
  set_workload_rules(engine);
  for (const auto& storage : plainly_immutable()) {
    Strategy rules;
    rules.update = [](const StrategyContext& context, Json& object, const Json& old) {
      return check_update(context, object, old);
    };
    if (std::string_view(storage) == "scheduling.k8s.io/priorityclasses") rules.create = check_new_priority_class;
    if (std::string_view(storage) == "/persistentvolumes") {
      rules.create = [](const StrategyContext& context, Json& volume) -> ApiStatus {
        note_volume_phase(context, volume, nullptr);
        return {};
      };
      rules.update = [](const StrategyContext& context, Json& volume, const Json& old) -> ApiStatus {
        note_volume_phase(context, volume, &old);
        return check_update(context, volume, old);
      };
    }
    engine.set_strategy(storage, std::move(rules));
  }
}

}  // namespace fleetadm::sandbox
