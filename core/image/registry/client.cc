#include "core/image/registry/client.h"

#include <algorithm>
#include <utility>

#include "core/image/registry/challenge.h"
#include "core/image/registry/errors.h"
#include "kubeclient/base/backoff.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/sleep.h"
#include "kubeclient/transport/endpoint.h"
#include "kubeclient/transport/request_options.h"

namespace fleetadm::image {
namespace {

constexpr int kMaxRedirects = 5;
constexpr std::size_t kMaxToken = 64U << 10U;
// The slowest line that is waited for.
constexpr std::size_t kBytesPerSecond = 16U << 10U;
constexpr Duration kLongestWait = std::chrono::minutes(2);  // that Retry-After can ask for

std::string host_of(const std::string& registry) { return registry == "docker.io" ? "registry-1.docker.io" : registry; }

std::string value_of(const std::map<std::string, std::string>& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? std::string() : found->second;
}

bool is_redirect(int status) { return status == 301 || status == 302 || status == 303 || status == 307 || status == 308; }

bool is_read(kube::Method method) { return method == kube::Method::kGet || method == kube::Method::kHead; }

}  // namespace

Result<RegistryClient> RegistryClient::make(const Reference& reference, RegistryOptions options) {
  FLEETADM_TRY(Url base, parse_url((options.plain_http ? "http://" : "https://") + host_of(reference.registry) + "/"));
  kube::RestConfig config;
  config.server = base.origin;
  if (const auto endpoint = kube::parse_endpoint(config); !endpoint) {
    Error error = endpoint.error();
    if (options.plain_http) error.hint = "--plain-http is for a registry of this machine; leave it out";
    return fail(std::move(error));
  }
  return RegistryClient(reference, std::move(options), std::move(base));
}

kube::Transport& RegistryClient::transport_of(const std::string& origin) {
  auto& transport = transports_[origin];
  if (!transport) {
    kube::RestConfig config;
    config.server = origin;
    config.ca_data = options_.ca_data;
    config.disable_compression = true;  // a digest is of the bytes as they are kept
    transport = options_.connect ? options_.connect(config) : kube::make_transport(config);
  }
  return *transport;
}

Result<kube::Response> RegistryClient::send_to(const Url& url, const RegistryRequest& request) {
  // A registry that is asked by TLS has no business to send anyone away from it.
  if (!url.https() && base_.https())
    return fail(Category::kTls, "the registry " + registry_ + " refers to an address without TLS: " + url.origin,
                "the registry's own address may be set wrongly where something in front of it ends TLS");
  kube::Request out;
  out.method = request.method;
  out.path = url.target;
  out.body = request.body;
  out.content_type = request.content_type;
  out.accept = request.accept;
  out.timeout = options_.answer_timeout + std::chrono::seconds(request.body.size() / kBytesPerSecond);
  out.stop = options_.stop;
  if (url.origin == base_.origin && !authorization_.empty()) out.headers["Authorization"] = authorization_;
  auto answer = transport_of(url.origin).call(out);
  if (!answer) return fail(error_of_transport(std::move(answer).error()));
  return answer;
}

Result<kube::Response> RegistryClient::send_following(const Url& first, const RegistryRequest& request) {
  Url url = first;
  for (int redirects = 0;; ++redirects) {
    FLEETADM_TRY(kube::Response answer, send_to(url, request));
    if (!is_redirect(answer.status) || !is_read(request.method)) return answer;
    if (redirects == kMaxRedirects) return fail(Category::kInvalid, "the registry " + registry_ + " redirects too often");
    FLEETADM_TRY(url, resolve_url(url, value_of(answer.headers, "location")));
  }
}

Result<kube::Response> RegistryClient::send(const RegistryRequest& request) {
  const Url url = request.elsewhere != nullptr ? *request.elsewhere : Url{base_.origin, request.target};
  FLEETADM_TRY(kube::Response answer, send_following(url, request));
  if (answer.status == 401 && url.origin == base_.origin) {
    FLEETADM_CHECK(log_in(answer));
    FLEETADM_TRY(answer, send_following(url, request));
    if (answer.status == 401) {
      authorization_.clear();
      Error error = error_of_answer(registry_, answer);
      error.message = options_.login.empty() ? "the registry " + registry_ + " wants a login"
                                             : "the registry " + registry_ + " refused the user name or the password";
      return fail(std::move(error));
    }
  }
  if (answer.status >= 400 || is_redirect(answer.status)) return fail(error_of_answer(registry_, answer));
  return answer;
}

Status RegistryClient::log_in(const kube::Response& refusal) {
  const std::vector<Challenge> challenges = parse_challenges(value_of(refusal.headers, "www-authenticate"));
  const auto asks_for = [&](std::string_view scheme) {
    return std::find_if(challenges.begin(), challenges.end(), [&](const Challenge& one) { return one.scheme == scheme; });
  };
  if (const auto bearer = asks_for("bearer"); bearer != challenges.end()) {
    FLEETADM_TRY(const std::string token, fetch_token(bearer->values));
    authorization_ = "Bearer " + token;
    return {};
  }
  Error error = error_of_answer(registry_, refusal);
  if (asks_for("basic") == challenges.end()) {
    error.message = "the registry " + registry_ + " asks for a way to log in that is not known";
    return fail(std::move(error));
  }
  if (options_.login.username.empty()) {
    error.message = "the registry " + registry_ + " wants a login, and none is known";
    return fail(std::move(error));
  }
  authorization_ = "Basic " + base64_encode(options_.login.username + ":" + options_.login.password);
  return {};
}

Result<std::string> RegistryClient::fetch_token(const std::map<std::string, std::string>& challenge) {
  const auto realm = parse_url(value_of(challenge, "realm"));
  if (!realm) return fail(realm.error().wrap("the registry " + registry_ + " names no service for tokens"));
  const std::string scope = "repository:" + repository_ + ":pull,push";
  const std::string service = value_of(challenge, "service");
  RegistryRequest request;
  Url url = *realm;
  kube::Request out;
  if (options_.login.identity_token.empty()) {
    if (!service.empty()) url.target = with_parameter(url.target, "service", service);
    url.target = with_parameter(url.target, "scope", scope);
    if (!options_.login.username.empty()) {
      url.target = with_parameter(url.target, "account", options_.login.username);
      out.headers["Authorization"] = "Basic " + base64_encode(options_.login.username + ":" + options_.login.password);
    }
  } else {
    out.body = kube::encode_query({{"grant_type", "refresh_token"},
                                   {"service", service},
                                   {"client_id", "fleetadm"},
                                   {"scope", scope},
                                   {"refresh_token", options_.login.identity_token}})
                   .substr(1);  // without the question mark
    out.method = kube::Method::kPost;
    out.content_type = "application/x-www-form-urlencoded";
  }
  if (!url.https() && base_.https())
    return fail(Category::kTls, "the registry " + registry_ + " names a service for tokens without TLS: " + url.origin);
  out.path = url.target;
  out.timeout = options_.answer_timeout;
  out.stop = options_.stop;
  auto sent = transport_of(url.origin).call(out);
  if (!sent) return fail(error_of_transport(std::move(sent).error()).wrap("no token for the registry " + registry_));
  if (sent->status != 200) {
    Error error = error_of_answer(registry_, *sent);
    error.message = "the token service of the registry " + registry_ + " answered " + std::to_string(sent->status);
    if (error.category == Category::kAuth) {
      error.message = options_.login.empty() ? "the registry " + registry_ + " wants a login, and none is known"
                                             : "the registry " + registry_ + " refused the user name or the password";
    }
    return fail(std::move(error));
  }
  const auto parsed = sent->body.size() <= kMaxToken ? parse_json(sent->body) : Result<Json>(Json());
  std::string token = parsed ? str(*parsed, {"token"}) : std::string();
  if (token.empty() && parsed) token = str(*parsed, {"access_token"});
  if (token.empty()) return fail(Category::kAuth, "the token service of the registry " + registry_ + " gave no token");
  return token;
}

Status RegistryClient::wait_before_retry(const Error& error, int tries) {
  if (!may_pass(error) || tries >= options_.tries) return fail(error);
  Duration delay = jittered(backoff_delay(options_.first_delay, options_.longest_delay, tries), 0.2);
  if (error.retry_after_seconds > 0) delay = std::max<Duration>(delay, std::chrono::seconds(error.retry_after_seconds));
  if (delay > kLongestWait) return fail(error);
  if (options_.on_retry) options_.on_retry(error, delay);
  if (!sleep_for(delay, options_.stop)) return fail(Category::kCancelled, "cancelled");
  return {};
}

}  // namespace fleetadm::image
