#include "core/registration/join/hosted_token.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "core/api/kinds.h"
#include "core/registration/join/member_token.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;

// A server's controllers take some milliseconds to fill roles in; caches of its replicas, up to seconds.
constexpr auto kFirstPause = std::chrono::milliseconds(10);
constexpr auto kLongestPause = std::chrono::milliseconds(500);
constexpr auto kLookFor = std::chrono::seconds(10);
constexpr std::string_view kServiceAccountUser = "system:serviceaccount:";

Json document_of(const MemberWay& way, const std::string& token) {
  Json kubeconfig = kube::make_kubeconfig(way.server, way.ca_pem, Json{{"token", token}}, "member");
  Json& cluster = kubeconfig["clusters"][0]["cluster"];
  if (!way.tls_server_name.empty()) cluster["tls-server-name"] = way.tls_server_name;
  if (!way.proxy_url.empty()) cluster["proxy-url"] = way.proxy_url;
  return kubeconfig;
}

void pause(const std::stop_token& stop, Duration length) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_for(lock, stop, length, [] { return false; });
}

/// What a server asks for when somebody acts as `user`.
Json right_to_act_as(const std::string& user) {
  Json right{{"verb", "impersonate"}, {"group", ""}};
  const auto name = user.rfind(':');
  if (user.starts_with(kServiceAccountUser)) {
    right["resource"] = "serviceaccounts";
    right["namespace"] = user.substr(kServiceAccountUser.size(), name - kServiceAccountUser.size());
    right["name"] = user.substr(name + 1);
  } else {
    right["resource"] = "users";
    right["name"] = user;
  }
  return right;
}

Result<bool> may(const kube::Client& client, const Json& right) {
  const Json review{
      {"apiVersion", "authorization.k8s.io/v1"}, {"kind", "SelfSubjectAccessReview"}, {"spec", {{"resourceAttributes", right}}}};
  FLEETADM_TRY(const Json answer, client.post(r::self_subject_access_reviews().path(""), review, true));
  return flag(answer, {"status", "allowed"});
}

}  // namespace

kube::RestConfig member_config(const MemberWay& way, std::string name, const std::string& token) {
  kube::RestConfig config;
  config.server = way.server;
  config.ca_data = way.ca_pem;
  config.tls_server_name = way.tls_server_name;
  config.proxy_url = way.proxy_url;
  config.name = std::move(name);
  if (!token.empty()) config.credentials = kube::static_credentials({.token = token});
  return config;
}

std::string member_kubeconfig(const MemberWay& way, const std::string& token) { return dump_yaml(document_of(way, token)); }

std::string token_to_keep(const std::string& kubeconfig, const MemberWay& way, Instant now) {
  const auto stored = parse_yaml(kubeconfig);
  if (!stored || list_at(*stored, {"users"}).empty()) return {};
  std::string token = str(list_at(*stored, {"users"}).front(), {"user", "token"});
  const auto due = renew_token_at(token);
  if (!due || now >= *due) return {};
  return *stored == document_of(way, token) ? token : std::string();
}

MemberAccount hosted_member_account() {
  return {std::string(api::kAgentNamespace), std::string(api::kAgentDeployment),
          std::string(kServiceAccountUser) + std::string(api::kAgentNamespace) + ":fleetadm-agent-work"};
}

Result<std::string> new_member_token(const kube::Client& member, const MemberAccount& account, Duration lifetime) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(lifetime).count();
  const Json request{
      {"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", {{"expirationSeconds", seconds}}}};
  const std::string path = r::service_accounts().path(account.ns, account.name, "token");
  const auto answer = member.post(path, request, false);
  if (!answer) return fail(answer.error().wrap("cannot get a token of the agent's account on the member"));
  std::string token = str(*answer, {"status", "token"});
  if (token.empty()) return fail(Category::kInternal, "the member answered a TokenRequest without a token");
  return token;
}

Status check_member_token(const kube::Client& as_agent, const MemberAccount& account, std::stop_token stop) {
  const Json everything{{"verb", "*"}, {"group", "*"}, {"resource", "*"}};
  const auto may_all =
      wait_for_rights(as_agent, {account.acts_as.empty() ? everything : right_to_act_as(account.acts_as)}, std::move(stop));
  if (!may_all) return fail(may_all.error().wrap("the member does not take the agent's token"));
  if (*may_all) return {};
  return fail(Category::kAuth, "the agent's account on the member may not do what the agent does",
              "see whether something removes its roles (namespace " + account.ns + "), and run the command again");
}

Result<bool> wait_for_rights(const kube::Client& client, const std::vector<Json>& rights, const std::stop_token& stop) {
  const auto until = std::chrono::steady_clock::now() + kLookFor;
  Duration wait = kFirstPause;
  for (auto right = rights.begin(); right != rights.end();) {
    FLEETADM_TRY(const bool allowed, may(client, *right));
    if (allowed) {
      ++right;
      continue;
    }
    if (stop.stop_requested() || std::chrono::steady_clock::now() >= until) return false;
    pause(stop, wait);
    wait = std::min<Duration>(2 * wait, kLongestPause);
  }
  return true;
}

}  // namespace fleetadm::join
