// What a gateway reads of clients before it knows them: paths, headers, credentials; and the lists and kubeconfigs that people
// write.
#include <algorithm>
#include <variant>

#include "core/proxy/gateway/credentials.h"
#include "core/proxy/rules/caller.h"
#include "core/proxy/rules/exposed_services.h"
#include "core/proxy/rules/routes.h"
#include "kubeclient/base/names.h"
#include "kubeclient/config/kubeconfig.h"
#include "tests/fuzz/targets.h"

namespace fleetadm::fuzz {
namespace {

tl::unexpected<Error> broken_promise(std::string what) { return fail(Category::kInternal, "broken promise: " + std::move(what)); }

std::string_view cut_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const auto line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string few(std::size_t count) { return std::to_string(std::min<std::size_t>(count, 3)); }

// --- a request target: "path?query" --------------------------------------------------------------------------------------------

Result<std::string> run_route(std::string_view input) {
  const auto mark = std::min(input.find('?'), input.size());
  const auto path = input.substr(0, mark);
  const auto query = input.substr(std::min(mark + 1, input.size()));
  const auto route = proxy::parse_route(path, query);
  if (!route) {
    if (route.error().code != 400 && route.error().code != 404) return broken_promise("another refusal than 400 and 404");
    return std::to_string(route.error().code) + " " + shape_of(route.error().message);
  }
  if (!is_dns_subdomain(route->cluster)) return broken_promise("a cluster that is no name");
  if (!route->path.starts_with('/') || route->path.starts_with("//")) return broken_promise("a path that is none");
  const bool prefixed = path.find("/" + route->cluster) != std::string_view::npos;
  if (!prefixed) return broken_promise("a cluster that the path does not name");
  if (!route->service && route->path != "/" && !path.ends_with(route->path)) return broken_promise("another path");
  for (const char c : route->path) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == '#') return broken_promise("a path with controls");
  }
  if (("/" + route->path + "/").find("/../") != std::string::npos) return broken_promise("a way up");
  if (route->service) {
    const auto& service = *route->service;
    if (!is_dns_label(service.ns) || !is_dns_label(service.name) || service.port.empty()) return broken_promise("no service");
    if (route->path.find("/proxy-service/") == 0) return broken_promise("the service form is left in the path");
  }
  return "form " + std::to_string(static_cast<int>(route->form)) +
         (route->service ? " service " + route->service->protocol : "") + " " +
         few(static_cast<std::size_t>(std::ranges::count(route->path, '/'))) +
         (route->path.find('%') == std::string::npos ? "" : " escaped") + (query.empty() ? "" : " query");
}

// --- headers of a client, and who it then is: "name: value" lines; lines "user: …" and "group: …" are what the hub says of it --

Result<std::string> run_caller(std::string_view input) {
  serve::HttpRequest request;
  proxy::Caller on_hub;
  while (!input.empty()) {
    const auto line = cut_line(input);
    const auto colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    const auto name = line.substr(0, colon);
    const auto value = line.substr(colon + 2);
    if (name == "user") {
      on_hub.name = value;
    } else if (name == "group") {
      on_hub.groups.emplace_back(value);
    } else if (name == "certificate") {
      auto peer = std::make_shared<serve::Peer>();
      peer->common_name = value;
      peer->certificate = value == "invalid" ? serve::Peer::Certificate::kInvalid : serve::Peer::Certificate::kValid;
      request.peer = std::move(peer);
    } else {
      request.headers.emplace_back(name, value);
    }
  }
  const auto credentials = proxy::take_credentials(request);
  std::string out;
  if (credentials) {
    if ((credentials->certificate != nullptr) == !credentials->token.empty()) return broken_promise("nobody, or two");
    if (!credentials->member_token.empty() && credentials->member_token == credentials->token)
      return broken_promise("the hub's token for the member");
    if (!request.header("authorization").empty() || !request.header("fleetadm-member-token").empty())
      return broken_promise("a credential that goes on");
    for (const auto& [name, value] : request.headers) {
      if (name == "sec-websocket-protocol" && value.find("base64url.bearer.authorization.k8s.io.") != std::string::npos)
        return broken_promise("a token among the subprotocols");
    }
    out = credentials->certificate ? "certificate" : "token";
    out += credentials->member_token.empty() ? "" : " member";
  } else {
    if (credentials.error().code != 400 && credentials.error().code != 401) return broken_promise("another refusal");
    out = shape_of(credentials.error().message);
  }
  const auto at_member = proxy::caller_at_member(on_hub);
  if (!at_member) return out + " / " + shape_of(at_member.error().message);
  if (!proxy::check_caller(*at_member)) return broken_promise("the agent would refuse whom the gateway sends");
  for (const auto& group : at_member->groups) {
    if (group.starts_with("system:")) return broken_promise("a reserved group");
  }
  if (at_member->name.starts_with("system:")) return broken_promise("a reserved user");
  serve::Headers headers;
  proxy::write_actor(*at_member, headers);
  const auto back = proxy::read_actor(headers);
  if (!back || !std::holds_alternative<proxy::Caller>(*back)) return broken_promise("a caller who does not come back");
  const auto& same = std::get<proxy::Caller>(*back);
  if (same.name != at_member->name || same.groups != at_member->groups) return broken_promise("another caller");
  return out + " / " + (at_member->name == on_hub.name ? "same " : "prefixed ") + few(at_member->groups.size()) + " of " +
         few(on_hub.groups.size());
}

// --- a list of exposed services ------------------------------------------------------------------------------------------------

Result<std::string> run_exposed(std::string_view input) {
  const auto list = proxy::ExposedServices::parse({{"data", {{"list", std::string(input)}}}});
  if (!list) {
    if (list.error().message.find("list") == std::string::npos) return broken_promise("an error that does not name the key");
    return "error " + shape_of(list.error().message);
  }
  if (list->allows("c1", {"kube-system", "nothing-of-the-kind", "https", "443"})) return broken_promise("what nobody listed");
  const bool web = list->allows("c1", {"default", "web", "https", "443"});
  const bool elsewhere = list->allows("c2", {"default", "web", "https", "443"});
  return std::to_string(std::min<std::size_t>(list->size(), 5)) + (web ? " web" : "") + (elsewhere ? " everywhere" : "");
}

// --- a kubeconfig --------------------------------------------------------------------------------------------------------------

Result<std::string> run_kubeconfig(std::string_view input) {
  const auto config = kube::Kubeconfig::from_text(input);
  if (!config) {
    if (config.error().message.empty()) return broken_promise("an error that says nothing");
    return "unread " + shape_of(config.error().message);
  }
  kube::ConfigOverrides overrides;
  overrides.kubeconfig = "/nonexistent/kubeconfig";
  overrides.interactive = false;
  const auto resolved = config->resolve(overrides);
  if (!resolved) {
    if (resolved.error().message.empty()) return broken_promise("an error that says nothing");
    return "unresolved " + few(config->contexts().size()) + " " + shape_of(resolved.error().message);
  }
  if (resolved->server.empty()) return broken_promise("a connection to nowhere");
  return "resolved " + few(config->contexts().size()) + (resolved->ca_data.empty() ? "" : " ca") +
         (resolved->credentials ? " credentials" : "");
}

const std::vector<std::string_view> kRouteWords = {"/clusters/",
                                                   "/proxy",
                                                   "/apis/cluster.core.oam.dev/v1alpha1/clustergateways/",
                                                   "/apis/cluster.karmada.io/v1alpha1/clusters/",
                                                   "c1",
                                                   "/api/v1/namespaces/",
                                                   "/services/",
                                                   "https:web:443",
                                                   "http:web:80",
                                                   "web:https",
                                                   "/proxy-service/",
                                                   "..",
                                                   "%2e%2e",
                                                   "%2F",
                                                   "%2f",
                                                   "%3A",
                                                   "%00",
                                                   "%",
                                                   "//",
                                                   "?watch=true",
                                                   "#",
                                                   " ",
                                                   "\r\n"};
const std::vector<std::string_view> kCallerWords = {"user: ",
                                                    "group: ",
                                                    "certificate: jane\n",
                                                    "certificate: invalid\n",
                                                    "certificate: \n",
                                                    "authorization: Bearer t.t.t\n",
                                                    "authorization: bearer ",
                                                    "authorization: Basic x\n",
                                                    "fleetadm-member-token: m.m.m\n",
                                                    "fleetadm-member-token: t.t.t\n",
                                                    "sec-websocket-protocol: base64url.bearer.authorization.k8s.io.",
                                                    "dC50LnQ",
                                                    ", v5.channel.k8s.io\n",
                                                    "system:masters",
                                                    "system:serviceaccount:kube-system:default",
                                                    "system:serviceaccounts:kube-system",
                                                    "system:node:n1",
                                                    "cluster:hub:",
                                                    "system:authenticated",
                                                    " ",
                                                    "%20",
                                                    "\x7f",
                                                    "\xc3\xa9",
                                                    "\xff"};
const std::vector<std::string_view> kExposedWords = {"- namespace: default\n",
                                                     "  service: web\n",
                                                     "  port: 443\n",
                                                     "  port: https\n",
                                                     "  protocol: https\n",
                                                     "  protocol: tcp\n",
                                                     "  clusters: [c1]\n",
                                                     "  clusters: []\n",
                                                     "  clusters: c1\n",
                                                     "  other: field\n",
                                                     "- {namespace: default, service: web}\n",
                                                     "---\n",
                                                     "&a ",
                                                     "*a",
                                                     "!!binary ",
                                                     "null",
                                                     "[]",
                                                     "{}",
                                                     "\t",
                                                     "\"",
                                                     "*",
                                                     "\xff"};
const std::vector<std::string_view> kKubeconfigWords = {"apiVersion: v1\nkind: Config\n",
                                                        "current-context: a\n",
                                                        "contexts:\n- name: a\n  context: {cluster: c, user: u}\n",
                                                        "clusters:\n- name: c\n  cluster: {server: 'https://h:6443'}\n",
                                                        "users:\n- name: u\n  user: {token: s3cret}\n",
                                                        "server: ",
                                                        "https://127.0.0.1",
                                                        "http://[::1",
                                                        "insecure-skip-tls-verify: true",
                                                        "certificate-authority-data: ",
                                                        "certificate-authority: /nonexistent\n",
                                                        "client-certificate-data: s3cret",
                                                        "client-key-data: czNjcmV0",
                                                        "tls-server-name: x",
                                                        "proxy-url: ",
                                                        "username: u, password: s3cret",
                                                        "exec: {apiVersion: client.authentication.k8s.io/v1, command: s3cret}",
                                                        "exec: {}",
                                                        "auth-provider: {name: gcp}",
                                                        "tokenFile: /nonexistent",
                                                        "as: admin",
                                                        "extensions: []",
                                                        "- name: a\n",
                                                        "null",
                                                        "[]",
                                                        "{}"};

}  // namespace

std::vector<Target> gateway_targets() {
  return {{"route", 1'000, false, kRouteWords, run_route},
          {"caller", 2'000, false, kCallerWords, run_caller},
          {"exposed_services", 2'000, false, kExposedWords, run_exposed},
          {"kubeconfig", 4'000, false, kKubeconfigWords, run_kubeconfig}};
}

}  // namespace fleetadm::fuzz
