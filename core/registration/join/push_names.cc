#include "core/registration/join/push_names.h"

#include <utility>

#include "core/install/install.h"
#include "kubeclient/base/token_claims.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;

Result<Json> list_parts(const kube::Client& member, const kube::Resource& type, const std::string& part = {}) {
  kube::ListOptions parts;
  parts.label_selector = std::string(install::kPartLabel) + (part.empty() ? "" : "=" + part);
  return member.list(type, "", parts);
}

/// As an object of the hub's part; nullopt: it is not there, or another's.
Result<std::optional<Json>> find_ours(const kube::Client& member, const kube::Resource& type, const std::string& name,
                                      const std::string& part) {
  FLEETADM_TRY(auto found, member.find(type, "", name));
  if (found && label_of(*found, install::kPartLabel) != part) found.reset();
  return found;
}

std::string former_user(const std::string& ns) {
  return "system:serviceaccount:" + ns + ":" + std::string(api::kFormerWorkAccount);
}

}  // namespace

MemberAccount push_account(api::MemberNames names, std::string_view hub_id, std::string_view cluster) {
  if (names == api::MemberNames::kKarmada) return {std::string(api::kKarmadaNamespace), api::karmada_account(cluster), {}};
  std::string ns = api::push_namespace_on_member(hub_id);
  std::string user = api::push_works_user(ns);
  return {std::move(ns), std::string(api::kPushAccount), std::move(user)};
}

std::optional<MemberAccount> push_account_of(std::string_view token, std::string_view cluster, std::string_view works_as) {
  const auto claims = token_claims(token);
  if (!claims) return std::nullopt;
  if (claims->account == api::kPushAccount) {
    return MemberAccount{claims->account_namespace, claims->account,
                         works_as.empty() ? former_user(claims->account_namespace) : std::string(works_as)};
  }
  MemberAccount karmadas = push_account(api::MemberNames::kKarmada, {}, cluster);
  if (claims->account == karmadas.name && claims->account_namespace == karmadas.ns) return karmadas;
  return std::nullopt;
}

bool is_former(const MemberAccount& account) { return account.acts_as == former_user(account.ns); }

Result<std::optional<PushRoot>> find_push_root(const kube::Client& member, std::string_view hub_id, std::string_view cluster) {
  const std::string part = api::push_part_on_member(hub_id);
  FLEETADM_TRY(auto ns, find_ours(member, r::namespaces(), api::push_namespace_on_member(hub_id), part));
  if (ns && !is_deleting(*ns)) return PushRoot{api::MemberNames::kOwn, r::namespaces(), std::move(*ns)};
  auto binding = find_ours(member, r::cluster_role_bindings(), api::karmada_role(cluster), part);
  // The hub's own account may not look, and is not there where the names are Karmada's.
  const bool may_not_look = !binding && binding.error().category == Category::kAuth && ns;
  if (!binding && !may_not_look) return fail(binding.error());
  if (binding && *binding) return PushRoot{api::MemberNames::kKarmada, r::cluster_role_bindings(), std::move(**binding)};
  if (ns) return PushRoot{api::MemberNames::kOwn, r::namespaces(), std::move(*ns)};
  return std::nullopt;
}

Result<std::string> pushed_as(const kube::Client& member, std::string_view hub_id) {
  const std::string part = api::push_part_on_member(hub_id);
  FLEETADM_TRY(const auto ns, find_ours(member, r::namespaces(), api::push_namespace_on_member(hub_id), part));
  if (ns && !is_deleting(*ns)) return annotation_of(*ns, api::kPushedAsAnnotation);
  FLEETADM_TRY(const Json bindings, list_parts(member, r::cluster_role_bindings(), part));
  for (const Json& binding : list_at(bindings, {"items"})) {
    const std::string cluster = annotation_of(binding, api::kPushedAsAnnotation);
    if (!cluster.empty() && name_of(binding) == api::karmada_role(cluster)) return cluster;
  }
  return ns ? annotation_of(*ns, api::kPushedAsAnnotation) : std::string();
}

Result<std::set<std::string>> pushed_by(const kube::Client& member) {
  std::set<std::string> hubs;
  for (const kube::Resource& type : {r::namespaces(), r::cluster_role_bindings()}) {
    FLEETADM_TRY(const Json roots, list_parts(member, type));
    for (const Json& root : list_at(roots, {"items"})) hubs.insert(annotation_of(root, api::kPushedByAnnotation));
  }
  hubs.erase("");
  return hubs;
}

}  // namespace fleetadm::join
