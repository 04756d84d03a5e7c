// The beginning and end of namespaces and of custom resource definitions (docs/reference/kubernetes-api.md#namespaces,
// docs/reference/kubernetes-api.md#custom-resource-definitions).
#include <algorithm>
#include <map>

#include "core/sandbox/controllers/controller.h"
#include "core/sandbox/engine/custom.h"

namespace fleetadm::sandbox {
namespace {

using FinalizerCounts = std::map<std::string, std::size_t>;

/// Deletes what is left of a kind in a namespace (all of them: ""); how many objects remain, and what holds them.
std::size_t empty_out(const ControllerContext& context, const Kind& kind, const std::string& ns, FinalizerCounts& held) {
  const auto snapshot = context.engine.store().list(kind.storage, ns);
  if (!snapshot) return 1;
  for (const auto& item : snapshot->items) {
    const Json object = context.engine.full(kind, *item.object);
    if (!is_deleting(object)) remove(context, kind, object);
    for (const auto& finalizer : string_list_at(object, {"metadata", "finalizers"})) ++held[finalizer];
  }
  return context.engine.store().count(kind.storage, ns);
}

void end_namespace(const ControllerContext& context, const Kind& kind, const Json& ns) {
  std::size_t left = 0;
  std::string remaining;
  FinalizerCounts held;
  for (const auto& row : context.engine.kinds().all()) {
    if (!row->namespaced || !row->has_verb("deletecollection") || context.engine.store().count(row->storage, name_of(ns)) == 0)
      continue;
    if (const auto count = empty_out(context, *row, name_of(ns), held); count > 0) {
      left += count;
      remaining += (remaining.empty() ? "" : ", ") + row->plural + "." + row->group + " has " + std::to_string(count) +
                   " resource instances";
    }
  }
  if (left > 0) {
    std::string holders;
    for (const auto& [finalizer, count] : held)
      holders += (holders.empty() ? "" : ", ") + finalizer + " in " + std::to_string(count) + " resource instances";
    change(context, kind, ns, as_controller("namespace-controller", "status"), [&](Json& object) {
      const auto now = context.engine.clock().now();
      set_condition(object, "NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered",
                    "All resources successfully discovered", now);
      set_condition(object, "NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions",
                    "All legacy kube types successfully parsed", now);
      set_condition(object, "NamespaceDeletionContentFailure", false, "ContentDeleted",
                    "All content successfully deleted, may be waiting on finalization", now);
      set_condition(object, "NamespaceContentRemaining", true, "SomeResourcesRemain",
                    "Some resources are remaining: " + remaining, now);
      set_condition(object, "NamespaceFinalizersRemaining", !held.empty(),
                    held.empty() ? "ContentHasNoFinalizers" : "SomeFinalizersRemain",
                    held.empty() ? "All content-preserving finalizers finished"
                                 : "Some content in the namespace has finalizers remaining: " + holders,
                    now);
      for (Json& one : at_or_make(object, {"status", "conditions"})) one.erase("lastUpdateTime");
    });
    return;
  }
  change(context, kind, ns, as_controller("namespace-controller", "finalize"), [](Json& object) {
    auto finalizers = string_list_at(object, {"spec", "finalizers"});
    finalizers.erase(std::remove(finalizers.begin(), finalizers.end(), "kubernetes"), finalizers.end());
    at_or_make(object, {"spec", "finalizers"}) = finalizers;
  });
}

}  // namespace

void sync_namespace(const ControllerContext& context, const std::string& name) {
  const auto kind = kind_of(context, "", "namespaces");
  const auto ns = context.engine.get(*kind, "", name);
  if (!ns) return;
  if (is_deleting(*ns)) return end_namespace(context, *kind, *ns);
  const auto accounts = kind_of(context, "", "serviceaccounts");
  if (!context.engine.store().get(accounts->storage, name, "default")) {
    static_cast<void>(context.engine.create(
        *accounts, name, {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "default"}}}},
        as_controller("service-account-controller")));
  }
  const auto maps = kind_of(context, "", "configmaps");
  const auto root = context.engine.get(*maps, name, "kube-root-ca.crt");
  if (!root) {
    const Json made = {
        {"apiVersion", "v1"},
        {"kind", "ConfigMap"},
        {"metadata",
         {{"name", "kube-root-ca.crt"},
          {"annotations", {{"kubernetes.io/description", "The CA that the API server's certificate was signed by."}}}}},
        {"data", {{"ca.crt", context.ca_pem}}}};
    static_cast<void>(context.engine.create(*maps, name, made, as_controller("root-ca-cert-publisher")));
  } else if (str(*root, {"data", "ca.crt"}) != context.ca_pem) {
    change(context, *maps, *root, as_controller("root-ca-cert-publisher"), [&](Json& object) {
      object["data"] = {{"ca.crt", context.ca_pem}};
    });
  }
}

void sync_definition(const ControllerContext& context, const std::string& name) {
  const auto kind = kind_of(context, "apiextensions.k8s.io", "customresourcedefinitions");
  const auto crd = context.engine.get(*kind, "", name);
  if (!crd || !is_deleting(*crd) || !has_finalizer(*crd, kDefinitionCleanup)) return;
  const auto row = context.engine.kinds().find_plural(str(*crd, {"spec", "group"}), str(*crd, {"spec", "names", "plural"}));
  FinalizerCounts held;
  if (row && empty_out(context, *row, "", held) > 0) return;  // their end calls this again
  change(context, *kind, *crd, as_controller("customresource-cleanup"), [](Json& object) {
    auto finalizers = string_list_at(object, {"metadata", "finalizers"});
    finalizers.erase(std::remove(finalizers.begin(), finalizers.end(), kDefinitionCleanup), finalizers.end());
    at_or_make(object, {"metadata", "finalizers"}) = finalizers;
  });
}

}  // namespace fleetadm::sandbox
