#include "core/registration/join/bootstrap_secret.h"

#include <algorithm>
#include <functional>
#include <sstream>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::join {
namespace {

constexpr const char* kType = "bootstrap.kubernetes.io/token";
constexpr const char* kNamespace = "kube-system";
constexpr std::string_view kNamePrefix = "bootstrap-token-";
constexpr const char* kUsagePrefix = "usage-bootstrap-";

std::string value_of(const Json& secret, const std::string& key) {
  return base64_decode(str(secret, {"data", key})).value_or(std::string());
}

bool has(const std::vector<std::string>& list, std::string_view one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

Status each_token(const kube::Client& hub, const std::function<void(BootstrapToken&&, const Json& secret)>& take) {
  kube::ListOptions which;
  which.field_selector = std::string("type=") + kType;
  return hub.list_each(kube::resources::secrets(), kNamespace, which, [&](const Json& secret) -> Status {
    if (auto token = bootstrap_token_of(secret)) take(std::move(*token), secret);
    return {};
  });
}

}  // namespace

bool BootstrapToken::has_usage(std::string_view usage) const { return has(usages, usage); }

bool BootstrapToken::joins(Instant now) const {
  return has_usage("authentication") && has(groups, kJoiningGroup) && (!expires || *expires > now);
}

std::optional<BootstrapToken> bootstrap_token_of(const Json& secret) {
  if (str(secret, {"type"}) != kType || !name_of(secret).starts_with(kNamePrefix)) return std::nullopt;
  BootstrapToken token;
  token.id = name_of(secret).substr(kNamePrefix.size());
  token.description = value_of(secret, "description");
  token.uid = uid_of(secret);
  for (const char* usage : {"authentication", "signing"}) {
    if (value_of(secret, std::string(kUsagePrefix) + usage) == "true") token.usages.emplace_back(usage);
  }
  std::istringstream groups(value_of(secret, "auth-extra-groups"));
  for (std::string group; std::getline(groups, group, ',');) {
    if (!group.empty()) token.groups.push_back(group);
  }
  if (const std::string expiration = value_of(secret, "expiration"); !expiration.empty()) {
    // What cannot be read has expired, as the API server takes it.
    token.expires = parse_time(expiration).value_or(Instant{});
  }
  return token;
}

Json new_bootstrap_secret(const BootstrapToken& wanted, std::string& token) {
  const std::string id = random_suffix(6);
  const std::string secret = random_suffix(16);
  token = id + "." + secret;
  Json data{{"token-id", base64_encode(id)}, {"token-secret", base64_encode(secret)}};
  for (const std::string& usage : wanted.usages) data[kUsagePrefix + usage] = base64_encode("true");
  if (!wanted.groups.empty()) data["auth-extra-groups"] = base64_encode(joined(wanted.groups, ","));
  if (wanted.expires) data["expiration"] = base64_encode(format_time(*wanted.expires));
  if (!wanted.description.empty()) data["description"] = base64_encode(wanted.description);
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"type", kType},
          {"metadata", {{"name", std::string(kNamePrefix) + id}, {"namespace", kNamespace}}},
          {"data", std::move(data)}};
}

Result<std::vector<BootstrapToken>> bootstrap_tokens(const kube::Client& hub) {
  std::vector<BootstrapToken> tokens;
  FLEETADM_CHECK(each_token(hub, [&](BootstrapToken&& token, const Json&) { tokens.push_back(std::move(token)); }));
  return tokens;
}

Result<std::vector<std::string>> signing_tokens(const kube::Client& hub, Instant now) {
  std::vector<std::string> tokens;
  FLEETADM_CHECK(each_token(hub, [&](BootstrapToken&& token, const Json& secret) {
    const std::string key = value_of(secret, "token-secret");
    if (!key.empty() && token.has_usage("signing") && (!token.expires || *token.expires > now))
      tokens.push_back(token.id + "." + key);
  }));
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

Json to_json(const BootstrapToken& token, Instant now) {
  return {{"id", token.id},
          {"description", token.description},
          {"usages", token.usages},
          {"groups", token.groups},
          {"expires", token.expires ? format_time(*token.expires) : ""},
          {"expired", token.expires && *token.expires <= now},
          {"joins", token.joins(now)}};
}

}  // namespace fleetadm::join
