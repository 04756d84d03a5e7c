// Something like upstream's cluster-proxy in this process, in front of one API server: a user server, which takes "/NAME" off the
// paths, and a front end of konnectivity, behind which a member has a certificate of its own. Both keep what they were told.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/api/cluster_proxy.h"
#include "core/api/kinds.h"
#include "core/proxy/hop/error_answer.h"
#include "core/proxy/hop/headers.h"
#include "core/proxy/hop/http1_hop.h"
#include "core/proxy/konnectivity/front_port.h"
#include "core/serve/http/server.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"
#include "tests/support/fake_api.h"

namespace fleetadm::testkit {

class UpstreamLab {
 public:
  struct Options {
    std::string member_name = "kubernetes.default.svc";  // that the certificate of the member's API server is valid for
    std::string ns = "the-proxy";                        // of the Services and Secrets
    int front_port = 0;                                  // where the front end listens; 0: a free one
  };
  explicit UpstreamLab(const kube::RestConfig& api_server) : UpstreamLab(api_server, Options()) {}
  UpstreamLab(const kube::RestConfig& api_server, Options with) : with_(std::move(with)) {
    proxy::Http1HopOptions to;
    to.server = api_server.server;
    to.ca = api_server.ca_data;
    to.credentials = api_server.credentials;
    hop_ = *proxy::Http1Hop::make(runtime_.executor(), std::move(to));
    member_ = listen(leaf(member_ca_, with_.member_name), [this](serve::HttpRequest request, const serve::Reply& reply) {
      answer("member", std::move(request), reply);
    });
    user_server_ = listen(
        leaf(proxy_ca_, "cluster-proxy-addon-user." + ns() + ".svc"),
        [this](serve::HttpRequest request, const serve::Reply& reply) { answer("user-server", std::move(request), reply); });
    front_end_ = listen(
        leaf(proxy_ca_, "proxy-entrypoint." + ns() + ".svc"),
        [this](serve::HttpRequest request, const serve::Reply& reply) {
          konnectivity::handle_front_request(front_options(), std::move(request), reply);
        },
        with_.front_port);
  }
  ~UpstreamLab() {
    front_end_.reset();
    user_server_.reset();
    member_.reset();
    runtime_.on_io_thread([this] {
      hop_->close();
      hop_.reset();
    });
    runtime_.stop();
  }
  UpstreamLab(const UpstreamLab&) = delete;
  UpstreamLab& operator=(const UpstreamLab&) = delete;

  const std::string& ns() const { return with_.ns; }
  const std::string& member_ca() const { return member_ca_.certificate; }
  /// As if no agent of any cluster were connected.
  void lose_agents() { agents_ = false; }

  /// What upstream's manager and chart have put on a hub, with addresses that lead here.
  void publish(FakeApi& hub, bool with_user_server) const {
    hub.put(api::managed_proxy_configurations(), {{"metadata", {{"name", std::string(api::kProxyConfigurationName)}}},
                                                  {"spec", {{"proxyServer", {{"namespace", ns()}}}}}});
    put_secret(hub, std::string(api::kProxyServerCaSecret), {{"ca.crt", proxy_ca_.certificate}});
    pki::LeafOptions options;
    options.subject.common_name = "proxy-client";
    options.client = true;
    const pki::KeyPair client = *pki::issue(proxy_ca_, options);
    put_secret(hub, std::string(api::kProxyClientSecret), {{"tls.crt", client.certificate}, {"tls.key", client.key}});
    put_service(hub, std::string(api::kProxyEntrypointService), api::kFrontPort, front_end_->port());
    if (with_user_server) put_service(hub, std::string(api::kUserServerService), api::kUserServerPort, user_server_->port());
  }

  /// What a request brought, and to whom.
  struct Seen {
    std::string at;  // user-server, member
    std::string path;
    std::string authorization;
    bool impersonates = false;
  };
  std::vector<Seen> seen() const {
    const std::scoped_lock lock(mutex_);
    return seen_;
  }
  /// The targets that the front end was asked for.
  std::vector<std::string> dialed() const {
    const std::scoped_lock lock(mutex_);
    return dialed_;
  }

 private:
  static pki::KeyPair leaf(const pki::KeyPair& ca, const std::string& name) {
    pki::LeafOptions options;
    options.dns_names = {name};
    options.server = true;
    return *pki::issue(ca, options);
  }
  void put_secret(FakeApi& hub, const std::string& name, const std::map<std::string, std::string>& values) const {
    Json data = Json::object();
    for (const auto& [key, value] : values) data[key] = base64_encode(value);
    hub.put(kube::resources::secrets(), {{"metadata", {{"name", name}, {"namespace", ns()}}}, {"data", data}});
  }
  void put_service(FakeApi& hub, const std::string& name, int port, int real) const {
    hub.put(kube::resources::services(), {{"metadata", {{"name", name}, {"namespace", ns()}}},
                                          {"spec",
                                           {{"type", "ExternalName"},
                                            {"externalName", "127.0.0.1"},
                                            {"ports", Json::array({{{"port", real}, {"targetPort", port}}})}}}});
  }

  std::unique_ptr<serve::HttpListener> listen(const pki::KeyPair& certificate, serve::HttpHandler handler, int port = 0) {
    serve::ListenOptions options;
    options.port = port;
    options.certificate = certificate;
    options.client_ca = proxy_ca_.certificate;
    options.streams_body = [](const serve::HttpRequest&) { return true; };
    return std::move(*serve::HttpListener::start_direct(runtime_, options, std::move(handler)));
  }
  konnectivity::FrontPortOptions front_options() {
    konnectivity::FrontPortOptions options;
    options.admits = [](const serve::HttpRequest& request) -> Status {
      if (request.peer->certificate == serve::Peer::Certificate::kValid) return {};
      return fail(Category::kAuth, "it shows no certificate");
    };
    options.dial = [this](const std::string& target, std::function<void(Result<boost::asio::ip::tcp::socket>)> done) {
      dial(target, std::move(done));
    };
    return options;
  }
  void dial(const std::string& target, std::function<void(Result<boost::asio::ip::tcp::socket>)> done) {
    {
      const std::scoped_lock lock(mutex_);
      dialed_.push_back(target);
    }
    using Tcp = boost::asio::ip::tcp;
    const auto socket = std::make_shared<Tcp::socket>(runtime_.executor());
    const auto port = static_cast<std::uint16_t>(agents_ ? member_->port() : 0);
    socket->async_connect({boost::asio::ip::address_v4::loopback(), port},
                          [this, socket, done = std::move(done)](const boost::system::error_code& error) {
                            if (!agents_) return done(fail(Category::kUnavailable, "No agent available"));
                            if (error) return done(fail(Category::kUnavailable, error.message()));
                            done(std::move(*socket));
                          });
  }
  void answer(const std::string& at, serve::HttpRequest request, const serve::Reply& reply) {
    {
      const std::scoped_lock lock(mutex_);
      seen_.push_back(
          {at, request.path, std::string(request.header("authorization")), !request.header("impersonate-user").empty()});
    }
    if (at == "user-server") {
      if (!agents_) return reply(serve::answer_text(502, "proxy to anp-proxy-server failed because No agent available"));
      request.path.erase(0, request.path.find('/', 1));
    }
    proxy::drop_identity_headers(request.headers);
    hop_->send(std::move(request), [reply](Result<serve::HttpResponse> answer) {
      reply(answer ? std::move(*answer) : proxy::error_answer(answer.error()));
    });
  }

  const Options with_;
  pki::KeyPair proxy_ca_ = *pki::make_ca("proxy", std::chrono::hours(1));
  pki::KeyPair member_ca_ = *pki::make_ca("member", std::chrono::hours(1));
  std::atomic<bool> agents_{true};
  mutable std::mutex mutex_;
  std::vector<Seen> seen_;
  std::vector<std::string> dialed_;
  serve::HttpRuntime runtime_{0};
  std::shared_ptr<proxy::Http1Hop> hop_;
  std::unique_ptr<serve::HttpListener> member_;
  std::unique_ptr<serve::HttpListener> user_server_;
  std::unique_ptr<serve::HttpListener> front_end_;
};

}  // namespace fleetadm::testkit
