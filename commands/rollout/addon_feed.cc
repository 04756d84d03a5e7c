#include "commands/rollout/addon_feed.h"

#include <utility>

#include "commands/framework/addon_change.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

constexpr Duration kFeedPatience = std::chrono::seconds(30);

kube::InformerOptions named_everywhere(const std::string& name) {
  kube::InformerOptions options;
  options.field_selector = "metadata.name=" + name;
  return options;
}

}  // namespace

AddonFeed::AddonFeed(const kube::Client& hub, std::string addon, const Json& declaration)
    : addon_(std::move(addon)), watched_(hub) {
  watch(api::cluster_management_addons(), named_everywhere(addon_));
  watch(api::managed_cluster_addons(), named_everywhere(addon_));
  watch(api::managed_clusters(), {});
  watch(api::addon_templates(), {});
  watch(api::addon_deployment_configs(), {});
  for (const Json& one : list_at(declaration, {"spec", "installStrategy", "placements"})) {
    const std::string ns = str(one, {"namespace"});
    if (!namespaces_.insert(ns).second) continue;
    kube::InformerOptions there;
    there.ns = ns;
    watch(api::placements(), there);
    watch(api::placement_decisions(), there);
  }
}

void AddonFeed::watch(const kube::Resource& resource, kube::InformerOptions options) {
  lists_.emplace_back(&resource, watched_.add(resource, std::move(options)));
}

Result<std::unique_ptr<AddonFeed>> AddonFeed::open(const kube::Client& hub, const std::string& addon,
                                                   const std::stop_token& stop) {
  FLEETADM_TRY(const Json declaration, declaration_of(hub, addon));
  std::unique_ptr<AddonFeed> feed(new AddonFeed(hub, addon, declaration));
  FLEETADM_CHECK(feed->watched_.start(kFeedPatience, stop));
  return feed;
}

Result<addon::AddonRolloutObjects> AddonFeed::objects() const {
  addon::AddonRolloutObjects out;
  for (const auto& [resource, which] : lists_) {
    for (Json& object : watched_.objects(which)) out.keep(*resource, std::move(object));
  }
  out.readable = {addon::addon_templates(), addon::addon_deployment_configs()};
  if (out.declaration(addon_) == nullptr)
    return fail(Category::kNotFound, "add-on \"" + addon_ + "\" was deleted, which ended its rollout");
  return out;
}

bool AddonFeed::covers(const addon::AddonRolloutObjects& objects) const {
  const Json& declaration = *objects.declaration(addon_);
  for (const Json& one : list_at(declaration, {"spec", "installStrategy", "placements"})) {
    if (!namespaces_.contains(str(one, {"namespace"}))) return false;
  }
  return true;
}

}  // namespace fleetadm::commands
