#include "core/work/rules/merge.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/quantity.h"

namespace fleetadm::work {
namespace {

constexpr auto kMetadataKinds = std::to_array<std::string_view>({"Namespace", "Pod", "ServiceAccount"});
constexpr auto kOverlayKinds = std::to_array<std::string_view>({"PersistentVolumeClaim", "PersistentVolume"});

bool is_empty(const Json& value) { return value.is_null() || ((value.is_object() || value.is_array()) && value.empty()); }

/// Members whose strings are quantities in the built-in types: "1000m" and "1" are the same there.
bool holds_quantities(std::string_view key) {
  constexpr auto keys =
      std::to_array<std::string_view>({"cpu", "memory", "storage", "ephemeral-storage", "pods", "sizeLimit", "averageValue",
                                       "divisor", "limits", "requests", "capacity", "hard", "overhead"});
  return std::find(keys.begin(), keys.end(), key) != keys.end() || key.starts_with("hugepages-") ||
         key.starts_with("requests.") || key.starts_with("limits.");
}

std::string scalar_text(const Json& value) { return value.is_string() ? value.get<std::string>() : dump_json(value); }

bool same_scalar(const Json& live, const Json& desired, std::string_view key, bool in_quantities) {
  if (live == desired) return true;
  if (!in_quantities && !holds_quantities(key)) return false;
  const Result<Quantity> a = Quantity::parse(scalar_text(live));
  const Result<Quantity> b = Quantity::parse(scalar_text(desired));
  return a && b && a->compare(*b) == 0;
}

bool covers_value(const Json& live, const Json& desired, std::string_view key, bool in_quantities) {
  if (is_empty(desired)) return live.is_null() || live.type() == desired.type() || desired.is_null() || is_empty(live);
  if (desired.is_object()) {
    if (!live.is_object()) return false;
    const bool quantities = holds_quantities(key);
    for (const auto& [name, value] : desired.items()) {
      const auto found = live.find(name);
      static const Json kNull;
      if (!covers_value(found == live.end() ? kNull : *found, value, name, quantities)) return false;
    }
    return true;
  }
  if (desired.is_array()) {
    if (!live.is_array() || live.size() != desired.size()) return false;
    for (std::size_t i = 0; i < desired.size(); ++i) {
      if (!covers_value(live[i], desired[i], key, in_quantities)) return false;
    }
    return true;
  }
  return same_scalar(live, desired, key, in_quantities);
}

void overlay(Json& into, const Json& desired, std::string_view key, bool in_quantities);

/// The live element that a list element of the manifest speaks about: by name where elements have one, else by position.
const Json* counterpart(const Json& live, const Json& desired, std::size_t index) {
  if (!live.is_array()) return nullptr;
  const std::string name = str(desired[index], {"name"});
  if (!name.empty()) {
    const auto found =
        std::find_if(live.begin(), live.end(), [&](const Json& element) { return str(element, {"name"}) == name; });
    return found == live.end() ? nullptr : &*found;
  }
  return live.size() == desired.size() ? &live[index] : nullptr;
}

/// A Service's port of another number is another port: what the server had filled in for the old one (targetPort) is not its own.
bool other_port(const Json& live, const Json& desired) {
  const Json* before = find(live, {"port"});
  const Json* wanted = find(desired, {"port"});
  return before != nullptr && wanted != nullptr && *before != *wanted;
}

void overlay_list(Json& into, const Json& desired, std::string_view key, bool in_quantities) {
  Json result = Json::array();
  for (std::size_t i = 0; i < desired.size(); ++i) {
    const Json* base = counterpart(into, desired, i);
    if (base == nullptr || other_port(*base, desired[i])) {
      result.push_back(desired[i]);
      continue;
    }
    Json element = *base;
    overlay(element, desired[i], key, in_quantities);
    result.push_back(std::move(element));
  }
  into = std::move(result);
}

void overlay(Json& into, const Json& desired, std::string_view key, bool in_quantities) {
  if (covers_value(into, desired, key, in_quantities)) return;
  if (desired.is_array()) return overlay_list(into, desired, key, in_quantities);
  if (!desired.is_object()) {
    into = desired;
    return;
  }
  if (!into.is_object()) into = Json::object();
  const bool quantities = holds_quantities(key);
  for (const auto& [name, value] : desired.items()) {
    if (value.is_null()) {
      into.erase(name);
      continue;
    }
    auto found = into.find(name);
    if (found == into.end()) {
      if (!is_empty(value)) into[name] = value;
    } else {
      overlay(*found, value, name, quantities);
    }
  }
}

bool is_content(std::string_view key) { return key != "metadata" && key != "status" && key != "apiVersion" && key != "kind"; }

void merge_strings(Json& live_metadata, const Json& desired_metadata, std::string_view member) {
  const Json& wanted = object_at(desired_metadata, {member});
  if (wanted.empty()) return;
  Json merged = object_at(live_metadata, {member});
  for (const auto& [key, value] : wanted.items()) {
    if (key.ends_with('-')) {
      merged.erase(key.substr(0, key.size() - 1));
    } else {
      merged[key] = value;
    }
  }
  at_or_make(live_metadata, {member}) = std::move(merged);
}

Json merged_metadata(const Json& desired, const Json& live, const Owner& owner, bool owned) {
  Json metadata = object_at(live, {"metadata"});
  const Json& wanted = object_at(desired, {"metadata"});
  merge_strings(metadata, wanted, "labels");
  merge_strings(metadata, wanted, "annotations");
  Json references = list_at(live, {"metadata", "ownerReferences"});
  for (const Json& reference : list_at(wanted, {"ownerReferences"})) {
    std::string uid = str(reference, {"uid"});
    const bool removes = uid.ends_with('-');
    if (removes) uid.pop_back();
    const Owner other{str(reference, {"name"}), uid};
    references = without_owner(references, other);
    if (!removes) references.push_back(reference);
  }
  references = owned ? with_owner(references, owner) : without_owner(references, owner);
  if (references.empty()) {
    metadata.erase("ownerReferences");
  } else {
    metadata["ownerReferences"] = std::move(references);
  }
  metadata.erase("managedFields");
  return metadata;
}

std::string base64(std::string_view text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((text.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < text.size(); i += 3) {
    unsigned value = 0;
    const std::size_t n = std::min<std::size_t>(3, text.size() - i);
    for (std::size_t k = 0; k < 3; ++k) value = value << 8U | (k < n ? static_cast<unsigned char>(text[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += k <= n ? digits[value >> (18U - 6U * k) & 63U] : '=';
  }
  return out;
}

/// Secrets are written with stringData and read with data only: compare and send what the server stores.
Json fold_string_data(Json object) {
  if (str(object, {"kind"}) != "Secret" || str(object, {"apiVersion"}) != "v1") return object;
  const std::map<std::string, std::string> plain = strings_at(object, {"stringData"});
  object.erase("stringData");
  for (const auto& [key, value] : plain) at_or_make(object, {"data", key}) = base64(value);
  return object;
}

/// The server gives a Job's pods a label and selects them by it; neither can be changed.
void keep_pods_of_job(Json& job, const Json& live) {
  if (const Json* selector = find(live, {"spec", "selector"}); selector != nullptr && find(job, {"spec", "selector"}) == nullptr)
    at_or_make(job, {"spec", "selector"}) = *selector;
  Json pods = object_at(live, {"spec", "template"});
  overlay(pods, object_at(job, {"spec", "template"}), {}, false);
  at_or_make(job, {"spec", "template"}) = std::move(pods);
}

/// What the server or a controller fills into kinds whose content is otherwise replaced.
void keep_filled_in(Json& result, const Json& live) {
  const std::string kind = str(result, {"kind"});
  if (kind == "Secret" && str(result, {"type"}).empty() && str(live, {"type"}) == "Opaque") result["type"] = "Opaque";
  if (kind == "Secret" && str(result, {"type"}) == "kubernetes.io/service-account-token") {
    Json data = object_at(live, {"data"});
    for (const auto& [key, value] : object_at(result, {"data"}).items()) data[key] = value;
    if (!data.empty()) result["data"] = std::move(data);
  }
  if (kind == "ClusterRole" && find(result, {"aggregationRule"}) != nullptr && list_at(result, {"rules"}).empty()) {
    if (const Json* rules = find(live, {"rules"})) result["rules"] = *rules;
  }
  if (kind == "APIService" && !flag(result, {"spec", "insecureSkipTLSVerify"}) && find(result, {"spec", "caBundle"}) == nullptr) {
    if (const Json* bundle = find(live, {"spec", "caBundle"})) at_or_make(result, {"spec", "caBundle"}) = *bundle;
  }
  if (kind == "Job" && str(result, {"apiVersion"}).starts_with("batch/")) keep_pods_of_job(result, live);
  if (kind == "MutatingWebhookConfiguration" || kind == "ValidatingWebhookConfiguration") {
    const auto webhooks = result.find("webhooks");
    if (webhooks == result.end() || !webhooks->is_array()) return;
    for (Json& webhook : *webhooks) {
      if (!str(webhook, {"clientConfig", "caBundle"}).empty()) continue;
      for (const Json& other : list_at(live, {"webhooks"})) {
        const std::string bundle = str(other, {"clientConfig", "caBundle"});
        if (str(other, {"name"}) == str(webhook, {"name"}) && !bundle.empty()) {
          at_or_make(webhook, {"clientConfig", "caBundle"}) = bundle;
        }
      }
    }
  }
}

Json replaced(const Json& desired, const Json& live) {
  Json result = Json::object();
  for (const auto& [key, value] : desired.items()) {
    if (is_content(key) && !value.is_null()) result[key] = value;
  }
  result["apiVersion"] = str(desired, {"apiVersion"});
  result["kind"] = str(desired, {"kind"});
  if (const Json* status = find(live, {"status"})) result["status"] = *status;
  keep_filled_in(result, live);
  return result;
}

Json overlaid(const Json& desired, const Json& live) {
  Json result = live;
  for (const auto& [key, value] : desired.items()) {
    if (!is_content(key)) continue;
    Json member = Json();
    if (const auto found = live.find(key); found != live.end()) member = *found;
    overlay(member, value, key, false);
    if (member.is_null()) {
      result.erase(key);
    } else {
      result[key] = std::move(member);
    }
  }
  result["apiVersion"] = str(desired, {"apiVersion"});
  result["kind"] = str(desired, {"kind"});
  return result;
}

/// The object without nulls and without empty members, and without the metadata that only the server writes.
Json essence(const Json& value, bool top) {
  if (value.is_object()) {
    Json result = Json::object();
    for (const auto& [key, member] : value.items()) {
      if (top && key == "status") continue;
      Json kept = essence(member, false);
      if (!is_empty(kept)) result[key] = std::move(kept);
    }
    if (top) {
      for (const char* key : {"managedFields", "resourceVersion", "generation", "creationTimestamp", "selfLink", "uid"}) {
        erase_at(result, {"metadata", key});
      }
    }
    return result;
  }
  if (value.is_array()) {
    Json result = Json::array();
    for (const Json& element : value) result.push_back(essence(element, false));
    return result;
  }
  return value;
}

std::uint64_t hash_of(const Json& value) {
  const std::string hex = sha256_hex(dump_json(value)).substr(0, 16);
  std::uint64_t hash = 0;
  std::from_chars(hex.data(), hex.data() + hex.size(), hash, 16);
  return hash;
}

}  // namespace

MergeMode merge_mode_of(std::string_view group, std::string_view kind) {
  const auto has = [&](const auto& kinds) { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); };
  if (group.empty() && has(kMetadataKinds)) return MergeMode::kMetadata;
  if (group.empty() && has(kOverlayKinds)) return MergeMode::kOverlay;
  return MergeMode::kReplace;
}

Json object_to_create(const Json& desired, const Owner& owner, bool owned) {
  Json object = fold_string_data(desired);
  object.erase("status");
  const Json bare = Json::object();
  Json metadata = merged_metadata(desired, bare, owner, owned);
  for (const auto& [key, value] : object_at(desired, {"metadata"}).items()) {
    if (key != "labels" && key != "annotations" && key != "ownerReferences") metadata[key] = value;
  }
  for (const char* key : {"resourceVersion", "creationTimestamp", "generation", "managedFields", "uid", "selfLink"})
    metadata.erase(key);
  object["metadata"] = std::move(metadata);
  return object;
}

Json object_to_update(const Json& desired, const Json& live, MergeMode mode, const Owner& owner, bool owned) {
  const Json wanted = fold_string_data(desired);
  Json result;
  switch (mode) {
    case MergeMode::kMetadata: result = live; break;
    case MergeMode::kOverlay: result = overlaid(wanted, live); break;
    case MergeMode::kReplace: result = replaced(wanted, live); break;
  }
  result["metadata"] = merged_metadata(desired, live, owner, owned);
  return result;
}

Json object_to_repair(const Json& desired, const Json& live, const Owner& owner, bool owned) {
  const std::string kind = str(desired, {"kind"});
  const kube::GroupVersion gv = kube::parse_api_version(str(desired, {"apiVersion"}));
  MergeMode mode = merge_mode_of(gv.group, kind);
  const bool whole = gv.group.empty() && (kind == "ConfigMap" || kind == "Secret");
  if (mode == MergeMode::kReplace && !whole) mode = MergeMode::kOverlay;
  return object_to_update(desired, live, mode, owner, owned);
}

Json owner_patch(const Json& live, const Owner& owner, bool owned) {
  if (has_owner(live, owner) == owned) return Json::object();
  const Json& references = list_at(live, {"metadata", "ownerReferences"});
  Json wanted = owned ? with_owner(references, owner) : without_owner(references, owner);
  Json patch = Json::object();
  at_or_make(patch, {"metadata", "uid"}) = uid_of(live);
  at_or_make(patch, {"metadata", "resourceVersion"}) = resource_version_of(live);
  at_or_make(patch, {"metadata", "ownerReferences"}) = wanted.empty() ? Json() : std::move(wanted);
  return patch;
}

bool same_object(const Json& a, const Json& b) { return essence(a, true) == essence(b, true); }

bool covers(const Json& live, const Json& desired) { return covers_value(live, desired, {}, false); }

std::uint64_t fingerprint(const Json& live) {
  Json subject = Json::object();
  for (const auto& [key, value] : live.items()) {
    if (is_content(key)) subject[key] = value;
  }
  subject["labels"] = object_at(live, {"metadata", "labels"});
  subject["annotations"] = object_at(live, {"metadata", "annotations"});
  subject["owners"] = list_at(live, {"metadata", "ownerReferences"});
  return hash_of(subject);
}

std::uint64_t manifest_hash(const Json& desired) { return hash_of(desired); }

}  // namespace fleetadm::work
