#include "core/registration/join/hosted_token.h"

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

constexpr int kLooks = 10;
constexpr auto kBetweenLooks = std::chrono::milliseconds(500);

Json document_of(const MemberWay& way, const std::string& token) {
  Json kubeconfig = kube::make_kubeconfig(way.server, way.ca_pem, Json{{"token", token}}, "member");
  Json& cluster = kubeconfig["clusters"][0]["cluster"];
  if (!way.tls_server_name.empty()) cluster["tls-server-name"] = way.tls_server_name;
  if (!way.proxy_url.empty()) cluster["proxy-url"] = way.proxy_url;
  return kubeconfig;
}

void pause(std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_for(lock, stop, kBetweenLooks, [] { return false; });
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
  return {std::string(api::kAgentNamespace), std::string(api::kAgentDeployment), "fleetadm-agent-work"};
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
  Json needed{{"verb", "*"}, {"group", "*"}, {"resource", "*"}};
  if (!account.acts_as.empty()) {
    needed = {{"verb", "impersonate"},
              {"group", ""},
              {"resource", "serviceaccounts"},
              {"namespace", account.ns},
              {"name", account.acts_as}};
  }
  const Json review{{"apiVersion", "authorization.k8s.io/v1"},
                    {"kind", "SelfSubjectAccessReview"},
                    {"spec", {{"resourceAttributes", std::move(needed)}}}};
  for (int look = 1; look <= kLooks && !stop.stop_requested(); ++look) {
    const auto answer = as_agent.post(r::self_subject_access_reviews().path(""), review, true);
    if (!answer) return fail(answer.error().wrap("the member does not take the agent's token"));
    if (flag(*answer, {"status", "allowed"})) return {};
    if (look < kLooks) pause(stop);
  }
  return fail(Category::kAuth, "the agent's account on the member may not do what the agent does",
              "see whether something removes its Role (namespace " + account.ns +
                  "), and run the command "
                  "again");
}

}  // namespace fleetadm::join
