#include "core/registration/agent/namespaces.h"

#include <algorithm>

#include "core/controller/controller.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/json.h"

namespace fleetadm::registration::agent {
namespace {

constexpr std::string_view kLabelPrefix = "clusterset.open-cluster-management.io/";
constexpr std::size_t kHashLength = 63;
constexpr auto kRecheck = std::chrono::minutes(10);

}  // namespace

std::string managed_namespace_label(std::string_view hub_server) {
  return std::string(kLabelPrefix) + sha256_hex(hub_server).substr(0, kHashLength);
}

ManagedNamespaces::ManagedNamespaces(kube::Client spoke, std::string_view hub_server)
    : spoke_(std::move(spoke)), label_(managed_namespace_label(hub_server)) {}

Result<std::vector<NamespaceFailure>> ManagedNamespaces::apply(const Json& managed_cluster, Instant now) {
  const kube::Resource& resource = kube::resources::namespaces();
  std::set<std::string> wanted;
  if (!is_deleting(managed_cluster)) {
    for (const Json& entry : list_at(managed_cluster, {"status", "managedNamespaces"})) wanted.insert(str(entry, {"name"}));
    wanted.erase("");
  }
  const bool lasts = checked_ && (wanted.empty() || (now >= *checked_ && now - *checked_ < kRecheck));
  if (lasts && wanted == applied_) return std::vector<NamespaceFailure>{};
  checked_.reset();

  std::vector<NamespaceFailure> failures;
  for (const std::string& name : wanted) {
    const Json intent = {
        {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}, {"labels", {{label_, "true"}}}}}};
    kube::WriteOptions options;
    options.force = true;  // the label is this agent's alone, whoever set it last
    if (const auto done = spoke_.apply(resource, intent, options); !done) failures.push_back({name, done.error().message});
  }
  kube::ListOptions labelled;
  labelled.label_selector = label_ + "=true";
  FLEETADM_TRY(const Json list, spoke_.list(resource, {}, labelled));
  bool released = true;
  for (const Json& item : list_at(list, {"items"})) {
    if (wanted.contains(name_of(item))) continue;
    // A patch and no apply: it must not bring back a namespace that goes away meanwhile.
    const Json unmark = {{"metadata", {{"labels", {{label_, "false"}}}}}};
    const auto done = spoke_.patch(resource, {}, name_of(item), kube::PatchType::kMerge, unmark);
    if (!done && done.error().category != Category::kNotFound) released = false;
  }
  if (failures.empty() && released) {
    applied_ = std::move(wanted);
    checked_ = now;
  }
  return failures;
}

void write_namespace_conditions(const std::vector<NamespaceFailure>& failures, Instant now, Json& status) {
  const auto found = status.find("managedNamespaces");
  if (found == status.end() || !found->is_array()) return;
  for (Json& entry : *found) {
    if (!entry.is_object()) continue;
    Json& conditions = entry["conditions"];
    if (!conditions.is_array()) conditions = Json::array();
    const auto failure = std::find_if(failures.begin(), failures.end(),
                                      [&entry](const NamespaceFailure& one) { return one.name == str(entry, {"name"}); });
    if (failure == failures.end()) {
      controller::set_condition(conditions, "NamespaceAvailable", "True", "NamespaceApplied",
                                "Namespace successfully applied and managed", now);
    } else {
      controller::set_condition(conditions, "NamespaceAvailable", "False", "NamespaceApplyFailed", failure->message, now);
    }
  }
}

}  // namespace fleetadm::registration::agent
