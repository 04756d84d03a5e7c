#include "core/sandbox/kinds/pod_checks.h"

#include <algorithm>
#include <set>

#include "kubeclient/base/names.h"
#include "kubeclient/base/quantity.h"

namespace fleetadm::sandbox {
namespace {

using Causes = std::vector<Cause>;
using Names = std::set<std::string>;

constexpr std::int64_t kMaxPort = 65535;
constexpr std::int64_t kTolerated = 300;  // seconds

void check_dns_label(const std::string& name, const std::string& at, Causes& out) {
  if (name.empty()) {
    out.push_back(required(at));
  } else {
    for (const auto& problem : dns_label_problems(name)) out.push_back(bad_value(at, name, problem));
  }
}

void check_choice(const Json& holder, const char* field, const std::string& path, const std::vector<std::string>& allowed,
                  Causes& out) {
  const auto value = str(holder, {field});
  const auto at = path + "." + field;
  if (value.empty()) {
    out.push_back(required(at));
  } else if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    out.push_back(unsupported(at, value, allowed));
  }
}

void check_port_number(const Json& port, const char* field, const std::string& path, Causes& out) {
  const auto number = num(port, {field});
  if (number < 1 || number > kMaxPort)
    out.push_back(bad_value(path + "." + field, number, "must be between 1 and 65535, inclusive"));
}

void check_ports(const Json& container, const std::string& path, Causes& out) {
  int index = 0;
  for (const Json& port : list_at(container, {"ports"})) {
    const auto at = path + ".ports[" + std::to_string(index++) + "]";
    if (num(port, {"containerPort"}) == 0) {
      out.push_back(required(at + ".containerPort"));
    } else {
      check_port_number(port, "containerPort", at, out);
    }
    if (num(port, {"hostPort"}) != 0) check_port_number(port, "hostPort", at, out);
    check_choice(port, "protocol", at, {"SCTP", "TCP", "UDP"}, out);
  }
}

void check_env(const Json& container, const std::string& path, Causes& out) {
  int index = 0;
  for (const Json& variable : list_at(container, {"env"})) {
    const auto at = path + ".env[" + std::to_string(index++) + "]";
    if (str(variable, {"name"}).empty()) out.push_back(required(at + ".name"));
    const Json& source = object_at(variable, {"valueFrom"});
    if (!source.empty() && !str(variable, {"value"}).empty())
      out.push_back(bad_value(at + ".valueFrom", "", "may not be specified when `value` is not empty"));
    if (find(variable, {"valueFrom"}) != nullptr && source.empty()) {
      out.push_back(bad_value(at + ".valueFrom", "",
                              "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
                              "`fileKeyRef`"));
    }
  }
}

void check_mounts(const Json& container, const std::string& path, const Names& volumes, Causes& out) {
  Names places;
  int index = 0;
  for (const Json& mount : list_at(container, {"volumeMounts"})) {
    const auto at = path + ".volumeMounts[" + std::to_string(index++) + "]";
    const auto name = str(mount, {"name"});
    const auto place = str(mount, {"mountPath"});
    if (name.empty()) out.push_back(required(at + ".name"));
    if (!volumes.contains(name)) out.push_back({"FieldValueNotFound", "Not found: " + dump_json(Json(name)), at + ".name"});
    if (place.empty()) out.push_back(required(at + ".mountPath"));
    if (!places.insert(place).second) out.push_back(bad_value(at + ".mountPath", place, "must be unique"));
  }
}

void check_resources(const Json& container, const std::string& path, Causes& out) {
  const auto at = path + ".resources";
  const Json& limits = object_at(container, {"resources", "limits"});
  for (const char* list : {"limits", "requests"}) {
    for (const auto& [name, amount] : object_at(container, {"resources", list}).items()) {
      const auto parsed = Quantity::parse(amount.is_string() ? amount.get<std::string>() : dump_json(amount));
      if (!parsed) continue;
      if (parsed->compare(Quantity()) < 0) {
        out.push_back(bad_value(at + "." + list + "[" + name + "]", parsed->to_string(), "must be greater than or equal to 0"));
      }
      const auto limit = limits.find(name);
      if (std::string_view(list) == "limits" || limit == limits.end() || !limit->is_string()) continue;
      const auto most = Quantity::parse(limit->get<std::string>());
      if (most && parsed->compare(*most) > 0) {
        out.push_back(bad_value(at + ".requests", parsed->to_string(),
                                "must be less than or equal to " + name + " limit of " + most->to_string()));
      }
    }
  }
}

void check_container(const Json& container, const std::string& path, const Names& volumes, Causes& out) {
  check_dns_label(str(container, {"name"}), path + ".name", out);
  if (str(container, {"image"}).empty()) out.push_back(required(path + ".image"));
  check_choice(container, "terminationMessagePolicy", path, {"FallbackToLogsOnError", "File"}, out);
  check_ports(container, path, out);
  check_env(container, path, out);
  check_mounts(container, path, volumes, out);
  check_choice(container, "imagePullPolicy", path, {"Always", "IfNotPresent", "Never"}, out);
  check_resources(container, path, out);
}

void check_containers(const Json& spec, const std::string& path, const Names& volumes, Causes& out) {
  if (list_at(spec, {"containers"}).empty()) out.push_back(required(path + ".containers"));
  Names names;
  for (const char* list : {"containers", "initContainers"}) {
    int index = 0;
    for (const Json& container : list_at(spec, {list})) {
      const auto at = path + "." + list + "[" + std::to_string(index++) + "]";
      check_container(container, at, volumes, out);
      const auto name = str(container, {"name"});
      if (!name.empty() && !names.insert(name).second) out.push_back(duplicate(at + ".name", name));
      if (std::string_view(list) == "containers" || str(container, {"restartPolicy"}) == "Always") continue;
      for (const char* field : {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}) {
        if (find(container, {field}) != nullptr)
          out.push_back(forbidden_field(at + "." + field, "may not be set for init containers without restartPolicy=Always"));
      }
    }
  }
}

/// Not yet there: the volumes that the server will add.
Names check_volumes(const Json& spec, const std::string& path, Causes& out) {
  Names names;
  int index = 0;
  for (const Json& volume : list_at(spec, {"volumes"})) {
    const auto at = path + ".volumes[" + std::to_string(index++) + "].name";
    const auto name = str(volume, {"name"});
    check_dns_label(name, at, out);
    if (!name.empty() && !names.insert(name).second) out.push_back(duplicate(at, name));
  }
  return names;
}

bool tolerates_for_ever(const Json& pod, std::string_view taint) {
  const Json& all = list_at(pod, {"spec", "tolerations"});
  return std::any_of(all.begin(), all.end(), [&](const Json& one) {
    const auto key = str(one, {"key"});
    const auto effect = str(one, {"effect"});
    return (key.empty() || key == taint) && (effect.empty() || effect == "NoExecute");
  });
}

/// The class that pods without one have; null where there is none.
Json default_priority_class(const StrategyContext& context, const Kind& kind) {
  Json best;
  for (Json& one : context.engine.list(kind)) {
    if (flag(one, {"globalDefault"}) && (best.is_null() || num(one, {"value"}) < num(best, {"value"}))) best = std::move(one);
  }
  return best;
}

ApiStatus set_priority(const StrategyContext& context, Json& pod) {
  const auto kind = context.engine.kinds().find_plural("scheduling.k8s.io", "priorityclasses");
  if (!kind) return {};
  auto name = str(pod, {"spec", "priorityClassName"});
  Json chosen;
  if (name.empty()) {
    chosen = default_priority_class(context, *kind);
    name = name_of(chosen);
    if (!name.empty()) at_or_make(pod, {"spec", "priorityClassName"}) = name;
  } else if (auto found = context.engine.get(*kind, "", name)) {
    chosen = std::move(*found);
  } else {
    return forbidden(context.kind, name_of(pod), "no PriorityClass with name " + name + " was found");
  }
  const auto priority = num(chosen, {"value"});
  const auto policy = str(chosen, {"preemptionPolicy"}, "PreemptLowerPriority");
  if (const Json* given = find(pod, {"spec", "priority"}); given != nullptr && *given != priority) {
    return forbidden(context.kind, name_of(pod),
                     "the integer value of priority (" + dump_json(*given) +
                         ") must not be provided in pod spec; priority admission controller computed " +
                         std::to_string(priority) + " from the given PriorityClass name");
  }
  if (const auto given = str(pod, {"spec", "preemptionPolicy"}); !given.empty() && given != policy) {
    return forbidden(context.kind, name_of(pod),
                     "the string value of PreemptionPolicy (" + given +
                         ") must not be provided in pod spec; priority admission controller computed " + policy +
                         " from the given PriorityClass name");
  }
  at_or_make(pod, {"spec", "priority"}) = priority;
  at_or_make(pod, {"spec", "preemptionPolicy"}) = policy;
  return {};
}

}  // namespace

std::vector<Cause> pod_spec_problems(const Json& spec, const std::string& path) {
  Causes out;
  const auto volumes = check_volumes(spec, path, out);
  check_containers(spec, path, volumes, out);
  check_choice(spec, "restartPolicy", path, {"Always", "Never", "OnFailure"}, out);
  check_choice(spec, "dnsPolicy", path, {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"}, out);
  for (const auto& [key, value] : strings_at(spec, {"nodeSelector"})) {
    for (const auto& problem : label_key_problems(key)) out.push_back(bad_value(path + ".nodeSelector", key, problem));
    for (const auto& problem : label_value_problems(value)) out.push_back(bad_value(path + ".nodeSelector", value, problem));
  }
  for (const char* field : {"serviceAccountName", "nodeName"}) {
    if (const auto name = str(spec, {field}); !name.empty()) {
      for (const auto& problem : dns_subdomain_problems(name)) out.push_back(bad_value(path + "." + field, name, problem));
    }
  }
  return out;
}

std::vector<Cause> ephemeral_container_problems(const Json& pod, const Json& old) {
  const std::string path = "spec.ephemeralContainers";
  const Json& spec = object_at(pod, {"spec"});
  const Json& added = list_at(spec, {"ephemeralContainers"});
  Causes out;
  Names volumes;
  for (const Json& volume : list_at(spec, {"volumes"})) volumes.insert(str(volume, {"name"}));
  Names lasting;
  for (const char* list : {"containers", "initContainers"}) {
    for (const Json& container : list_at(spec, {list})) lasting.insert(str(container, {"name"}));
  }
  Names names = lasting;
  int index = 0;
  for (const Json& container : added) {
    const auto at = path + "[" + std::to_string(index++) + "]";
    check_container(container, at, volumes, out);
    const auto name = str(container, {"name"});
    if (!name.empty() && !names.insert(name).second) out.push_back(duplicate(at + ".name", name));
    if (const auto target = str(container, {"targetContainerName"}); !target.empty() && !lasting.contains(target))
      out.push_back({"FieldValueNotFound", "Not found: " + dump_json(Json(target)), at + ".targetContainerName"});
    for (const char* field : {"ports", "resources", "resizePolicy", "restartPolicy", "livenessProbe", "readinessProbe",
                              "startupProbe", "lifecycle"}) {
      if (const Json* given = find(container, {field}); given != nullptr && !given->empty())
        out.push_back(forbidden_field(at + "." + field, "cannot be set for an Ephemeral Container"));
    }
  }
  for (const Json& before : list_at(old, {"spec", "ephemeralContainers"})) {
    const auto name = str(before, {"name"});
    const auto now = std::find_if(added.begin(), added.end(), [&](const Json& one) { return str(one, {"name"}) == name; });
    const auto which = "existing ephemeral containers " + dump_json(Json(name)) + " may not be ";
    if (now == added.end()) {
      out.push_back(forbidden_field(path, which + "removed\n"));
    } else if (*now != before) {
      out.push_back(forbidden_field(path, which + "changed\n"));
    }
  }
  return out;
}

ApiStatus complete_pod(const StrategyContext& context, Json& pod) {
  FLEETADM_CHECK(set_priority(context, pod));
  for (const char* taint : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    if (tolerates_for_ever(pod, taint)) continue;
    Json& tolerations = at_or_make(pod, {"spec", "tolerations"});
    if (!tolerations.is_array()) tolerations = Json::array();
    tolerations.push_back({{"key", taint}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", kTolerated}});
  }
  return {};
}

}  // namespace fleetadm::sandbox
