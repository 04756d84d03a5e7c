#include "core/msa/rules/token_secret.h"

#include "core/api/managed_service_account.h"
#include "core/msa/rules/not_ours.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::msa {
namespace {

constexpr const char* kOpaque = "Opaque";

bool is_labelled(const Json& object) { return label_of(object, api::kManagedServiceAccountLabel) == "true"; }

std::string label_text() { return std::string(api::kManagedServiceAccountLabel) + "=true"; }

/// An earlier object of the same name owned it as well: its Secret may outlive it for a moment.
bool names_owner(const Json& reference, const Json& object) {
  const auto& type = api::managed_service_accounts();
  return kube::parse_api_version(str(reference, {"apiVersion"})).group == type.group && str(reference, {"kind"}) == type.kind &&
         str(reference, {"name"}) == name_of(object);
}

}  // namespace

Json account_object(const std::string& ns, const std::string& name) {
  return {
      {"apiVersion", "v1"},
      {"kind", "ServiceAccount"},
      {"metadata", {{"name", name}, {"namespace", ns}, {"labels", {{std::string(api::kManagedServiceAccountLabel), "true"}}}}}};
}

Status check_account(const Json& account) {
  if (is_labelled(account)) return {};
  return fail(not_ours("ServiceAccount " + namespace_of(account) + "/" + name_of(account) +
                           " of the managed cluster exists and does not have the label " + label_text(),
                       "use another name"));
}

Status check_secret(const Json& secret, const Json& object) {
  const std::string what = "Secret " + namespace_of(secret) + "/" + name_of(secret) + " exists and ";
  if (!is_labelled(secret)) return fail(not_ours(what + "does not have the label " + label_text(), "use another name"));
  for (const Json& reference : list_at(secret, {"metadata", "ownerReferences"})) {
    if (!names_owner(reference, object))
      return fail(not_ours(what + "belongs to " + str(reference, {"kind"}) + " " + str(reference, {"name"}), "use another name"));
  }
  if (str(secret, {"type"}) != kOpaque) return fail(not_ours(what + "is not of type Opaque", "use another name"));
  return {};
}

Json secret_object(const Json& existing, const Json& object, const std::string& token, const std::string& authority) {
  const auto& type = api::managed_service_accounts();
  Json secret = existing.is_object() ? existing : Json::object();
  secret["apiVersion"] = "v1";
  secret["kind"] = "Secret";
  secret["type"] = kOpaque;
  at_or_make(secret, {"metadata", "name"}) = name_of(object);
  at_or_make(secret, {"metadata", "namespace"}) = namespace_of(object);
  at_or_make(secret, {"metadata", "labels", api::kManagedServiceAccountLabel}) = "true";
  at_or_make(secret, {"metadata", "ownerReferences"}) = Json::array(
      {{{"apiVersion", type.api_version()}, {"kind", type.kind}, {"name", name_of(object)}, {"uid", uid_of(object)}}});
  secret["data"] = {{std::string(kTokenKey), base64_encode(token)}, {std::string(kAuthorityKey), base64_encode(authority)}};
  return secret;
}

std::string token_in(const Json& secret) { return base64_decode(str(secret, {"data", kTokenKey})).value_or(std::string()); }

std::optional<TokenClaims> claims_for(const Json& secret, const std::string& account_uid) {
  auto claims = token_claims(token_in(secret));
  if (!claims || claims->account_uid != account_uid) return std::nullopt;
  return claims;
}

}  // namespace fleetadm::msa
