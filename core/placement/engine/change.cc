#include "core/placement/engine/change.h"

#include "core/api/kinds.h"

namespace fleetadm::placement {
namespace {

using Kind = Change::Kind;

constexpr std::string_view kPointsResource = "fleetadm-explain";
constexpr std::string_view kPointsScore = "points";

Json& list_in(Json& object, Path path) {
  Json& list = at_or_make(object, path);
  if (!list.is_array()) list = Json::array();
  return list;
}

void set_claim(Json& cluster, const Change& change) {
  Json kept = Json::array();
  for (const Json& claim : list_in(cluster, {"status", "clusterClaims"})) {
    if (str(claim, {"name"}) != change.key) kept.push_back(claim);
  }
  if (change.kind == Kind::kClaim) kept.push_back({{"name", change.key}, {"value", change.value}});
  list_in(cluster, {"status", "clusterClaims"}) = std::move(kept);
}

}  // namespace

void change_cluster(Json& cluster, const Change& change) {
  Json& labels = at_or_make(cluster, {"metadata", "labels"});
  if (!labels.is_object()) labels = Json::object();
  switch (change.kind) {
    case Kind::kLabel: labels[change.key] = change.value; break;
    case Kind::kUnlabel: labels.erase(change.key); break;
    case Kind::kClaim:
    case Kind::kUnclaim: set_claim(cluster, change); break;
    default: break;
  }
}

void change_placement(Json& placement, const Change& change) {
  switch (change.kind) {
    case Kind::kNameSet: list_in(placement, {"spec", "clusterSets"}).push_back(change.key); break;
    case Kind::kLimit: at_or_make(placement, {"spec", "numberOfClusters"}) = change.number; break;
    case Kind::kTolerate: {
      Json toleration{{"operator", "Exists"}};
      if (!change.key.empty()) toleration = {{"key", change.key}, {"operator", "Equal"}, {"value", change.value}};
      if (!change.effect.empty()) toleration["effect"] = change.effect;
      list_in(placement, {"spec", "tolerations"}).push_back(std::move(toleration));
      break;
    }
    case Kind::kPoints:
      list_in(placement, {"spec", "prioritizerPolicy", "configurations"})
          .push_back({{"scoreCoordinate",
                       {{"type", "AddOn"}, {"addOn", {{"resourceName", kPointsResource}, {"scoreName", kPointsScore}}}}},
                      {"weight", 1}});
      break;
    default: break;
  }
}

std::string_view change_word(Kind kind) {
  switch (kind) {
    case Kind::kBindSet: return "bind-set";
    case Kind::kNameSet: return "name-set";
    case Kind::kLabel: return "label";
    case Kind::kUnlabel: return "unlabel";
    case Kind::kClaim: return "claim";
    case Kind::kUnclaim: return "unclaim";
    case Kind::kTolerate: return "tolerate";
    case Kind::kLimit: return "limit";
    case Kind::kPoints: return "points";
  }
  return "";
}

std::string change_text(const Change& change, std::string_view placement_ns) {
  switch (change.kind) {
    case Kind::kBindSet: return "bind set " + change.key + " in namespace " + std::string(placement_ns);
    case Kind::kNameSet: return "add set " + change.key + " to spec.clusterSets";
    case Kind::kLabel: return (change.replaces ? "change label to " : "add label ") + change.key + "=" + change.value;
    case Kind::kUnlabel: return "remove label " + change.key;
    case Kind::kClaim: return std::string("let it report claim ") + change.key + "=" + change.value;
    case Kind::kUnclaim: return "let it no longer report claim " + change.key;
    case Kind::kTolerate:
      return "tolerate taint " + change.key + (change.value.empty() ? "" : "=" + change.value) +
             (change.effect.empty() ? "" : ":" + change.effect);
    case Kind::kLimit: return "raise numberOfClusters to " + std::to_string(change.number);
    case Kind::kPoints: return "needs +" + std::to_string(change.number) + (change.number == 1 ? " point" : " points");
  }
  return {};
}

void apply_change(Objects& objects, const Objects::Key& placement, const std::string& cluster, const Change& change) {
  if (change.kind == Kind::kBindSet) {
    objects.put({{"apiVersion", api::managed_cluster_set_bindings().api_version()},
                 {"kind", api::managed_cluster_set_bindings().kind},
                 {"metadata", {{"name", change.key}, {"namespace", placement.first}}},
                 {"spec", {{"clusterSet", change.key}}}});
    return;
  }
  if (change.kind == Kind::kPoints) {
    objects.put({{"apiVersion", api::addon_placement_scores().api_version()},
                 {"kind", api::addon_placement_scores().kind},
                 {"metadata", {{"name", kPointsResource}, {"namespace", cluster}}},
                 {"status", {{"scores", {{{"name", kPointsScore}, {"value", change.number}}}}}}});
  }
  if (Json* object = objects.find(ObjectKind::kCluster, "", cluster); object != nullptr) change_cluster(*object, change);
  if (Json* object = objects.find(ObjectKind::kPlacement, placement.first, placement.second); object != nullptr) {
    change_placement(*object, change);
  }
}

}  // namespace fleetadm::placement
