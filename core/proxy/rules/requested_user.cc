#include "core/proxy/rules/requested_user.h"

#include <string>
#include <string_view>
#include <utility>

namespace fleetadm::proxy {
namespace {

constexpr std::string_view kImpersonate = "impersonate-";
constexpr std::string_view kExtraPrefix = "extra-";
constexpr std::string_view kAccountUser = "system:serviceaccount:";
constexpr std::string_view kAccountGroup = "system:serviceaccounts";
constexpr std::string_view kAuthenticated = "system:authenticated";

tl::unexpected<Error> unusable(std::string message) {
  return fail({.code = 400, .category = Category::kInvalid, .message = std::move(message), .reason = "BadRequest"});
}

serve::Attributes right_to(std::string_view group, std::string_view resource, std::string_view name) {
  serve::Attributes out;
  out.resource_request = true;
  out.verb = "impersonate";
  out.group = group;
  out.version = "v1";
  out.resource = resource;
  out.name = name;
  return out;
}

serve::Attributes right_to_user(std::string_view name) {
  if (name.starts_with(kAccountUser)) {
    const auto account = name.substr(kAccountUser.size());
    if (const auto colon = account.find(':'); colon != std::string_view::npos) {
      auto out = right_to("", "serviceaccounts", account.substr(colon + 1));
      out.ns = account.substr(0, colon);
      return out;
    }
  }
  return right_to("", "users", name);
}

/// What is asked for is had, or refused: not left out, as groups of a caller are that a member must not see.
Status check_group(const std::string& group) {
  if (group == kAuthenticated) return {};
  if (const auto crossed = caller_at_member({.name = "user", .uid = {}, .groups = {group}, .extra = {}});
      crossed && !crossed->groups.empty())
    return {};
  return fail({.code = 403,
               .category = Category::kAuth,
               .message = "the group \"" + group + "\" is reserved, and cannot be used at a cluster through the gateway",
               .reason = "Forbidden"});
}

Status take(std::string_view what, const std::string& value, RequestedUser& into) {
  if (what == "user") {
    if (!into.user.name.empty()) return unusable("the header Impersonate-User is there more than once");
    into.user.name = value;
  } else if (what == "uid") {
    if (!into.user.uid.empty()) return unusable("the header Impersonate-Uid is there more than once");
    into.user.uid = value;
  } else if (what == "group") {
    FLEETADM_CHECK(check_group(value));
    into.user.groups.push_back(value);
  } else if (what.starts_with(kExtraPrefix) && what.size() > kExtraPrefix.size()) {
    into.user.extra[serve::percent_decode(what.substr(kExtraPrefix.size()), false)].push_back(value);
  } else {
    return unusable("the header " + std::string(kImpersonate).append(what) + " is none of those that impersonate");
  }
  return {};
}

void add_rights(RequestedUser& asked) {
  constexpr std::string_view kApi = "authentication.k8s.io";
  const Caller& user = asked.user;
  asked.rights.push_back(right_to_user(user.name));
  for (const std::string& group : user.groups) asked.rights.push_back(right_to("", "groups", group));
  if (!user.uid.empty()) asked.rights.push_back(right_to(kApi, "uids", user.uid));
  for (const auto& [key, values] : user.extra) {
    for (const std::string& value : values) {
      asked.rights.push_back(right_to(kApi, "userextras", value));
      asked.rights.back().subresource = key;
    }
  }
}

/// As an API server completes them.
void add_groups(const serve::Attributes& user, Caller& into) {
  if (user.resource == "serviceaccounts" && into.groups.empty())
    into.groups = {std::string(kAccountGroup), std::string(kAccountGroup) + ":" + user.ns};
  if (!into.in(kAuthenticated)) into.groups.emplace_back(kAuthenticated);
}

}  // namespace

Result<std::optional<RequestedUser>> read_requested_user(const serve::Headers& headers) {
  RequestedUser out;
  std::size_t count = 0;
  for (const auto& [name, value] : headers) {
    if (!name.starts_with(kImpersonate)) continue;
    if (++count > kMostRequestedNames)
      return unusable("the request impersonates more than " + std::to_string(kMostRequestedNames) + " names");
    FLEETADM_CHECK(take(std::string_view(name).substr(kImpersonate.size()), value, out));
  }
  if (count == 0) return std::nullopt;
  if (out.user.name.empty()) return unusable("the request impersonates groups, a uid or extra fields without a user");
  add_rights(out);
  add_groups(out.rights.front(), out.user);
  return std::optional(std::move(out));
}

}  // namespace fleetadm::proxy
