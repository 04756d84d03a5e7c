#include "core/gateway/konnectivity.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "core/api/cluster_proxy.h"
#include "core/api/kinds.h"
#include "core/gateway/tunnel_signing.h"
#include "core/proxy/konnectivity/front_port.h"
#include "core/serve/http/listen_address.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/host_port.h"
#include "kubeclient/base/log.h"

namespace fleetadm::gateway {
namespace {

constexpr const char* kKonnectivityLog = "konnectivity";
constexpr std::chrono::hours kIdleTunnel{24};  // konnectivity's own peers say nothing for an hour

void keep_issued(Json& request) {
  Json kept{{"metadata", {{"name", name_of(request)}, {"resourceVersion", resource_version_of(request)}}}};
  kept["spec"] = Json::object();
  for (const char* member : {"signerName", "username", "groups"}) {
    if (const Json* value = find(request, {"spec", member})) kept["spec"][member] = *value;
  }
  if (const Json* conditions = find(request, {"status", "conditions"})) kept["status"]["conditions"] = *conditions;
  if (std::string certificate = str(request, {"status", "certificate"}); !certificate.empty())
    kept["status"]["certificate"] = std::move(certificate);
  request = std::move(kept);
}

Result<std::string> secret_text(const kube::Client& hub, const std::string& ns, const std::string& name, const char* key) {
  FLEETADM_TRY(const auto secret, hub.find(kube::resources::secrets(), ns, name));
  auto text = secret ? base64_decode(str(*secret, {"data", key})) : std::string();
  if (!text || text->empty()) return fail(Category::kNotFound, "there is no Secret " + ns + "/" + name + " with " + key);
  return std::move(*text);
}

Result<pki::KeyPair> secret_pair(const kube::Client& hub, const std::string& ns, const std::string& name,
                                 const std::string& kind = "tls") {
  pki::KeyPair pair;
  FLEETADM_TRY(pair.certificate, secret_text(hub, ns, name, (kind + ".crt").c_str()));
  FLEETADM_TRY(pair.key, secret_text(hub, ns, name, (kind + ".key").c_str()));
  return pair;
}

}  // namespace

Konnectivity::Konnectivity(controller::Manager& manager, serve::HttpRuntime& runtime, const kube::Client& hub,
                           KonnectivityOptions options)
    : runtime_(runtime), hub_(hub), options_(std::move(options)) {
  kube::InformerOptions watched;
  watched.field_selector = "spec.signerName=" + std::string(api::kProxyAgentSigner);
  watched.project = keep_issued;
  requests_ = manager.informer(hub, kube::resources::certificate_signing_requests(), std::move(watched));
  requests_->on_event([this](kube::EventType, const kube::CachedPtr&, const kube::CachedPtr& after) {
    const Json request = after ? after->decode() : Json();
    const auto issued = read_issued(request);
    if (issued) issued_.add(*issued);
    if (issued || awaits_tunnel_certificate(request)) options_.changed();
  });
  konnectivity::AgentPortOptions port;
  port.server_id = random_uuid();
  port.cluster_of = [this](const serve::HttpRequest& request) -> Result<std::string> {
    if (request.peer == nullptr || request.peer->certificate != serve::Peer::Certificate::kValid)
      return fail(Category::kAuth, "it shows no certificate of the add-on's CA");
    std::string cluster = issued_.cluster_of(request.peer->sha256, options_.clock->now());
    if (cluster.empty()) return fail(Category::kAuth, "its certificate was issued to no cluster that is known");
    if (!options_.accepts(cluster)) return fail(Category::kAuth, "the hub does not accept cluster \"" + cluster + "\"");
    return cluster;
  };
  port_ = std::make_shared<konnectivity::AgentPort>(runtime_.executor(), std::move(port));
}

Konnectivity::~Konnectivity() {
  clients_.reset();
  agents_.reset();
  runtime_.on_io_thread([this] { port_.reset(); });
}

void Konnectivity::pass(std::size_t replicas) {
  boost::asio::post(runtime_.executor(), [port = std::weak_ptr(port_), replicas] {
    if (const auto here = port.lock()) here->expect_servers(replicas);
  });
  const Status kept = keep();
  std::string problem = kept ? std::string() : kept.error().message;
  const std::lock_guard lock(mutex_);
  if (problem == problem_) return;
  if (!problem.empty()) log::warn(kKonnectivityLog, problem);
  problem_ = std::move(problem);
}

Result<Konnectivity::Material> Konnectivity::read() const {
  FLEETADM_TRY(const auto found, hub_.find(api::managed_proxy_configurations(), {}, api::kProxyConfigurationName));
  if (!found) return fail(Category::kNotFound, "the hub has no ManagedProxyConfiguration cluster-proxy");
  Material material;
  const api::ProxyServerSecrets& secrets = material.secrets = api::proxy_server_secrets(*found);
  FLEETADM_TRY(material.ca, secret_text(hub_, secrets.ns, secrets.ca, "ca.crt"));
  FLEETADM_TRY(material.front, secret_pair(hub_, secrets.ns, secrets.front));
  FLEETADM_TRY(material.agents, secret_pair(hub_, secrets.ns, secrets.agents));
  FLEETADM_TRY(const std::string client, secret_text(hub_, secrets.ns, secrets.client, "tls.crt"));
  material.client_sha256 = certificate_sha256(client);
  return material;
}

Status Konnectivity::keep() {
  FLEETADM_CHECK(remember());
  FLEETADM_TRY(const Material material, read());
  {
    const std::lock_guard lock(mutex_);
    client_sha256_ = material.client_sha256;
  }
  const std::string serving = material.ca + material.front.certificate + material.agents.certificate;
  if (clients_ && agents_ && serving == serving_) return sign(material.secrets);
  if (clients_ && agents_) {
    FLEETADM_CHECK(clients_->renew(material.front, material.ca));
    FLEETADM_CHECK(agents_->renew(material.agents, material.ca));
  } else {
    FLEETADM_TRY(agents_, listen(options_.agent_address, material.agents, material.ca,
                                 [port = port_](serve::HttpRequest request, const serve::Reply& reply) {
                                   port->handle(std::move(request), reply);
                                 }));
    FLEETADM_TRY(clients_, listen(options_.address, material.front, material.ca,
                                  [this](serve::HttpRequest request, const serve::Reply& reply) {
                                    serve_client(std::move(request), reply);
                                  }));
    log::info(0, kKonnectivityLog,
              "serving clients of cluster-proxy at " + clients_->endpoint() + " and its agents at " + agents_->endpoint());
  }
  serving_ = serving;
  return sign(material.secrets);
}

/// What cannot be signed is left alone, with a line in the log, and holds up nothing else.
Status Konnectivity::sign(const api::ProxyServerSecrets& secrets) {
  const auto& type = kube::resources::certificate_signing_requests();
  std::map<std::string, std::string> unsigned_now;
  std::optional<pki::KeyPair> ca;  // read where it is needed, and not kept
  for (const kube::CachedPtr& cached : requests_->list()) {
    const std::string name = cached->key();
    if (!awaits_tunnel_certificate(cached->decode())) continue;
    FLEETADM_TRY(auto request, hub_.find(type, {}, name));  // the cache may be behind
    if (!request || !awaits_tunnel_certificate(*request)) continue;
    if (!ca) {
      FLEETADM_TRY(ca, secret_pair(hub_, secrets.ns, secrets.signer, "ca"));
    }
    const auto certificate = options_.accepts(cluster_of_requester(*request))
                                 ? sign_tunnel_request(*request, *ca, options_.clock->now())
                                 : fail(Category::kAuth, "the hub does not accept the cluster of its requester");
    if (!certificate) {
      const std::string& why = unsigned_now[name] = certificate.error().message;
      if (const auto told = unsigned_.find(name); told == unsigned_.end() || told->second != why)
        log::warn(kKonnectivityLog, name + " is not signed: " + why);
      continue;
    }
    (*request)["status"]["certificate"] = base64_encode(*certificate);
    kube::WriteOptions options;
    options.subresource = "status";
    const auto stored = hub_.update(type, *request, options);
    if (!stored && stored.error().category == Category::kConflict) continue;  // another replica was faster
    if (!stored) return fail(stored.error().wrap(name + " cannot be signed"));
    log::info(1, kKonnectivityLog, name + ": signed");
  }
  unsigned_ = std::move(unsigned_now);
  return {};
}

Result<std::unique_ptr<serve::HttpListener>> Konnectivity::listen(const std::string& address, const pki::KeyPair& certificate,
                                                                  const std::string& ca, serve::HttpHandler handler) {
  FLEETADM_TRY(const serve::ListenAddress where, serve::parse_listen_address(address));
  serve::ListenOptions options;
  options.address = where.host;
  options.port = where.port;
  options.certificate = certificate;
  options.client_ca = ca;
  options.limits.idle = kIdleTunnel;
  options.streams_body = [](const serve::HttpRequest&) { return true; };
  return serve::HttpListener::start_direct(runtime_, options, std::move(handler));
}

/// The hub forgets requests after an hour, certificates last for months.
Status Konnectivity::remember() {
  const auto& type = kube::resources::config_maps();
  const std::string name(api::kTunnelCertificatesConfigMap);
  const Instant now = options_.clock->now();
  if (loaded_ && issued_.data(now) == remembered_) return {};
  FLEETADM_TRY(const auto found, hub_.find(type, options_.ns, name));
  if (found) issued_.load(*found);
  loaded_ = true;
  const auto wanted = issued_.data(now);
  if (!found) {
    if (wanted.empty()) return {};
    const Json made{{"apiVersion", type.api_version()},
                    {"kind", type.kind},
                    {"metadata", {{"name", name}, {"namespace", options_.ns}}},
                    {"data", wanted}};
    FLEETADM_CHECK(hub_.create(type, options_.ns, made));
  } else if (strings_at(*found, {"data"}) != wanted) {
    Json changed = *found;
    changed["data"] = wanted;
    const auto written = hub_.update(type, changed);
    if (!written && written.error().category == Category::kConflict) {  // another replica was faster: with what it wrote
      options_.changed();
      return {};
    }
    if (!written) return fail(written.error());
  }
  remembered_ = wanted;
  return {};
}

void Konnectivity::serve_client(serve::HttpRequest request, const serve::Reply& reply) {
  konnectivity::FrontPortOptions front;
  front.admits = [this](const serve::HttpRequest& asked) -> Status {
    const std::lock_guard lock(mutex_);
    const bool is_client = asked.peer && asked.peer->certificate == serve::Peer::Certificate::kValid && !client_sha256_.empty() &&
                           asked.peer->sha256 == client_sha256_;
    if (is_client) return {};
    return fail(Category::kAuth, "its certificate is not the one that the hub has for clients");
  };
  front.dial = [this](const std::string& target, konnectivity::AgentPort::Done done) { dial(target, std::move(done)); };
  konnectivity::handle_front_request(front, std::move(request), reply);
}

void Konnectivity::dial(const std::string& target, konnectivity::AgentPort::Done done) {
  const auto parts = split_host_port(target);
  const auto cluster = parts ? port_->cluster_of_host(parts->host) : std::nullopt;
  if (cluster && options_.accepts(*cluster)) return port_->dial(*cluster, target, std::move(done));
  boost::asio::post(runtime_.executor(), [done = std::move(done)] { done(fail(Category::kUnavailable, "No agent available")); });
}

void Konnectivity::lose(const std::string& cluster) {
  boost::asio::post(runtime_.executor(), [port = std::weak_ptr(port_), cluster] {
    if (const auto here = port.lock()) here->cut(cluster);
  });
}

/// Not of agents: those of konnectivity's leave at once when they are told to, with all that they carry.
void Konnectivity::drain() {
  if (clients_) clients_->drain();
}

Json Konnectivity::describe() const {
  const std::lock_guard lock(mutex_);
  return {{"problem", problem_}};
}

}  // namespace fleetadm::gateway
