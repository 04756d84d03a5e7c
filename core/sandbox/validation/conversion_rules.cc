#include "core/sandbox/validation/conversion_rules.h"

#include <set>

#include "core/sandbox/convert/review.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/names.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::sandbox {
namespace {

constexpr std::string_view kConversionField = "spec.conversion";
constexpr std::string_view kUrlForm = "; desired format: https://host[/path]";

std::string conversion_field(std::string_view rest) { return std::string(kConversionField) + std::string(rest); }

/// A label that begins with a letter.
bool is_version_name(std::string_view text) { return is_dns_label(text) && !is_digit(text.front()); }

void check_webhook_url(const std::string& url, std::vector<Cause>& out) {
  const auto field = conversion_field(".webhookClientConfig.url");
  const auto colon = url.find("://");
  const auto scheme = colon == std::string::npos ? std::string() : url.substr(0, colon);
  if (scheme != "https")
    out.push_back(bad_value(field, scheme, "'https' is the only allowed URL scheme" + std::string(kUrlForm)));
  const auto begin = colon == std::string::npos ? 0 : colon + 3;
  const auto authority = url.substr(begin, url.find_first_of("/?#", begin) - begin);
  const auto user = authority.rfind('@');
  const auto host = colon == std::string::npos ? std::string() : authority.substr(user == std::string::npos ? 0 : user + 1);
  if (host.empty()) out.push_back(bad_value(field, "", "host must be specified" + std::string(kUrlForm)));
  if (user != std::string::npos) out.push_back(bad_value(field, "", "user information is not permitted in the URL"));
  if (const auto hash = url.find('#'); hash != std::string::npos && hash + 1 < url.size())
    out.push_back(bad_value(field, url.substr(hash + 1), "fragments are not permitted in the URL"));
  if (const auto mark = url.find('?'); mark != std::string::npos && mark + 1 < url.size() && url[mark + 1] != '#') {
    out.push_back(
        bad_value(field, url.substr(mark + 1, url.find('#', mark) - mark - 1), "query parameters are not permitted in the URL"));
  }
}

void check_webhook_path(const std::string& path, std::vector<Cause>& out) {
  const auto field = conversion_field(".webhookClientConfig.service.path");
  if (path.empty() || path == "/") return;
  if (path.front() != '/') out.push_back(bad_value(field, path, "must start with a '/'"));
  auto rest = std::string_view(path).substr(1);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  for (int i = 0;; ++i) {
    const auto slash = rest.find('/');
    const auto step = rest.substr(0, slash);
    const auto at = "segment[" + std::to_string(i) + "]";
    if (step.empty()) {
      out.push_back(bad_value(field, path, at + " may not be empty"));
    } else if (!is_dns_subdomain(step)) {
      out.push_back(bad_value(field, path,
                              at + ": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
                                   "characters, '-' or '.', and must start and end with an alphanumeric character"));
    }
    if (slash == std::string_view::npos) return;
    rest.remove_prefix(slash + 1);
  }
}

void check_webhook_client(const Json& client, std::vector<Cause>& out) {
  const Json* url = find(client, {"url"});
  const Json* service = find(client, {"service"});
  const bool has_url = url != nullptr && !url->is_null();
  const bool has_service = service != nullptr && !service->is_null();
  if (has_url == has_service) {
    out.push_back(required(conversion_field(".webhookClientConfig"), "exactly one of url or service is required"));
  } else if (has_url) {
    check_webhook_url(str(client, {"url"}), out);
  } else {
    const auto at = conversion_field(".webhookClientConfig.service");
    // kube-apiserver takes the one for the other.
    if (str(*service, {"name"}).empty()) out.push_back(required(at + ".namespace"));
    if (str(*service, {"namespace"}).empty()) out.push_back(required(at + ".name"));
    if (const auto port = num(*service, {"port"}); port < 1 || port > 65535)
      out.push_back(bad_value(at + ".port", port, "port is not valid: must be between 1 and 65535, inclusive"));
    check_webhook_path(str(*service, {"path"}), out);
  }
}

void check_review_versions(const Json& webhook, std::vector<Cause>& out) {
  const auto field = conversion_field(".conversionReviewVersions");
  const auto versions = string_list_at(webhook, {"conversionReviewVersions"});
  if (versions.empty()) {
    out.push_back(required(field));
    return;
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const auto at = field + "[" + std::to_string(i) + "]";
    if (!seen.insert(versions[i]).second) {
      out.push_back(bad_value(at, versions[i], "duplicate version"));
    } else if (!is_version_name(versions[i])) {
      out.push_back(bad_value(at, versions[i],
                              "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
                              "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
                              "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"));
    }
  }
  if (convert::review_version(versions).empty())
    out.push_back(bad_value(field, Json(versions), "must include at least one of v1, v1beta1"));
}

}  // namespace

void default_conversion(Json& definition) {
  Json& conversion = at_or_make(definition, {"spec", "conversion"});
  if (!conversion.is_object() || conversion.empty()) conversion = {{"strategy", "None"}};
  const Json* service = find(conversion, {"webhook", "clientConfig", "service"});
  if (service != nullptr && service->is_object() && find(*service, {"port"}) == nullptr)
    at_or_make(conversion, {"webhook", "clientConfig", "service", "port"}) = 443;
}

bool has_bad_ca_bundle(const Json& conversion) {
  const auto bundle = str(conversion, {"webhook", "clientConfig", "caBundle"});
  if (bundle.empty()) return false;
  const auto text = base64_decode(bundle);
  return !text || !pki::parse_certificates(*text);
}

std::vector<Cause> ca_bundle_problems(const Json& conversion) {
  if (!has_bad_ca_bundle(conversion)) return {};
  return {bad_value(conversion_field(".webhookClientConfig.caBundle"), str(conversion, {"webhook", "clientConfig", "caBundle"}),
                    "unable to load root certificates: unable to parse bytes as PEM block")};
}

std::vector<Cause> conversion_problems(const Json& conversion) {
  std::vector<Cause> out;
  const auto strategy = str(conversion, {"strategy"});
  if (strategy.empty()) {
    out.push_back(required(conversion_field(".strategy")));
  } else if (strategy != "None" && strategy != "Webhook") {
    out.push_back(unsupported(conversion_field(".strategy"), strategy, {"None", "Webhook"}));
  }
  const Json& webhook = object_at(conversion, {"webhook"});
  const Json* client = find(webhook, {"clientConfig"});
  const bool has_client = client != nullptr && client->is_object();
  if (strategy == "Webhook") {
    if (has_client) {
      check_webhook_client(*client, out);
    } else {
      out.push_back(required(conversion_field(".webhookClientConfig"), "required when strategy is set to Webhook"));
    }
    check_review_versions(webhook, out);
    return out;
  }
  const auto unwanted = "should not be set when strategy is not set to Webhook";
  if (has_client) out.push_back(forbidden_field(conversion_field(".webhookClientConfig"), unwanted));
  if (!string_list_at(webhook, {"conversionReviewVersions"}).empty())
    out.push_back(forbidden_field(conversion_field(".conversionReviewVersions"), unwanted));
  return out;
}

}  // namespace fleetadm::sandbox
