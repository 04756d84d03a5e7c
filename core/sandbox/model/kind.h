// What the server serves: one row a resource and version. Rows of built-in kinds never change; those of custom resources come and
// go with their definitions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::sandbox {

struct CustomKind;  // engine/custom.h

struct Subresource {
  std::string name;     // "status"
  std::string group;    // of its kind; empty with an empty version: the resource's own
  std::string version;  //
  std::string kind;     // "Scale"; empty: the resource's own
  std::vector<std::string> verbs;
};

enum class NameRule { kSubdomain, kLabel, kPath };

struct Kind {
  std::string group;
  std::string version;
  std::string plural;
  std::string singular;
  std::string kind;
  std::string list_kind;
  bool namespaced = false;
  std::vector<std::string> verbs;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  std::vector<Subresource> subresources;

  std::string storage;  // the store's name of the resource: "group/plural" of where it lives
  NameRule name_rule = NameRule::kSubdomain;
  bool generation = false;            // counted where what is not metadata or status changes
  bool unconditional_update = false;  // PUT without resourceVersion
  bool create_on_update = false;      // PUT of what does not exist
  bool delete_returns_object = false;
  bool orphans_by_default = false;
  std::vector<std::string> selectable;       // fields besides metadata.name and metadata.namespace
  std::shared_ptr<const CustomKind> custom;  // of custom resources

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  /// "deployments.apps", "configmaps": as messages name a resource.
  std::string qualified() const { return group.empty() ? plural : plural + "." + group; }
  bool has_verb(std::string_view verb) const;
  const Subresource* subresource(std::string_view name) const;
  /// Where the object's text must be changed to be served in this version (events.k8s.io, versions of custom resources).
  std::function<Json(Json)> on_read;
  /// From this version to what is stored.
  std::function<Json(Json)> on_write;
};
using KindPtr = std::shared_ptr<const Kind>;

/// Every built-in row, in discovery's order of preference. All tables of a process share them.
const std::vector<KindPtr>& built_in_kinds();

/// All rows that are served now. Any thread.
class KindTable {
 public:
  KindTable();

  KindPtr find(std::string_view group, std::string_view version, std::string_view plural) const;
  /// A served kind by group and kind, any version (the preferred one first).
  KindPtr find_kind(std::string_view group, std::string_view kind) const;
  KindPtr find_plural(std::string_view group, std::string_view plural) const;
  bool has_group(std::string_view group) const;
  bool is_custom_group(std::string_view group) const;
  /// In discovery's order: groups by priority, versions by preference, resources by name.
  std::vector<KindPtr> all() const;
  /// Replaces the custom rows of one definition (its name is the key); none: removes them.
  void set_custom(const std::string& definition, std::vector<KindPtr> rows);
  /// Grows with every change of the rows.
  std::uint64_t generation() const;

 private:
  struct Rows;
  static const Rows& built_in();
  std::shared_ptr<const Rows> custom_rows() const;
  template <class Test>
  KindPtr first(const Test& test) const;
  void rebuild();
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<KindPtr>> custom_;
  std::shared_ptr<const Rows> custom_rows_;
  std::uint64_t generation_ = 0;
};

/// "v2" before "v1" before "v1beta1" before "v1alpha1" before "foo": true where a is preferred over b.
bool version_before(std::string_view a, std::string_view b);

}  // namespace fleetadm::sandbox
