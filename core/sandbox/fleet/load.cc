#include "core/sandbox/fleet/load.h"

#include <algorithm>
#include <map>
#include <set>

namespace fleetadm::sandbox {
namespace {

struct Dumped {
  Json object;
  std::string group;
  std::string kind;
  int rank = 0;   // what has to be there before the rest
  int depth = 0;  // owners above it
};

std::string words_of(const Json& object) {
  const auto ns = namespace_of(object);
  return str(object, {"kind"}) + " " + (ns.empty() ? "" : ns + "/") + name_of(object);
}

Status flatten(const Json& value, std::vector<Json>& into) {
  if (!value.is_object() || str(value, {"kind"}).empty() || str(value, {"apiVersion"}).empty())
    return fail(Category::kInvalid, "something in the dump has no apiVersion or kind", "make it with: kubectl get ... -o yaml");
  if (const Json* items = find(value, {"items"}); items != nullptr && str(value, {"kind"}).ends_with("List")) {
    if (!items->is_array()) return {};
    for (const Json& item : *items) FLEETADM_CHECK(flatten(item, into));
    return {};
  }
  if (name_of(value).empty()) return fail(Category::kInvalid, "a " + str(value, {"kind"}) + " in the dump has no name");
  into.push_back(value);
  return {};
}

std::string group_of(const Json& object) {
  const auto version = str(object, {"apiVersion"});
  const auto slash = version.find('/');
  return slash == std::string::npos ? std::string() : version.substr(0, slash);
}

int rank_of(const std::string& group, const std::string& kind) {
  if (group == "apiextensions.k8s.io") return 0;
  return group.empty() && kind == "Namespace" ? 1 : 2;
}

/// How many owners stand above an object in the dump; a circle ends the count.
int depth_of(const std::string& uid, const std::map<std::string, const Json*>& by_uid, std::set<std::string>& above) {
  const auto at = by_uid.find(uid);
  if (at == by_uid.end() || !above.insert(uid).second) return 0;
  int depth = 0;
  for (const Json& owner : list_at(*at->second, {"metadata", "ownerReferences"}))
    depth = std::max(depth, 1 + depth_of(str(owner, {"uid"}), by_uid, above));
  above.erase(uid);
  return depth;
}

std::vector<Dumped> in_order(std::vector<Json> objects) {
  std::map<std::string, const Json*> by_uid;
  for (const Json& object : objects) by_uid[uid_of(object)] = &object;
  std::vector<int> depths;
  for (const Json& object : objects) {
    std::set<std::string> above;
    depths.push_back(uid_of(object).empty() ? 0 : depth_of(uid_of(object), by_uid, above));
  }
  std::vector<Dumped> out;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    Dumped one{std::move(objects[i]), {}, {}, 0, depths[i]};
    one.group = group_of(one.object);
    one.kind = str(one.object, {"kind"});
    one.rank = rank_of(one.group, one.kind);
    out.push_back(std::move(one));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Dumped& a, const Dumped& b) { return std::pair(a.rank, a.depth) < std::pair(b.rank, b.depth); });
  return out;
}

/// What every cluster makes for itself, and no other's can stand in for.
bool cluster_makes_its_own(const Dumped& one) {
  const auto name = name_of(one.object);
  if (one.kind == "ConfigMap" && one.group.empty())
    return name == "kube-root-ca.crt" || name == "extension-apiserver-authentication";
  const bool network = one.kind == "Service" || one.kind == "Endpoints" || one.kind == "EndpointSlice";
  return network && namespace_of(one.object) == "default" && name == "kubernetes";
}

class Loader {
 public:
  explicit Loader(Engine& engine) : engine_(engine) {
    options_.user.name = "system:apiserver";
    options_.user.groups = {"system:masters"};
    options_.manager = "fleetadm-sandbox-load";
    options_.internal = true;
  }

  void load(Dumped one) {
    if (cluster_makes_its_own(one)) return tell(skipped_, one, "the cluster has its own");
    if (is_deleting(one.object)) return tell(skipped_, one, "it was being deleted");
    const auto kind = find_kind(one);
    if (!kind) return tell(failed_, one, "the cluster does not serve " + str(one.object, {"apiVersion"}) + " " + one.kind);
    if (kind->namespaced && namespace_of(one.object).empty()) at_or_make(one.object, {"metadata", "namespace"}) = "default";
    keep_owners(one);
    const auto uid = uid_of(one.object);
    auto written = engine_.import_object(*kind, one.object, options_);
    if (!written) return tell(failed_, one, written.error().message);
    if (!uid.empty()) uids_[uid] = uid_of(written->object);
    const bool changed = resource_version_of(written->object) != before_;
    ++(written->created ? created_ : changed ? updated_ : unchanged_);
  }

  Json report() const {
    return {{"created", created_}, {"updated", updated_}, {"unchanged", unchanged_}, {"skipped", skipped_}, {"failed", failed_}};
  }

 private:
  KindPtr find_kind(const Dumped& one) {
    const auto by_name = engine_.kinds().find_kind(one.group, one.kind);
    if (!by_name) return nullptr;
    const auto version = str(one.object, {"apiVersion"});
    const auto exact = engine_.kinds().find(one.group, version.substr(version.rfind('/') + 1), by_name->plural);
    if (exact) {
      const auto ns = exact->namespaced ? namespace_of(one.object) : std::string();
      const auto stored = engine_.store().get(exact->storage, ns, name_of(one.object));
      before_ = stored ? std::to_string(stored->revision) : std::string();
    }
    return exact;
  }

  void keep_owners(Dumped& one) {
    Json kept = Json::array();
    const Json& owners = list_at(one.object, {"metadata", "ownerReferences"});
    for (Json owner : owners) {
      const auto uid = str(owner, {"uid"});
      if (const auto at = uids_.find(uid); at != uids_.end()) {
        owner["uid"] = at->second;
      } else if (!is_there(owner, namespace_of(one.object))) {
        continue;
      }
      kept.push_back(std::move(owner));
    }
    if (kept.size() == owners.size() && kept == owners) return;
    if (kept.empty()) {
      erase_at(one.object, {"metadata", "ownerReferences"});
    } else {
      at_or_make(one.object, {"metadata", "ownerReferences"}) = std::move(kept);
    }
  }

  bool is_there(const Json& owner, const std::string& ns) const {
    const auto kind = engine_.kinds().find_kind(group_of(owner), str(owner, {"kind"}));
    if (!kind) return false;
    const auto found = engine_.get(*kind, kind->namespaced ? ns : std::string(), str(owner, {"name"}));
    return found && uid_of(*found) == str(owner, {"uid"});
  }

  static void tell(Json& list, const Dumped& one, const std::string& why) {
    list.push_back({{"object", words_of(one.object)}, {"why", why}});
  }

  Engine& engine_;
  WriteOptions options_;
  std::map<std::string, std::string> uids_;  // of the dump → here
  std::string before_;                       // the version of what is there already
  int created_ = 0;
  int updated_ = 0;
  int unchanged_ = 0;
  Json skipped_ = Json::array();
  Json failed_ = Json::array();
};

}  // namespace

Result<Json> load_objects(Engine& engine, const Json& objects) {
  std::vector<Json> all;
  for (const Json& one : objects) FLEETADM_CHECK(flatten(one, all));
  Loader loader(engine);
  for (auto& one : in_order(std::move(all))) loader.load(std::move(one));
  return loader.report();
}

}  // namespace fleetadm::sandbox
