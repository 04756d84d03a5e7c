#include "core/sandbox/auth/account_secrets.h"

#include "core/sandbox/auth/authenticate.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox {
namespace {

const char* const kTokenType = "kubernetes.io/service-account-token";
const char* const kAccountName = "kubernetes.io/service-account.name";
const char* const kAccountUid = "kubernetes.io/service-account.uid";
const char* const kLegacyIssuer = "kubernetes/serviceaccount";
const char* const kClaims = "kubernetes.io/serviceaccount/";

std::string claim(const Json& claims, const char* name) { return str(claims, {std::string(kClaims) + name}); }

/// The account of a token Secret as it is now; null where there is none, or another of that name.
Json account_of(const Engine& engine, const Json& secret) {
  const auto stored = engine.store().get("/serviceaccounts", namespace_of(secret), annotation_of(secret, kAccountName));
  if (!stored) return nullptr;
  Json account = stored->json();
  const auto uid = annotation_of(secret, kAccountUid);
  if (!uid.empty() && uid != uid_of(account)) return nullptr;
  return account;
}

ApiStatus fill_in(const StrategyContext& context, Json& secret, const TokenSigner& signer, const std::string& ca_pem) {
  if (str(secret, {"type"}) != kTokenType) return {};
  if (annotation_of(secret, kAccountName).empty()) {
    return invalid(context.kind, name_of(secret), {required(std::string("metadata.annotations[") + kAccountName + "]")});
  }
  const Json account = account_of(context.engine, secret);
  if (account.is_null()) return {};  // its end follows the write
  at_or_make(secret, {"metadata", "annotations", kAccountUid}) = uid_of(account);
  const auto set_missing = [&](const char* key, const std::string& value) {
    if (str(secret, {"data", key}).empty()) at_or_make(secret, {"data", key}) = base64_encode(value);
  };
  set_missing("ca.crt", ca_pem);
  set_missing("namespace", namespace_of(secret));
  if (!str(secret, {"data", "token"}).empty()) return {};
  const std::string prefix = kClaims;
  const Json claims = {{"iss", kLegacyIssuer},
                       {"sub", "system:serviceaccount:" + namespace_of(secret) + ":" + name_of(account)},
                       {prefix + "namespace", namespace_of(secret)},
                       {prefix + "secret.name", name_of(secret)},
                       {prefix + "service-account.name", name_of(account)},
                       {prefix + "service-account.uid", uid_of(account)}};
  const auto token = signer.sign(claims);
  if (!token) return api_fail(500, "InternalError", "Internal error occurred: the token cannot be signed");
  set_missing("token", *token);
  return {};
}

bool is_orphan(const Engine& engine, const Json& secret) {
  return str(secret, {"type"}) == kTokenType && account_of(engine, secret).is_null();
}

void remove_secret(Engine& engine, const Kind& secrets, const Json& secret) {
  WriteOptions by;
  by.user.name = "system:serviceaccount:kube-system:tokens-controller";
  by.user.groups = {"system:masters", "system:authenticated"};
  by.internal = true;
  DeleteOptions options;
  options.uid = uid_of(secret);
  static_cast<void>(engine.remove(secrets, namespace_of(secret), name_of(secret), options, by));
}

}  // namespace

Strategy with_account_tokens(Strategy secrets, const TokenSigner& signer, std::string ca_pem) {
  Strategy out = secrets;
  out.create = [secrets, &signer, ca_pem](const StrategyContext& context, Json& secret) -> ApiStatus {
    if (secrets.create) FLEETADM_CHECK(secrets.create(context, secret));
    return fill_in(context, secret, signer, ca_pem);
  };
  out.update = [secrets, &signer, ca_pem](const StrategyContext& context, Json& secret, const Json& old) -> ApiStatus {
    if (secrets.update) FLEETADM_CHECK(secrets.update(context, secret, old));
    return fill_in(context, secret, signer, ca_pem);
  };
  return out;
}

void end_account_secrets(Engine& engine, const Kind& kind, const std::string& ns, const std::string& name, const Json* object) {
  if (kind.storage == "/secrets") {
    if (object != nullptr && is_orphan(engine, *object)) remove_secret(engine, kind, *object);
    return;
  }
  if (kind.storage != "/serviceaccounts" || object != nullptr) return;
  const auto secrets = engine.kinds().find("", "v1", "secrets");
  for (const Json& secret : engine.list(*secrets, ns)) {
    if (annotation_of(secret, kAccountName) == name && is_orphan(engine, secret)) remove_secret(engine, *secrets, secret);
  }
}

std::optional<serve::User> user_of_account_secret(const Engine& engine, const Json& claims, std::string_view token) {
  if (str(claims, {"iss"}) != kLegacyIssuer) return std::nullopt;
  const auto ns = claim(claims, "namespace");
  const auto stored = engine.store().get("/secrets", ns, claim(claims, "secret.name"));
  if (!stored) return std::nullopt;
  const Json secret = stored->json();
  const auto held = base64_decode(str(secret, {"data", "token"}));
  if (!held || *held != token || is_deleting(secret)) return std::nullopt;
  const Json account = account_of(engine, secret);
  if (account.is_null() || uid_of(account) != claim(claims, "service-account.uid")) return std::nullopt;
  serve::User user;
  user.name = "system:serviceaccount:" + ns + ":" + name_of(account);
  user.uid = uid_of(account);
  user.groups = service_account_groups(ns);
  return user;
}

}  // namespace fleetadm::sandbox
