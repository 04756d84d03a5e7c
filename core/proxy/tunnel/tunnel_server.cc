#include "core/proxy/tunnel/tunnel_server.h"

#include <chrono>
#include <memory>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <thread>
#include <utility>

#include "core/api/agent_identity.h"
#include "core/proxy/tunnel/tunnel_session.h"
#include "core/serve/http/tls_stream.h"
#include "kubeclient/base/log.h"
#include "kubeclient/pki/openssl.h"

namespace fleetadm::proxy {
namespace {

constexpr auto kYear = std::chrono::hours(24 * 365);  // pings say when an idle tunnel is over
constexpr auto kLook = std::chrono::milliseconds(20);

using Wall = std::function<std::time_t()>;

/// 0: it cannot be read.
std::time_t time_of(const ASN1_TIME* time) {
  std::tm at{};
  return ASN1_TIME_to_tm(time, &at) == 1 ? ::timegm(&at) : 0;
}

/// Valid but for a clock here that is behind the signer's. All of it is checked again, as of when it begins to be.
bool is_valid_soon(SSL* ssl, std::time_t now) {
  X509* certificate = SSL_get0_peer_certificate(ssl);
  const std::time_t begins = time_of(X509_get0_notBefore(certificate));
  const auto apart = std::chrono::duration_cast<std::chrono::seconds>(pki::kClocksApart);
  if (SSL_get_verify_result(ssl) != X509_V_ERR_CERT_NOT_YET_VALID || begins > now + apart.count()) return false;
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> context(X509_STORE_CTX_new(), &X509_STORE_CTX_free);
  X509_STORE* store = SSL_CTX_get_cert_store(SSL_get_SSL_CTX(ssl));
  if (!context || X509_STORE_CTX_init(context.get(), store, certificate, SSL_get_peer_cert_chain(ssl)) != 1 ||
      X509_STORE_CTX_set_default(context.get(), "ssl_client") != 1)
    return false;
  X509_STORE_CTX_set_time(context.get(), 0, begins);
  return X509_verify_cert(context.get()) == 1;
}

struct Agent {
  api::AgentIdentity identity;
  std::time_t until = 0;  // its certificate is valid
};

/// Who is at the other end: nothing but what its certificate says, and that to the letter.
Result<Agent> agent_of(const serve::ProtocolHost& host, const serve::SocketStream& stream, std::time_t now) {
  const auto* tls = stream.tls();
  X509* certificate = tls == nullptr ? nullptr : SSL_get0_peer_certificate(tls->ssl());
  if (certificate == nullptr) return fail(Category::kAuth, "it shows no client certificate");
  if (host.peer->certificate != serve::Peer::Certificate::kValid && !is_valid_soon(tls->ssl(), now)) {
    return fail(Category::kAuth, std::string("its client certificate is not valid: ") +
                                     X509_verify_cert_error_string(SSL_get_verify_result(tls->ssl())));
  }
  // Without the extension, a certificate would be one for everything.
  if ((X509_get_extension_flags(certificate) & EXFLAG_XKUSAGE) == 0 ||
      (X509_get_extended_key_usage(certificate) & XKU_SSL_CLIENT) == 0) {
    return fail(Category::kAuth, "its certificate is not for clients");
  }
  bool other = false;
  const pki::Subject subject = pki::read_name(*X509_get_subject_name(certificate), &other);
  if (other) return fail(Category::kAuth, "the subject of its certificate has more than a common name and organizations");
  Agent out;
  FLEETADM_TRY(out.identity, api::read_agent_identity(subject));
  out.until = time_of(X509_get0_notAfter(certificate));
  if (!stream.http2()) return fail(Category::kInvalid, "it does not speak HTTP/2");
  return out;
}

}  // namespace

Result<std::unique_ptr<TunnelServer>> TunnelServer::start(serve::HttpRuntime& runtime, const TunnelServerOptions& options,
                                                          std::shared_ptr<TunnelRegistry> registry) {
  serve::ListenOptions listen;
  listen.address = options.address;
  listen.port = options.port;
  listen.certificate = options.certificate;
  listen.client_ca = options.client_ca;
  listen.only_tls13 = true;
  listen.limits.connections = options.connections;
  listen.limits.idle = kYear;
  listen.now = options.now;
  const Wall now = options.now ? options.now : Wall([] { return std::time(nullptr); });
  auto make = [registry, now, limits = options.limits](serve::ProtocolHost host,
                                                       const serve::SocketStream& stream) -> std::shared_ptr<serve::Protocol> {
    auto agent = agent_of(host, stream, now());
    if (!agent) {
      log::warn("tunnel", "connection refused: " + agent.error().message);
      return nullptr;
    }
    const std::string cluster = agent->identity.cluster;
    TunnelSessionOptions made;
    made.identity = std::move(agent->identity);
    made.since = Clock::system()->now();
    made.limits = limits;
    made.expired = [until = agent->until, now] { return now() >= until; };
    made.elsewhere = [registry, cluster] { return registry->find(cluster); };
    made.gone = [registry](const Tunnel* tunnel) { registry->remove(tunnel); };
    auto session = std::make_shared<TunnelSession>(std::move(host), std::move(made));
    registry->add(session);
    return session;
  };
  std::unique_ptr<TunnelServer> server(new TunnelServer(registry));
  FLEETADM_TRY(server->listener_, serve::HttpListener::start_protocol(runtime, listen, std::move(make)));
  return server;
}

TunnelServer::~TunnelServer() = default;

int TunnelServer::port() const { return listener_->port(); }

std::string TunnelServer::endpoint() const { return listener_->endpoint(); }

Status TunnelServer::renew(const pki::KeyPair& certificate, const std::string& client_ca) {
  return listener_->renew(certificate, client_ca);
}

void TunnelServer::drain() { listener_->drain(); }

bool TunnelServer::wait_drained(std::chrono::milliseconds patience) const {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (listener_->connections() > 0) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

}  // namespace fleetadm::proxy
