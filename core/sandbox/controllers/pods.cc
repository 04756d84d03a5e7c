#include "core/sandbox/controllers/pods.h"

#include <algorithm>
#include <cstdlib>

#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox {
namespace {

void adopt(const ControllerContext& context, const Kind& kind, const Json& object, const Json& owner) {
  change(context, kind, object, as_controller("workload-controller"), [&](Json& next) {
    if (!controller_uid(next).empty() || is_deleting(next)) return;
    Json& owners = at_or_make(next, {"metadata", "ownerReferences"});
    if (!owners.is_array()) owners = Json::array();
    owners.push_back(owner_reference(owner));
  });
}

void release(const ControllerContext& context, const Kind& kind, const Json& object, const Json& owner) {
  change(context, kind, object, as_controller("workload-controller"), [&](Json& next) {
    Json kept = Json::array();
    for (const Json& one : list_at(next, {"metadata", "ownerReferences"})) {
      if (str(one, {"uid"}) != uid_of(owner)) kept.push_back(one);
    }
    if (kept.empty()) {
      erase_at(next, {"metadata", "ownerReferences"});
    } else {
      at_or_make(next, {"metadata", "ownerReferences"}) = std::move(kept);
    }
  });
}

}  // namespace

bool pod_finished(const Json& pod) {
  const auto phase = str(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

bool pod_ready(const Json& pod) {
  for (const Json& one : list_at(pod, {"status", "conditions"})) {
    if (str(one, {"type"}) == "Ready") return str(one, {"status"}) == "True";
  }
  return false;
}

bool pod_available(const Json& pod, std::int64_t min_ready_seconds, Instant now, std::optional<Instant>& next) {
  for (const Json& one : list_at(pod, {"status", "conditions"})) {
    if (str(one, {"type"}) != "Ready") continue;
    if (str(one, {"status"}) != "True") return false;
    if (min_ready_seconds <= 0) return true;
    const auto since = parse_time(str(one, {"lastTransitionTime"}));
    if (!since) return false;
    const auto at = *since + std::chrono::seconds(min_ready_seconds);
    if (at <= now) return true;
    if (!next || at < *next) next = at;
    return false;
  }
  return false;
}

Json pod_from_template(const Json& owner) {
  const Json& from = object_at(owner, {"spec", "template"});
  Json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"spec", object_at(from, {"spec"})}};
  Json& metadata = pod["metadata"];
  metadata = Json::object();
  for (const char* field : {"labels", "annotations", "finalizers"}) {
    if (const Json* value = find(from, {"metadata", field})) metadata[field] = *value;
  }
  metadata["generateName"] = name_of(owner) + "-";
  metadata["ownerReferences"] = Json::array({owner_reference(owner)});
  return pod;
}

std::int64_t share_of(const Json* value, std::int64_t of, bool round_up) {
  if (value == nullptr) return 0;
  if (value->is_number_integer()) return value->get<std::int64_t>();
  if (!value->is_string()) return 0;
  const auto percent = std::strtoll(value->get<std::string>().c_str(), nullptr, 10);
  return round_up ? (of * percent + 99) / 100 : of * percent / 100;
}

std::string hash_of_template(Json pod_template) {
  erase_at(pod_template, {"metadata", "labels", "pod-template-hash"});
  // The letters that Kubernetes makes names of.
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  constexpr std::size_t kLength = 10;
  const auto digest = sha256_hex(dump_json(pod_template));
  std::string out;
  for (std::size_t i = 0; i < kLength; ++i) out += kLetters[std::stoul(digest.substr(2 * i, 2), nullptr, 16) % kLetters.size()];
  return out;
}

Labels labels_of(const Json& object) {
  Labels out;
  for (const auto& [key, value] : strings_at(object, {"metadata", "labels"})) out.emplace_back(key, value);
  return out;
}

std::vector<Json> owned_by(const ControllerContext& context, const Kind& kind, const Json& owner) {
  auto all = context.engine.list(kind, namespace_of(owner));
  const auto uid = uid_of(owner);
  all.erase(std::remove_if(all.begin(), all.end(), [&](const Json& one) { return controller_uid(one) != uid; }), all.end());
  return all;
}

std::vector<Json> claim(const ControllerContext& context, const Kind& kind, const Json& owner, const LabelSelector& selector) {
  if (is_deleting(owner)) return owned_by(context, kind, owner);
  std::vector<Json> out;
  const auto uid = uid_of(owner);
  const bool keeps_finished = str(owner, {"kind"}) == "Job";  // it counts them
  for (Json& one : context.engine.list(kind, namespace_of(owner))) {
    const auto controller = controller_uid(one);
    const bool fits = !selector.empty() && selector.matches(labels_of(one));
    if (controller == uid) {
      if (fits) {
        out.push_back(std::move(one));
      } else {
        release(context, kind, one, owner);
      }
    } else if (controller.empty() && fits && !is_deleting(one) && (keeps_finished || !pod_finished(one))) {
      adopt(context, kind, one, owner);
      if (auto now = context.engine.get(kind, namespace_of(one), name_of(one)); now && controller_uid(*now) == uid)
        out.push_back(std::move(*now));
    }
  }
  return out;
}

void set_count(Json& status, const char* field, std::int64_t value) {
  if (!status.is_object()) status = Json::object();
  if (value > 0) {
    status[field] = value;
  } else {
    status.erase(field);
  }
}

}  // namespace fleetadm::sandbox
