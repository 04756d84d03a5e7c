#include "core/sandbox/convert/webhook.h"

#include <optional>
#include <utility>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/host_port.h"
#include "kubeclient/config/rest_config.h"

namespace fleetadm::sandbox::convert {
namespace {

constexpr auto kWebhookTimeout = std::chrono::seconds(30);
constexpr std::size_t kMaxErrorText = 2048;

/// A failure to get any answer, as Go's HTTP client tells of it.
std::string transport_words(const Error& error, const std::string& authority) {
  const auto& reason = error.reason;
  const std::string untrusted = "tls: failed to verify certificate: x509: ";
  if (error.category == Category::kTimeout) return "context deadline exceeded";
  if (error.category == Category::kCancelled) return "context canceled";
  if (reason == "ConnectionRefused") return "dial tcp " + authority + ": connect: connection refused";
  if (reason == "DnsFailure") return "dial tcp: lookup " + authority.substr(0, authority.rfind(':')) + ": no such host";
  if (reason == "UnknownAuthority") return untrusted + "certificate signed by unknown authority";
  if (reason == "NameMismatch") return untrusted + "certificate is not valid for " + authority.substr(0, authority.rfind(':'));
  if (reason == "CertificateExpired" || reason == "CertificateNotYetValid")
    return untrusted + "certificate has expired or is not yet valid";
  return error.message;
}

/// A status that is no success, as client-go tells of it.
std::string status_words(int status, const std::string& content_type, const std::string& body) {
  if (const auto parsed = parse_json(body); parsed && str(*parsed, {"kind"}) == "Status") {
    if (auto message = str(*parsed, {"message"}); !message.empty()) return message.substr(0, kMaxErrorText);
  }
  const bool text = content_type.empty() || content_type.starts_with("text/");
  std::string said = text ? body.substr(0, kMaxErrorText) : std::string("unknown");
  while (!said.empty() && (said.back() == '\n' || said.back() == '\r' || said.back() == ' ')) said.pop_back();
  switch (status) {
    case 400: return "the server rejected our request for an unknown reason";
    case 401: return "the server has asked for the client to provide credentials";
    case 403:
    case 415: return said;
    case 404: return "the server could not find the requested resource";
    case 405: return "the server does not allow this method on the requested resource";
    case 409: return "the server reported a conflict";
    case 422: return "the server rejected our request due to an error in our request";
    case 429: return "the server has received too many requests and has asked us to try again later";
    case 503: return "the server is currently unable to handle the request";
    case 504: return "the server was unable to return a response in the time allotted, but may still be processing the request";
    default: break;
  }
  if (status >= 500) return "an error on the server (" + dump_json(Json(said)) + ") has prevented the request from succeeding";
  return "the server responded with the status code " + std::to_string(status) + " but did not return more information";
}

std::string authority_of(const std::string& url) {
  const auto begin = url.find("://") + 3;
  auto out = url.substr(begin, url.find('/', begin) - begin);
  const auto parts = split_host_port(out);
  return parts && parts->port.empty() ? join_host_port(parts->host, "443") : out;
}

/// Collects one answer and passes it on, once.
class WebhookAnswer final : public kube::StreamSink {
 public:
  WebhookAnswer(std::string url, std::size_t most, std::function<void(Webhook::Answer)> done)
      : url_(std::move(url)), most_(most), done_(std::move(done)) {}

  void on_response(int status, const std::map<std::string, std::string>& headers) override {
    status_ = status;
    if (const auto type = headers.find("content-type"); type != headers.end()) content_type_ = type->second;
  }
  void on_data(std::string_view chunk) override {
    if (!done_) return;
    if (body_.size() + chunk.size() > most_) {
      body_ = {};
      return finish(fail(Category::kUnavailable, "the response is longer than " + std::to_string(most_) + " bytes"));
    }
    body_ += chunk;
  }
  void on_end(std::optional<Error> error) override {
    if (!done_) return;
    if (error)
      return finish(fail(Category::kUnavailable, "Post \"" + url_ + "\": " + transport_words(*error, authority_of(url_))));
    if (status_ < 200 || status_ > 206) return finish(fail(Category::kUnavailable, status_words(status_, content_type_, body_)));
    finish(std::move(body_));
  }

 private:
  void finish(Webhook::Answer answer) {
    const auto done = std::exchange(done_, nullptr);
    done(std::move(answer));
  }

  const std::string url_;
  const std::size_t most_;
  std::function<void(Webhook::Answer)> done_;
  int status_ = 0;
  std::string content_type_;
  std::string body_;
};

}  // namespace

Webhook::Webhook(const Json& client, Place place) : place_(std::move(place)) {
  const auto bundle = str(client, {"caBundle"});
  ca_ = base64_decode(bundle).value_or(bundle);  // what is no base64 trusts nobody; nothing would trust the system's roots
  if (ca_.find_first_not_of(" \t\r\n") == std::string::npos) ca_.clear();
  if (const Json* service = find(client, {"service"}); service != nullptr && service->is_object()) {
    service_ = str(*service, {"name"});
    service_ns_ = str(*service, {"namespace"});
    service_port_ = static_cast<int>(num(*service, {"port"}, 443));
    path_ = str(*service, {"path"});
    url_ = "https://" + service_ + "." + service_ns_ + ".svc:" + std::to_string(service_port_) + path_;
  } else {
    url_ = str(client, {"url"});
    const auto begin = url_.find("://");
    const auto slash = begin == std::string::npos ? begin : url_.find('/', begin + 3);
    if (slash != std::string::npos) path_ = url_.substr(slash);
  }
}

void Webhook::wait(const std::function<void()>& until_answered) const {
  if (place_.wait_outside) return place_.wait_outside(until_answered);
  until_answered();
}

std::shared_ptr<kube::Transport> Webhook::transport_to(const std::string& server) const {
  const std::lock_guard lock(mutex_);
  if (transport_ && server_ == server) return transport_;
  kube::RestConfig config;
  config.server = server;
  config.ca_data = ca_;
  if (!service_.empty()) config.tls_server_name = service_ + "." + service_ns_ + ".svc";
  config.user_agent = "kube-apiserver-admission";  // as every webhook is called
  transport_ = kube::make_transport(config);
  server_ = server;
  return transport_;
}

std::unique_ptr<kube::StreamHandle> Webhook::post(std::string body, std::size_t most, std::function<void(Answer)> done) const {
  const auto shown = url_ + (path_.empty() ? "/" : "") + "?timeout=30s";
  std::string server = url_;
  std::string why;
  if (!service_.empty()) {
    const auto address = place_.service(service_ns_, service_, service_port_);
    if (address) {
      server = "https://" + *address + path_;
    } else {
      why = address.error().message;
    }
  } else if (!server.starts_with("https://")) {
    why = "unsupported protocol scheme";
  }
  if (!why.empty()) {
    done(fail(Category::kUnavailable, "Post \"" + shown + "\": " + why));
    return nullptr;
  }
  kube::Request request;
  request.method = kube::Method::kPost;
  if (path_.empty() || path_ == "/") request.path = "/";
  request.query = {{"timeout", "30s"}};
  request.body = std::move(body);
  request.timeout = kWebhookTimeout;
  request.stop = place_.stop;
  return transport_to(server)->stream(request, std::make_shared<WebhookAnswer>(shown, most, std::move(done)));
}

}  // namespace fleetadm::sandbox::convert
