// Something like a gateway in this process, in front of one API server: it takes "/clusters/NAME/proxy" off the paths, keeps what
// it was told, and shows the API server a credential of its own.
#pragma once

#include <boost/asio/post.hpp>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/proxy/hop/error_answer.h"
#include "core/proxy/hop/headers.h"
#include "core/proxy/hop/http1_hop.h"
#include "core/serve/http/server.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::testkit {

class GatewayLab {
 public:
  explicit GatewayLab(const kube::RestConfig& api_server) {
    ca_ = *pki::make_ca("gateway lab", std::chrono::hours(1));
    pki::LeafOptions leaf;
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    serve::ListenOptions options;
    options.certificate = *pki::issue(ca_, leaf);
    options.client_ca = ca_.certificate;
    options.streams_body = [](const serve::HttpRequest&) { return true; };
    proxy::Http1HopOptions to;
    to.server = api_server.server;
    to.ca = api_server.ca_data;
    to.credentials = api_server.credentials;
    hop_ = *proxy::Http1Hop::make(runtime_.executor(), std::move(to));
    listener_ =
        std::move(*serve::HttpListener::start_direct(runtime_, options, [this](serve::HttpRequest request, serve::Reply reply) {
          answer(std::move(request), std::move(reply));
        }));
  }
  ~GatewayLab() {
    listener_.reset();
    std::promise<void> closed;
    boost::asio::post(runtime_.executor(), [&] {
      hop_->close();
      hop_.reset();
      closed.set_value();
    });
    closed.get_future().wait();
    runtime_.stop();
  }
  GatewayLab(const GatewayLab&) = delete;
  GatewayLab& operator=(const GatewayLab&) = delete;

  std::string server() const { return "https://" + listener_->endpoint(); }
  const std::string& ca() const { return ca_.certificate; }

  /// What a request brought, as the gateway saw it.
  struct Seen {
    std::string path;
    std::string authorization;
    std::string member_token;
    bool impersonates = false;
  };
  std::vector<Seen> seen() const {
    const std::scoped_lock lock(mutex_);
    return seen_;
  }

 private:
  void answer(serve::HttpRequest request, serve::Reply reply) {
    {
      const std::scoped_lock lock(mutex_);
      seen_.push_back({request.path, std::string(request.header("authorization")),
                       std::string(request.header("fleetadm-member-token")), !request.header("impersonate-user").empty()});
    }
    constexpr std::string_view kProxy = "/proxy";
    const std::size_t end = request.path.find(kProxy);
    if (!request.path.starts_with("/clusters/") || end == std::string::npos) return reply(serve::answer_text(404, "no cluster"));
    request.path.erase(0, end + kProxy.size());
    proxy::drop_identity_headers(request.headers);
    hop_->send(std::move(request), [reply = std::move(reply)](Result<serve::HttpResponse> answer) {
      reply(answer ? std::move(*answer) : proxy::error_answer(answer.error()));
    });
  }

  pki::KeyPair ca_;
  serve::HttpRuntime runtime_{0};
  std::shared_ptr<proxy::Http1Hop> hop_;
  std::unique_ptr<serve::HttpListener> listener_;
  mutable std::mutex mutex_;
  std::vector<Seen> seen_;
};

}  // namespace fleetadm::testkit
