#include "core/sandbox/validation/object_checks.h"

#include <algorithm>
#include <map>

#include "core/sandbox/model/validation_helpers.h"
#include "core/sandbox/validation/network_checks.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/names.h"
#include "kubeclient/base/quantity.h"

namespace fleetadm::sandbox {
namespace {

constexpr std::size_t kMaxData = 1024 * 1024;

std::size_t data_size(const Json& object, const char* member) {
  std::size_t size = 0;
  for (const auto& [key, value] : strings_at(object, {member})) size += value.size();
  return size;
}

// --- configuration ---

FieldErrors config_map_problems(const Json& map) {
  FieldErrors out;
  const auto binary = strings_at(map, {"binaryData"});
  for (const auto& [key, value] : strings_at(map, {"data"})) {
    if (binary.contains(key)) out.push_back(bad_value("data[" + key + "]", key, "duplicate of key present in binaryData"));
  }
  // Base64 takes four characters for three bytes.
  if (data_size(map, "data") + data_size(map, "binaryData") / 4 * 3 > kMaxData)
    out.push_back({"FieldValueTooLong", "Too long: may not be more than 1048576 bytes", "[]"});
  return out;
}

FieldErrors secret_problems(const Json& secret) {
  FieldErrors out;
  const auto data = strings_at(secret, {"data"});
  if (data_size(secret, "data") / 4 * 3 > kMaxData)
    out.push_back({"FieldValueTooLong", "Too long: may not be more than 1048576 bytes", "data"});
  const auto need = [&](const std::string& key) {
    if (!data.contains(key)) out.push_back(required("data[" + key + "]"));
  };
  const auto need_json = [&](const std::string& key) {
    const auto at = data.find(key);
    if (at == data.end()) return out.push_back(required("data[" + key + "]"));
    const auto text = base64_decode(at->second);
    const auto parsed = text ? parse_json(*text) : Result<Json>(fail(Category::kInvalid, ""));
    if (!parsed || !parsed->is_object())
      out.push_back(bad_value("data[" + key + "]", "<secret contents redacted>", "it is no JSON object"));
  };
  const auto type = str(secret, {"type"});
  if (type == "kubernetes.io/tls") {
    for (const char* key : {"tls.crt", "tls.key"}) need(key);
  } else if (type == "kubernetes.io/dockerconfigjson") {
    need_json(".dockerconfigjson");
  } else if (type == "kubernetes.io/dockercfg") {
    need_json(".dockercfg");
  } else if (type == "kubernetes.io/basic-auth") {
    if (!data.contains("username") && !data.contains("password")) {
      for (const char* key : {"username", "password"}) need(key);
    }
  } else if (type == "kubernetes.io/ssh-auth") {
    const auto key = data.find("ssh-privatekey");
    if (key == data.end() || key->second.empty()) out.push_back(required("data[ssh-privatekey]"));
  }
  return out;
}

// --- budgets and autoscalers ---

/// A number, or a share of at most all.
void check_share(const Json& holder, const std::string& path, const char* member, FieldErrors& out) {
  const Json* value = find(holder, {member});
  const auto at = path + "." + member;
  if (value == nullptr || value->is_null()) return;
  if (value->is_number()) {
    if (num(holder, {member}) < 0) out.push_back(bad_value(at, *value, "must be greater than or equal to 0"));
    return;
  }
  const auto text = str(holder, {member});
  const bool percent = text.size() > 1 && text.size() < 10 && text.back() == '%' &&
                       std::all_of(text.begin(), text.end() - 1, [](char c) { return is_digit(c); });
  if (!percent) {
    out.push_back(bad_value(at, text,
                            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
                            "regex used for validation is '[0-9]+%')"));
  } else if (std::stol(text) > 100 && std::string_view(member) != "maxSurge") {
    out.push_back(bad_value(at, text, "must not be greater than 100%"));
  }
}

/// That there is one is asked elsewhere.
void check_own_selector(const Json& spec, const std::string& of, FieldErrors& out) {
  if (const Json* selector = find(spec, {"selector"}); selector != nullptr && selector->is_object())
    check_label_selector(*selector, "spec.selector", of, out);
}

FieldErrors budget_problems(const Json& budget) {
  FieldErrors out;
  const Json& spec = object_at(budget, {"spec"});
  if (find(spec, {"minAvailable"}) != nullptr && find(spec, {"maxUnavailable"}) != nullptr)
    out.push_back(bad_value("spec", spec, "minAvailable and maxUnavailable cannot be both set"));
  for (const char* member : {"minAvailable", "maxUnavailable"}) check_share(spec, "spec", member, out);
  check_own_selector(spec, {}, out);
  one_of(spec, "spec.", "unhealthyPodEvictionPolicy", {"AlwaysAllow", "IfHealthyBudget"}, out);
  return out;
}

FieldErrors autoscaler_problems(const Json& autoscaler) {
  FieldErrors out;
  const Json& spec = object_at(autoscaler, {"spec"});
  const auto least = num(spec, {"minReplicas"}, 1);
  const auto most = num(spec, {"maxReplicas"});
  if (least < 1) out.push_back(bad_value("spec.minReplicas", least, "must be greater than or equal to 1"));
  if (most < 1) out.push_back(bad_value("spec.maxReplicas", most, "must be greater than 0"));
  if (most < least) out.push_back(bad_value("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"));
  for (const char* member : {"kind", "name"}) {
    const auto value = str(spec, {"scaleTargetRef", member});
    const auto at = std::string("spec.scaleTargetRef.") + member;
    if (value.empty()) {
      out.push_back(required(at));
    } else {
      say(at, value, path_segment_problems(value), out);
    }
  }
  return out;
}

// --- workloads ---

bool is_nothing(const Json& share) { return share == Json(0) || share == Json("0%"); }

FieldErrors deployment_problems(const Json& deployment) {
  FieldErrors out;
  const Json& spec = object_at(deployment, {"spec"});
  check_own_selector(spec, "deployment", out);
  const Json& strategy = object_at(spec, {"strategy"});
  const Json* rolling = find(strategy, {"rollingUpdate"});
  const std::string at = "spec.strategy.rollingUpdate";
  const auto type = str(strategy, {"type"}, "RollingUpdate");
  if (type == "Recreate") {
    if (rolling != nullptr && rolling->is_object())
      out.push_back(forbidden_field(at, "may not be specified when strategy `type` is 'Recreate'"));
  } else if (type != "RollingUpdate") {
    out.push_back(unsupported("spec.strategy", strategy, {"Recreate", "RollingUpdate"}));
  } else if (rolling != nullptr && rolling->is_object()) {
    for (const char* member : {"maxUnavailable", "maxSurge"}) check_share(*rolling, at, member, out);
    const Json* unavailable = find(*rolling, {"maxUnavailable"});
    const Json* surge = find(*rolling, {"maxSurge"});
    if (unavailable != nullptr && surge != nullptr && is_nothing(*unavailable) && is_nothing(*surge))
      out.push_back(bad_value(at + ".maxUnavailable", *unavailable, "may not be 0 when `maxSurge` is 0"));
  }
  const auto deadline = num(spec, {"progressDeadlineSeconds"}, 600);
  if (deadline <= num(spec, {"minReadySeconds"}))
    out.push_back(bad_value("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"));
  return out;
}

FieldErrors replica_set_problems(const Json& set) {
  FieldErrors out;
  check_own_selector(object_at(set, {"spec"}), "deployment", out);  // as Kubernetes says it, too
  return out;
}

FieldErrors daemon_set_problems(const Json& set) {
  FieldErrors out;
  const Json& spec = object_at(set, {"spec"});
  check_own_selector(spec, "daemonset", out);
  if (const auto type = str(spec, {"updateStrategy", "type"}, "RollingUpdate"); type != "RollingUpdate" && type != "OnDelete")
    out.push_back(unsupported("spec.updateStrategy", object_at(spec, {"updateStrategy"}), {"RollingUpdate", "OnDelete"}));
  return out;
}

FieldErrors stateful_set_problems(const Json& set) {
  FieldErrors out;
  const Json& spec = object_at(set, {"spec"});
  if (const auto policy = str(spec, {"podManagementPolicy"}, "OrderedReady"); policy != "OrderedReady" && policy != "Parallel")
    out.push_back(bad_value("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'"));
  if (const auto type = str(spec, {"updateStrategy", "type"}, "RollingUpdate"); type != "RollingUpdate" && type != "OnDelete") {
    out.push_back(bad_value("spec.updateStrategy", object_at(spec, {"updateStrategy"}), "must be 'RollingUpdate' or 'OnDelete'"));
  } else if (const Json* rolling = find(spec, {"updateStrategy", "rollingUpdate"}); type == "OnDelete" && rolling != nullptr) {
    out.push_back(bad_value("spec.updateStrategy.rollingUpdate", *rolling, "only allowed for updateStrategy 'RollingUpdate'"));
  }
  if (const auto service = str(spec, {"serviceName"}); !service.empty())
    say("spec.serviceName", service, dns_label_problems(service), out);
  check_own_selector(spec, "statefulset", out);
  return out;
}

// --- storage ---

FieldErrors claim_problems(const Json& claim) {
  FieldErrors out;
  const Json& spec = object_at(claim, {"spec"});
  static const std::vector<std::string> kModes = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"};
  const auto modes = string_list_at(spec, {"accessModes"});
  if (modes.empty()) out.push_back(required("spec.accessModes", "at least 1 access mode is required"));
  for (const auto& mode : modes) {
    if (std::find(kModes.begin(), kModes.end(), mode) == kModes.end())
      out.push_back(unsupported("spec.accessModes", mode, kModes));
  }
  if (modes.size() > 1 && std::find(modes.begin(), modes.end(), "ReadWriteOncePod") != modes.end())
    out.push_back(forbidden_field("spec.accessModes", "may not use ReadWriteOncePod with other access modes"));
  const auto wanted = str(spec, {"resources", "requests", "storage"});
  if (wanted.empty()) {
    out.push_back(required("spec.resources[storage]"));
  } else if (const auto size = Quantity::parse(wanted); size && size->compare(Quantity()) <= 0) {
    out.push_back(bad_value("spec.resources[storage]", size->to_string(), "must be greater than zero"));
  }
  if (const auto name = str(spec, {"storageClassName"}); !name.empty())
    say("spec.storageClassName", name, dns_subdomain_problems(name), out);
  one_of(spec, "spec.", "volumeMode", {"Block", "Filesystem"}, out);
  return out;
}

FieldErrors storage_class_problems(const Json& one) {
  FieldErrors out;
  if (str(one, {"provisioner"}).empty()) out.push_back(required("provisioner"));
  one_of(one, "", "reclaimPolicy", {"Delete", "Retain"}, out);
  one_of(one, "", "volumeBindingMode", {"Immediate", "WaitForFirstConsumer"}, out);
  return out;
}

}  // namespace

void check_label_selector(const Json& selector, const std::string& path, const std::string& of, FieldErrors& out) {
  const auto labels = strings_at(selector, {"matchLabels"});
  const Json& expressions = list_at(selector, {"matchExpressions"});
  for (const auto& [key, value] : labels) {
    say(path + ".matchLabels", key, label_key_problems(key), out);
    say(path + ".matchLabels", value, label_value_problems(value), out);
  }
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    const auto at = at_index(path + ".matchExpressions", i);
    const auto op = str(expressions[i], {"operator"});
    const auto values = string_list_at(expressions[i], {"values"});
    if (op == "In" || op == "NotIn") {
      if (values.empty()) out.push_back(required(at + ".values", "must be specified when `operator` is 'In' or 'NotIn'"));
    } else if (op == "Exists" || op == "DoesNotExist") {
      if (!values.empty())
        out.push_back(forbidden_field(at + ".values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    } else {
      out.push_back(bad_value(at + ".operator", op, "not a valid selector operator"));
    }
    const auto key = str(expressions[i], {"key"});
    say(at + ".key", key, label_key_problems(key), out);
    for (std::size_t j = 0; j < values.size(); ++j)
      say(at_index(at + ".values", j), values[j], label_value_problems(values[j]), out);
  }
  if (labels.empty() && expressions.empty() && !of.empty())
    out.push_back(bad_value(path, selector, "empty selector is invalid for " + of));
}

std::vector<Cause> object_problems(const Kind& kind, const Json& object) {
  static const std::map<std::string, FieldErrors (*)(const Json&), std::less<>> kAll = {
      {"/configmaps", config_map_problems},
      {"/persistentvolumeclaims", claim_problems},
      {"/secrets", secret_problems},
      {"/services", service_problems},
      {"apps/daemonsets", daemon_set_problems},
      {"apps/deployments", deployment_problems},
      {"apps/replicasets", replica_set_problems},
      {"apps/statefulsets", stateful_set_problems},
      {"autoscaling/horizontalpodautoscalers", autoscaler_problems},
      {"networking.k8s.io/ingresses", ingress_problems},
      {"networking.k8s.io/networkpolicies", network_policy_problems},
      {"policy/poddisruptionbudgets", budget_problems},
      {"storage.k8s.io/storageclasses", storage_class_problems},
  };
  const auto at = kAll.find(kind.storage);
  return at == kAll.end() ? FieldErrors() : at->second(object);
}

}  // namespace fleetadm::sandbox
