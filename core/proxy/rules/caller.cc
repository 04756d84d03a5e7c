#include "core/proxy/rules/caller.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/proxy/rules/percent.h"
#include "kubeclient/base/names.h"

namespace fleetadm::proxy {
namespace {

constexpr std::string_view kReserved = "system:";
constexpr std::string_view kAccount = "system:serviceaccount:";
constexpr std::string_view kAccounts = "system:serviceaccounts";
constexpr std::string_view kUserHeader = "fleetadm-user";
constexpr std::string_view kUidHeader = "fleetadm-uid";
constexpr std::string_view kGroupHeader = "fleetadm-group";
constexpr std::string_view kExtraHeader = "fleetadm-extra-";
constexpr std::string_view kTokenHeader = "fleetadm-token";
constexpr std::string_view kBearer = "Bearer ";

tl::unexpected<Error> refused(std::string message) {
  return fail({.code = 403, .category = Category::kAuth, .message = std::move(message), .reason = "Forbidden"});
}

/// "<ns>:<name>" of a ServiceAccount.
bool is_account(std::string_view text) {
  const auto colon = text.find(':');
  return colon != std::string_view::npos && is_dns_label(text.substr(0, colon)) && is_dns_subdomain(text.substr(colon + 1));
}

/// "system:serviceaccounts", or that of one namespace.
bool is_account_group(std::string_view group) {
  if (!group.starts_with(kAccounts)) return false;
  const auto rest = group.substr(kAccounts.size());
  return rest.empty() || (rest.front() == ':' && is_dns_label(rest.substr(1)));
}

std::string with_prefix(std::string_view name) { return std::string(kHubPrefix).append(name); }

/// A header's value, once.
Result<std::optional<std::string_view>> one_of(const serve::Headers& headers, std::string_view name) {
  std::optional<std::string_view> out;
  for (const auto& [key, value] : headers) {
    if (key != name) continue;
    if (out) return refused("the header " + std::string(name) + " is there more than once");
    out = value;
  }
  return out;
}

Result<std::string> decoded(std::string_view header, std::string_view text) {
  auto value = percent_decoded(text);
  if (!value || !is_plain_text(*value)) return refused("the header " + std::string(header) + " holds no name");
  return std::move(*value);
}

Result<Caller> read_caller(const serve::Headers& headers, std::string_view user) {
  Caller caller;
  FLEETADM_TRY(caller.name, decoded(kUserHeader, user));
  FLEETADM_TRY(const auto uid, one_of(headers, kUidHeader));
  if (uid) {
    FLEETADM_TRY(caller.uid, decoded(kUidHeader, *uid));
  }
  for (const auto& [name, value] : headers) {
    if (name == kGroupHeader) {
      FLEETADM_TRY(auto group, decoded(name, value));
      caller.groups.push_back(std::move(group));
    } else if (name.starts_with(kExtraHeader)) {
      FLEETADM_TRY(auto key, decoded(kExtraHeader, std::string_view(name).substr(kExtraHeader.size())));
      FLEETADM_TRY(auto text, decoded(kExtraHeader, value));
      caller.extra[std::move(key)].push_back(std::move(text));
    }
  }
  FLEETADM_CHECK(check_caller(caller));
  return caller;
}

}  // namespace

Result<Caller> caller_at_member(const Caller& on_hub) {
  Caller out;
  const std::string_view name = on_hub.name;
  if (name.starts_with(kAccount) && is_account(name.substr(kAccount.size()))) {
    out.name = with_prefix(name);
  } else if (name.empty()) {
    return refused("a caller without a name cannot act at a cluster");
  } else if (name.starts_with(kReserved) || name.starts_with(kHubPrefix)) {
    return refused("the user name is reserved, and cannot act at a cluster through the gateway");
  } else if (!is_plain_text(name)) {
    return refused("the user name has control characters or is no UTF-8, and cannot act at a cluster");
  } else {
    out.name = name;
  }
  for (const std::string& group : on_hub.groups) {
    if (is_account_group(group)) {
      out.groups.push_back(with_prefix(group));
    } else if (!group.empty() && !group.starts_with(kReserved) && !group.starts_with(kHubPrefix) && is_plain_text(group)) {
      out.groups.push_back(group);
    }
  }
  return out;
}

Status check_caller(const Caller& at_member) {
  const auto prefixed = [](std::string_view text) { return text.starts_with(kHubPrefix); };
  const std::string_view name = at_member.name;
  if (name.empty()) return refused("a caller without a name cannot act at this cluster");
  const bool account = prefixed(name) && name.substr(kHubPrefix.size()).starts_with(kAccount) &&
                       is_account(name.substr(kHubPrefix.size() + kAccount.size()));
  if (name.starts_with(kReserved) || (prefixed(name) && !account))
    return refused("the user name is reserved, and cannot act at this cluster");
  for (const std::string& group : at_member.groups) {
    const bool accounts = prefixed(group) && is_account_group(std::string_view(group).substr(kHubPrefix.size()));
    if (group.empty() || group.starts_with(kReserved) || (prefixed(group) && !accounts))
      return refused("a group of the caller is reserved, and cannot be used at this cluster");
  }
  return {};
}

void write_actor(const Actor& actor, serve::Headers& headers) {
  if (const auto* token = std::get_if<MemberToken>(&actor)) {
    headers.emplace_back(kTokenHeader, "member");
    headers.emplace_back("authorization", std::string(kBearer).append(token->token));
    return;
  }
  const auto& caller = std::get<Caller>(actor);
  headers.emplace_back(kUserHeader, percent_encoded(caller.name));
  if (!caller.uid.empty()) headers.emplace_back(kUidHeader, percent_encoded(caller.uid));
  for (const std::string& group : caller.groups) headers.emplace_back(kGroupHeader, percent_encoded(group));
  for (const auto& [key, values] : caller.extra) {
    const std::string name = std::string(kExtraHeader).append(percent_encoded(key));
    for (const std::string& value : values) headers.emplace_back(name, percent_encoded(value));
  }
}

bool is_actor_header(std::string_view name) {
  return name == kUserHeader || name == kUidHeader || name == kGroupHeader || name.starts_with(kExtraHeader);
}

Result<Actor> read_actor(const serve::Headers& headers) {
  FLEETADM_TRY(const auto user, one_of(headers, kUserHeader));
  FLEETADM_TRY(const auto kind, one_of(headers, kTokenHeader));
  FLEETADM_TRY(const auto credential, one_of(headers, "authorization"));
  if (kind) {
    if (std::ranges::any_of(headers, [](const auto& header) { return is_actor_header(header.first); }))
      return refused("the request names a caller and brings a token of the cluster as well");
    if (*kind != "member" || !credential || !credential->starts_with(kBearer) || credential->size() == kBearer.size())
      return refused("the request brings no token of the cluster");
    return MemberToken{std::string(credential->substr(kBearer.size()))};
  }
  if (!user) return refused("the request names no caller");
  if (credential) return refused("the request names a caller and brings a credential as well");
  FLEETADM_TRY(auto caller, read_caller(headers, *user));
  return Actor(std::move(caller));
}

}  // namespace fleetadm::proxy
