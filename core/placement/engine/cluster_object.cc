#include "core/placement/engine/cluster_object.h"

#include "core/cel/library/exact_quantity.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::placement {
namespace {

enum class As { kText, kTextAlways, kNumber, kFlag, kFlagAlways, kTime, kTimeAlways, kTexts, kTextMap, kQuantities };

struct Field {
  std::string_view name;
  As as;
};

// RFC 3339 in whole seconds, UTC; null for what is no time or the zero time.
Json time_of(const Json& object, std::string_view name) {
  const std::string text = str(object, {name});
  const auto at = parse_time(text);
  if (!at || text.starts_with("0001-01-01T00:00:00Z")) return nullptr;
  return format_time(*at);
}

Json quantities(const Json& object) {
  Json out = Json::object();
  for (const auto& [name, value] : object.items()) {
    const std::string text = value.is_number() ? dump_json(value) : str(object, {name});
    if (const auto quantity = cel::ExactQuantity::parse(text)) out[name] = quantity->text();
  }
  return out;
}

void take(const Json& from, const Field& field, Json& to) {
  const auto put = [&](Json value, bool keep) {
    if (keep) to[std::string(field.name)] = std::move(value);
  };
  const Json& list = list_at(from, {field.name});
  switch (field.as) {
    case As::kText: return put(str(from, {field.name}), !str(from, {field.name}).empty());
    case As::kTextAlways: return put(str(from, {field.name}), true);
    case As::kNumber: return put(num(from, {field.name}), num(from, {field.name}) != 0);
    case As::kFlag: return put(flag(from, {field.name}), find(from, {field.name}) != nullptr);
    case As::kFlagAlways: return put(flag(from, {field.name}), true);
    case As::kTime: return put(time_of(from, field.name), !time_of(from, field.name).is_null());
    case As::kTimeAlways: return put(time_of(from, field.name), true);
    case As::kTexts: return put(string_list_at(from, {field.name}), !list.empty());
    case As::kTextMap: return put(strings_at(from, {field.name}), !strings_at(from, {field.name}).empty());
    case As::kQuantities: {
      Json shaped = quantities(object_at(from, {field.name}));
      const bool keep = !shaped.empty();
      return put(std::move(shaped), keep);
    }
  }
}

template <std::size_t n>
Json shape(const Json& from, const Field (&fields)[n]) {
  Json out = Json::object();
  for (const Field& field : fields) take(from, field, out);
  return out;
}

template <std::size_t n>
Json shapes(const Json& list, const Field (&fields)[n]) {
  Json out = Json::array();
  for (const Json& one : list) out.push_back(shape(one, fields));
  return out;
}

constexpr Field kObject[] = {{"kind", As::kText}, {"apiVersion", As::kText}};
constexpr Field kMetadata[] = {{"name", As::kText},
                               {"generateName", As::kText},
                               {"namespace", As::kText},
                               {"selfLink", As::kText},
                               {"uid", As::kText},
                               {"resourceVersion", As::kText},
                               {"generation", As::kNumber},
                               {"creationTimestamp", As::kTime},
                               {"deletionTimestamp", As::kTime},
                               {"labels", As::kTextMap},
                               {"annotations", As::kTextMap},
                               {"finalizers", As::kTexts}};
constexpr Field kOwner[] = {{"apiVersion", As::kTextAlways}, {"kind", As::kTextAlways}, {"name", As::kTextAlways},
                            {"uid", As::kTextAlways},        {"controller", As::kFlag}, {"blockOwnerDeletion", As::kFlag}};
constexpr Field kSpec[] = {{"hubAcceptsClient", As::kFlagAlways}, {"leaseDurationSeconds", As::kNumber}};
constexpr Field kClientConfig[] = {{"url", As::kTextAlways}, {"caBundle", As::kText}};
constexpr Field kTaint[] = {
    {"key", As::kTextAlways}, {"value", As::kText}, {"effect", As::kTextAlways}, {"timeAdded", As::kTimeAlways}};
constexpr Field kStatus[] = {{"capacity", As::kQuantities}, {"allocatable", As::kQuantities}};
constexpr Field kCondition[] = {{"type", As::kTextAlways},           {"status", As::kTextAlways},
                                {"observedGeneration", As::kNumber}, {"lastTransitionTime", As::kTimeAlways},
                                {"reason", As::kTextAlways},         {"message", As::kTextAlways}};
constexpr Field kVersion[] = {{"kubernetes", As::kText}};
constexpr Field kClaim[] = {{"name", As::kText}, {"value", As::kText}};
constexpr Field kNamespace[] = {{"name", As::kTextAlways}, {"clusterSet", As::kTextAlways}};

Json metadata_of(const Json& from) {
  Json out = shape(from, kMetadata);
  if (const Json* grace = find(from, {"deletionGracePeriodSeconds"}); grace != nullptr && grace->is_number_integer()) {
    out["deletionGracePeriodSeconds"] = *grace;
  }
  if (Json owners = shapes(list_at(from, {"ownerReferences"}), kOwner); !owners.empty()) {
    out["ownerReferences"] = std::move(owners);
  }
  return out;
}

Json spec_of(const Json& from) {
  Json out = shape(from, kSpec);
  if (Json configs = shapes(list_at(from, {"managedClusterClientConfigs"}), kClientConfig); !configs.empty()) {
    out["managedClusterClientConfigs"] = std::move(configs);
  }
  if (Json taints = shapes(list_at(from, {"taints"}), kTaint); !taints.empty()) out["taints"] = std::move(taints);
  return out;
}

Json status_of(const Json& from) {
  Json out = shape(from, kStatus);
  const Json* conditions = find(from, {"conditions"});
  const bool known = conditions != nullptr && conditions->is_array();
  out["conditions"] = known ? shapes(*conditions, kCondition) : Json(nullptr);
  out["version"] = shape(object_at(from, {"version"}), kVersion);
  if (Json claims = shapes(list_at(from, {"clusterClaims"}), kClaim); !claims.empty()) out["clusterClaims"] = std::move(claims);
  Json namespaces = Json::array();
  for (const Json& one : list_at(from, {"managedNamespaces"})) {
    Json shaped = shape(one, kNamespace);
    if (Json inner = shapes(list_at(one, {"conditions"}), kCondition); !inner.empty()) shaped["conditions"] = std::move(inner);
    namespaces.push_back(std::move(shaped));
  }
  if (!namespaces.empty()) out["managedNamespaces"] = std::move(namespaces);
  return out;
}

}  // namespace

Json cluster_for_cel(const Json& object) {
  Json out = shape(object, kObject);
  out["metadata"] = metadata_of(object_at(object, {"metadata"}));
  out["spec"] = spec_of(object_at(object, {"spec"}));
  out["status"] = status_of(object_at(object, {"status"}));
  return out;
}

}  // namespace fleetadm::placement
