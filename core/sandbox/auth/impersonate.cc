#include "core/sandbox/auth/impersonate.h"

#include <algorithm>

#include "core/sandbox/auth/authenticate.h"

namespace fleetadm::sandbox {
namespace {

constexpr std::string_view kExtra = "impersonate-extra-";
constexpr std::string_view kAccount = "system:serviceaccount:";

ApiStatus check(const Rbac& rbac, const serve::User& user, const std::string& group, const std::string& resource,
                const std::string& subresource, const std::string& ns, const std::string& name) {
  serve::Attributes what;
  what.resource_request = true;
  what.verb = "impersonate";
  what.group = group;
  what.version = "v1";
  what.resource = resource;
  what.subresource = subresource;
  what.ns = ns;
  what.name = name;
  const auto decision = rbac.authorize(user, what);
  if (decision.allowed) return {};
  Kind kind;
  kind.group = group;
  kind.plural = resource;
  return forbidden(kind, name, denial(user, what, decision.reason));
}

}  // namespace

ApiResult<serve::User> impersonate(const Rbac& rbac, const serve::User& user, const serve::HttpRequest& request) {
  const std::string name(request.header("impersonate-user"));
  const auto groups = request.all("impersonate-group");
  const std::string uid(request.header("impersonate-uid"));
  std::map<std::string, std::vector<std::string>> extra;
  for (const auto& [key, value] : request.headers) {
    if (key.starts_with(kExtra))
      extra[serve::percent_decode(std::string_view(key).substr(kExtra.size()), false)].push_back(value);
  }
  if (name.empty()) {
    if (groups.empty() && uid.empty() && extra.empty()) return user;
    // What was asked for, as Go prints references to objects.
    std::string asked;
    const auto add = [&asked](const std::string& one) { asked += (asked.empty() ? "{" : " {") + one + "}"; };
    for (const auto& group : groups) add("Group  " + group + "    ");
    for (const auto& [key, values] : extra) {
      for (const auto& value : values) add("UserExtra  " + value + "  authentication.k8s.io/v1  " + key);
    }
    if (!uid.empty()) add("UID  " + uid + "  authentication.k8s.io/v1  ");
    return bad_request("requested [" + asked + "] without impersonating a user");
  }
  serve::User out;
  out.name = name;
  out.uid = uid;
  out.groups = groups;
  out.extra = extra;
  const auto account = name.starts_with(kAccount) ? name.substr(kAccount.size()) : std::string();
  if (const auto colon = account.find(':'); colon != std::string::npos) {
    FLEETADM_CHECK(check(rbac, user, "", "serviceaccounts", "", account.substr(0, colon), account.substr(colon + 1)));
    if (groups.empty()) out.groups = service_account_groups(account.substr(0, colon));
  } else {
    FLEETADM_CHECK(check(rbac, user, "", "users", "", "", name));
  }
  for (const auto& group : groups) FLEETADM_CHECK(check(rbac, user, "", "groups", "", "", group));
  if (!uid.empty()) FLEETADM_CHECK(check(rbac, user, "authentication.k8s.io", "uids", "", "", uid));
  for (const auto& [key, values] : extra) {
    for (const auto& value : values) FLEETADM_CHECK(check(rbac, user, "authentication.k8s.io", "userextras", key, "", value));
  }
  if (name == "system:anonymous") {
    if (!out.in("system:unauthenticated")) out.groups.emplace_back("system:unauthenticated");
  } else if (!out.in("system:authenticated") && !out.in("system:unauthenticated")) {
    out.groups.emplace_back("system:authenticated");
  }
  return out;
}

}  // namespace fleetadm::sandbox
