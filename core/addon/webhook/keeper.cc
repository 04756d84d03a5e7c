#include "core/addon/webhook/keeper.h"

#include <array>
#include <utility>

#include "core/addon/webhook/review.h"
#include "core/install/install.h"
#include "core/serve/http/listen_address.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/host_port.h"
#include "kubeclient/base/ip_address.h"
#include "kubeclient/base/log.h"

namespace fleetadm::addon {
namespace {

namespace r = kube::resources;

constexpr const char* kComponent = "conversion";
constexpr std::string_view kConvertPath = "/convert";
constexpr int kServicePort = 443;
constexpr std::size_t kWebhookWorkers = 2;
// An API server asks for all objects of a list at once.
constexpr std::size_t kMaxReview = std::size_t{128} * 1024 * 1024;
constexpr std::array<std::string_view, 2> kConverted = {"managedclusteraddons.addon.open-cluster-management.io",
                                                        "clustermanagementaddons.addon.open-cluster-management.io"};

/// Of "https://HOST[:PORT][/PATH]".
Result<std::string> url_host(const std::string& url) {
  constexpr std::string_view kScheme = "https://";
  const std::string rest = url.starts_with(kScheme) ? url.substr(kScheme.size()) : std::string();
  const auto parts = split_host_port(rest.substr(0, rest.find('/')));
  const bool port_is_one = parts && (parts->port.empty() || parse_port(parts->port).value_or(0) != 0);
  if (!port_is_one || parts->host.empty() || rest.find_first_of("?#@ ") != std::string::npos)
    return fail(Category::kUsage, "\"" + url + "\" is not of the form https://HOST[:PORT][/PATH]");
  return parts->host;
}

serve::HttpResponse answer_http(const serve::HttpRequest& request) {
  if (request.path != kConvertPath) return serve::answer_text(404, "not found\n");
  if (request.method != "POST") return serve::answer_text(405, "only POST\n");
  if (request.body_too_large) return serve::answer_text(413, "the review is too large\n");
  try {
    auto answer = answer_conversion(request.body);
    if (!answer) return serve::answer_text(400, answer.error().message + "\n");
    return serve::answer_text(200, std::move(*answer), "application/json");
  } catch (const std::exception&) {  // no memory
    return serve::answer_text(500, "internal error\n");
  }
}

/// What a definition says of its webhook's place and trust, in one form.
Json said_of(const Json& definition) {
  const Json& client = object_at(definition, {"spec", "conversion", "webhook", "clientConfig"});
  Json said{{"strategy", str(definition, {"spec", "conversion", "strategy"})}, {"caBundle", str(client, {"caBundle"})}};
  if (const Json* service = find(client, {"service"}); service != nullptr && service->is_object()) {
    said["service"] = {{"namespace", str(*service, {"namespace"})},
                       {"name", str(*service, {"name"})},
                       {"path", str(*service, {"path"})},
                       {"port", num(*service, {"port"}, kServicePort)}};
  }
  if (const std::string url = str(client, {"url"}); !url.empty()) said["url"] = url;
  return said;
}

}  // namespace

Status check_webhook(const WebhookOptions& options) {
  FLEETADM_CHECK(serve::parse_listen_address(options.address));
  if (!options.url.empty()) FLEETADM_CHECK(url_host(options.url));
  return {};
}

WebhookKeeper::WebhookKeeper(kube::Client client, WebhookOptions options)
    : client_(std::move(client)), options_(std::move(options)), runtime_(kWebhookWorkers) {}

std::string WebhookKeeper::endpoint() const { return listener_ ? listener_->endpoint() : std::string(); }

Status WebhookKeeper::pass(bool leads) {
  FLEETADM_TRY(const pki::Authority now, authority());
  if (!listener_) FLEETADM_CHECK(listen(now));
  Status outcome;
  bool trusted = true;
  for (const std::string_view name : kConverted) {
    const auto kept = keep_definition(name, now, leads);
    trusted = trusted && kept.value_or(false);
    if (!kept && outcome) outcome = fail(kept.error());
  }
  const bool other_ca = serving_ca_ != now.ca.certificate;
  if ((other_ca && trusted) || (!other_ca && pki::is_due(serving_.certificate, options_.clock->now()))) {
    FLEETADM_TRY(serving_, certificate(now));
    serving_ca_ = now.ca.certificate;
    FLEETADM_CHECK(listener_->set_certificate(serving_));
  }
  return outcome;
}

Result<pki::Authority> WebhookKeeper::authority() {
  FLEETADM_TRY(const auto secret, client_.find(r::secrets(), options_.ns, kWebhookName));
  auto known = secret ? pki::read_authority(*secret) : std::nullopt;
  if (known && !pki::is_due(known->ca.certificate, options_.clock->now())) return std::move(*known);
  FLEETADM_TRY(pki::Authority made,
               pki::renew_authority(known, "fleetadm-hub-webhook-ca", kAuthorityLife, options_.clock->now()));
  // A conflict is another replica's CA: the next pass takes it over.
  if (secret) {
    Json changed = *secret;
    changed["data"] = pki::authority_data(made);
    FLEETADM_CHECK(client_.update(r::secrets(), changed));
  } else {
    FLEETADM_CHECK(client_.create(
        r::secrets(), options_.ns,
        {{"apiVersion", "v1"},
         {"kind", "Secret"},
         {"metadata",
          {{"name", kWebhookName}, {"namespace", options_.ns}, {"labels", {{install::kPartLabel, install::kHubPart}}}}},
         {"type", "Opaque"},
         {"data", pki::authority_data(made)}}));
  }
  log::info(1, kComponent, "the webhook has a new CA");
  return made;
}

Status WebhookKeeper::listen(const pki::Authority& authority) {
  FLEETADM_TRY(const serve::ListenAddress where, serve::parse_listen_address(options_.address));
  FLEETADM_TRY(serving_, certificate(authority));
  serving_ca_ = authority.ca.certificate;
  serve::ListenOptions listen;
  listen.address = where.host;
  listen.port = where.port;
  listen.certificate = serving_;
  listen.evicts = true;
  listen.limits.body = kMaxReview;
  listen.limits.bodies = 2 * kMaxReview;
  listen.limits.connections = 64;
  FLEETADM_TRY(listener_, serve::HttpListener::start(runtime_, listen, answer_http));
  log::info(1, kComponent, "versions of add-ons are converted on https://" + listener_->endpoint());
  return {};
}

Result<pki::KeyPair> WebhookKeeper::certificate(const pki::Authority& authority) const {
  const std::string service = std::string(kWebhookName) + "." + options_.ns + ".svc";
  std::vector<std::string> names{service, service + ".cluster.local", "localhost"};
  std::vector<std::string> addresses{"127.0.0.1", "::1"};
  if (!options_.url.empty()) {
    FLEETADM_TRY(const std::string host, url_host(options_.url));
    (IpAddress::parse(host) ? addresses : names).push_back(host);
  }
  return pki::issue_serving(authority, kWebhookName, std::move(names), std::move(addresses), kServingLife);
}

Json WebhookKeeper::wanted_conversion(const std::string& bundle) const {
  Json client{{"caBundle", base64_encode(bundle)}, {"service", nullptr}, {"url", nullptr}};
  const auto listening = serve::parse_listen_address(endpoint());
  if (!options_.url.empty()) {
    client["url"] = options_.url;
  } else if (listening && listening->is_loopback()) {
    client["url"] = "https://" + endpoint() + std::string(kConvertPath);
  } else {
    client["service"] = {{"namespace", options_.ns}, {"name", kWebhookName}, {"path", kConvertPath}, {"port", kServicePort}};
  }
  return {{"strategy", "Webhook"},
          {"webhook", {{"clientConfig", std::move(client)}, {"conversionReviewVersions", Json::array({"v1"})}}}};
}

Result<bool> WebhookKeeper::keep_definition(std::string_view name, const pki::Authority& authority, bool leads) const {
  FLEETADM_TRY(const auto definition, client_.find(r::custom_resource_definitions(), "", name));
  if (!definition) return fail(Category::kNotFound, "there is no CustomResourceDefinition " + std::string(name));
  // Somebody else's definition has somebody else's webhook.
  if (label_of(*definition, install::kPartLabel) != install::kHubPart) return true;
  Json wanted{{"spec", {{"conversion", wanted_conversion(authority.bundle)}}}};
  const std::string trusted = base64_decode(str(said_of(*definition), {"caBundle"})).value_or(std::string());
  if (leads && said_of(*definition) != said_of(wanted)) {
    // Nothing but these members is meant, so that a definition which was changed meanwhile is no conflict.
    auto written = client_.patch(r::custom_resource_definitions(), "", name, kube::PatchType::kMerge, wanted);
    if (!written) return fail(written.error().wrap("cannot tell " + std::string(name) + " of its webhook"));
    log::info(1, kComponent, std::string(name) + " is converted by this hub");
  }
  return trusted.find(authority.ca.certificate) != std::string::npos;
}

}  // namespace fleetadm::addon
