#include "tests/kubectl/kubelet.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

namespace fleetadm::kubectl {
namespace {

struct KubeletCall {
  std::string subresource;  // as the API names it
  std::string ns;
  std::string pod;
  std::string container;  // empty of port-forwards
};

/// "/exec/NAMESPACE/POD/CONTAINER"
std::optional<KubeletCall> read_kubelet_call(const std::string& path) {
  static const std::map<std::string, std::string> kNames = {
      {"containerLogs", "log"}, {"exec", "exec"}, {"attach", "attach"}, {"portForward", "portforward"}};
  std::vector<std::string> parts;
  std::istringstream in(path);
  for (std::string part; std::getline(in, part, '/');) parts.push_back(part);
  const auto known = parts.size() < 4 ? kNames.end() : kNames.find(parts[1]);
  if (known == kNames.end()) return std::nullopt;
  return KubeletCall{known->second, parts[2], parts[3], parts.size() > 4 ? parts[4] : std::string()};
}

/// Of "input=1&output=1": as the API calls them.
std::string query_of_api(const std::string& query, const std::string& container) {
  static const std::map<std::string, std::string> kNames = {
      {"input", "stdin"}, {"output", "stdout"}, {"error", "stderr"}, {"port", "ports"}};
  std::string out = container.empty() ? std::string() : "container=" + container;
  std::istringstream in(query);
  for (std::string pair; std::getline(in, pair, '&');) {
    const auto end = std::min(pair.find('='), pair.size());
    if (const auto other = kNames.find(pair.substr(0, end)); other != kNames.end()) pair = other->second + pair.substr(end);
    out += (out.empty() ? "" : "&") + pair;
  }
  return out;
}

serve::HttpResponse in_plain_words(int status, const std::string& words) {
  serve::HttpResponse response;
  response.status = status;
  response.headers.emplace_back("content-type", "text/plain");
  response.body = words;
  return response;
}

std::shared_ptr<const serve::Peer> kubelet_administrator() {
  auto peer = std::make_shared<serve::Peer>();
  peer->certificate = serve::Peer::Certificate::kValid;
  peer->common_name = "kube-apiserver";
  peer->organizations = {"system:masters"};
  return peer;
}

}  // namespace

std::vector<std::string> Kubelet::apiserver_flags(int port) {
  return {"--kubelet-port=" + std::to_string(port), "--kubelet-preferred-address-types=InternalIP"};
}

Result<std::unique_ptr<Kubelet>> Kubelet::start(const testkit::KubeServer& server,
                                                std::shared_ptr<const sandbox::ContainerTable> containers, int port) {
  std::unique_ptr<Kubelet> kubelet(new Kubelet(server, std::move(containers)));
  pki::LeafOptions leaf;
  leaf.subject.common_name = "system:node:node";
  leaf.ip_addresses = {"127.0.0.1"};
  leaf.server = true;
  serve::ListenOptions listen;
  listen.port = port;
  FLEETADM_TRY(listen.certificate, pki::issue(server.ca(), leaf));
  listen.client_ca = server.ca().certificate;
  FLEETADM_TRY(kubelet->listener_,
               serve::HttpListener::start(kubelet->runtime_, listen, [raw = kubelet.get()](const serve::HttpRequest& request) {
                 return raw->answer(request);
               }));
  return kubelet;
}

Kubelet::~Kubelet() {
  listener_.reset();
  runtime_.stop();
}

Result<sandbox::ApiServer*> Kubelet::server_of(const Json& pod) {
  sandbox::ApiOptions options;
  FLEETADM_TRY(options.token_key, pki::generate_key());
  options.containers = containers_;
  FLEETADM_TRY(auto server, sandbox::ApiServer::open(std::move(options)));
  auto& engine = server->engine();
  sandbox::WriteOptions by;
  by.internal = true;
  const Json ns = {{"metadata", {{"name", namespace_of(pod)}}}};
  const auto namespaces = engine.kinds().find("", "v1", "namespaces");
  static_cast<void>(engine.create(*namespaces, "", ns, by));  // "default" is there
  const auto taken = engine.import_object(*engine.kinds().find("", "v1", "pods"), pod, by);
  if (!taken) return fail(Category::kInternal, taken.error().message);
  const std::lock_guard lock(mutex_);
  servers_.push_back(std::move(server));
  return servers_.back().get();
}

serve::HttpResponse Kubelet::answer(const serve::HttpRequest& request) {
  const auto call = read_kubelet_call(request.path);
  if (!call) return in_plain_words(404, "404 page not found\n");
  const auto path = "/api/v1/namespaces/" + call->ns + "/pods/" + call->pod;
  const Json pod = server_.get(path);
  if (str(pod, {"kind"}) != "Pod") return in_plain_words(404, "pod does not exist");
  const auto server = server_of(pod);
  if (!server) return in_plain_words(500, server.error().message);
  auto inner = request;
  inner.path = path + "/" + call->subresource;
  inner.query = query_of_api(request.query, call->container);
  inner.peer = kubelet_administrator();
  auto response = (*server)->handle(inner);
  if (response.status < 400) return response;
  const auto body = parse_json(response.body);
  return in_plain_words(response.status, body ? str(*body, {"message"}) : response.body);
}

}  // namespace fleetadm::kubectl
