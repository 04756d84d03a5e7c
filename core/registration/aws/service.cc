#include "core/registration/aws/service.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "kubeclient/base/json.h"
#include "kubeclient/base/log.h"
#include "kubeclient/config/files.h"

namespace fleetadm::registration::aws {
namespace {

constexpr std::string_view kGlobal = "us-east-1";  // of IAM, which has one endpoint for all regions
constexpr auto kBeforeExpiry = std::chrono::minutes(5);
constexpr std::size_t kLongestMessage = 500;
constexpr const char* kForm = "application/x-www-form-urlencoded";
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kXmlEntities{
    {{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}, {"&amp;", "&"}}};

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return text;
}

std::string default_address(const Scope& scope) {
  if (scope.service == "iam") return "https://iam.amazonaws.com";
  return "https://" + scope.service + "." + scope.region + ".amazonaws.com";
}

/// "https://host[:port]" in its parts; the port is left out where it is the scheme's.
std::string host_of(std::string_view address) {
  const bool https = address.starts_with("https://");
  std::string_view host = address.substr(address.find("://") + 3);
  host = host.substr(0, host.find('/'));
  const std::string_view usual = https ? ":443" : ":80";
  if (host.ends_with(usual)) host.remove_suffix(usual.size());
  return std::string(host);
}

/// IAM and STS answer in XML, EKS in JSON with the code in a header or in the body.
std::string error_code(const kube::Response& answer, const Json& body) {
  if (const auto header = answer.headers.find("x-amzn-errortype"); header != answer.headers.end())
    return header->second.substr(0, header->second.find(':'));
  for (const char* member : {"code", "__type"}) {
    const std::string code = str(body, {member});
    if (!code.empty()) return code.substr(code.rfind('#') == std::string::npos ? 0 : code.rfind('#') + 1);
  }
  return xml_text(answer.body, "Code");
}

Error error_of(const Scope& scope, const kube::Response& answer) {
  const auto parsed = parse_json(answer.body);
  const Json body = parsed ? *parsed : Json();
  std::string message = str(body, {"message"});
  if (message.empty()) message = xml_text(answer.body, "Message");
  Error error;
  error.code = answer.status;
  error.reason = error_code(answer, body);
  const std::string said = (error.reason.empty() ? "HTTP status " + std::to_string(answer.status) : error.reason) +
                           (message.empty() ? "" : ": " + message.substr(0, kLongestMessage));
  error.message = "AWS (" + scope.service + ") answered " + log::escape_terminal(said);
  const bool soon = answer.status >= 500 || answer.status == 429 || error.reason == "Throttling" ||
                    error.reason == "ThrottlingException" || error.reason == "RequestLimitExceeded";
  error.category = soon                                           ? Category::kUnavailable
                   : answer.status == 401 || answer.status == 403 ? Category::kAuth
                   : answer.status == 404                         ? Category::kNotFound
                   : answer.status == 409                         ? Category::kConflict
                                                                  : Category::kInvalid;
  return error;
}

Result<Credentials> issued(const kube::Response& answer) {
  Credentials fresh;
  fresh.access_key = xml_text(answer.body, "AccessKeyId");
  fresh.secret_key = xml_text(answer.body, "SecretAccessKey");
  fresh.session_token = xml_text(answer.body, "SessionToken");
  fresh.expires = parse_time(xml_text(answer.body, "Expiration"));
  if (fresh.access_key.empty() || fresh.secret_key.empty() || !fresh.expires)
    return fail(Category::kAuth, "AWS (sts) answered without credentials");
  return fresh;
}

}  // namespace

std::string xml_text(std::string_view xml, std::string_view name) {
  const std::string open = "<" + std::string(name) + ">";
  const auto begin = xml.find(open);
  if (begin == std::string_view::npos) return {};
  const auto from = begin + open.size();
  const auto end = xml.find("</" + std::string(name) + ">", from);
  if (end == std::string_view::npos) return {};
  std::string text(xml.substr(from, end - from));
  // The ampersand last: what it gives is no entity.
  for (const auto& [entity, character] : kXmlEntities) {
    for (auto at = text.find(entity); at != std::string::npos; at = text.find(entity, at + 1))
      text.replace(at, entity.size(), character);
  }
  return text;
}

Environment process_environment() {
  Environment environment;
  environment.variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  return environment;
}

Result<Services::Place> Services::place(const Scope& scope) const {
  std::string address = environment_.variable(("AWS_ENDPOINT_URL_" + upper(scope.service)).c_str());
  if (address.empty()) address = environment_.variable("AWS_ENDPOINT_URL");
  if (address.empty()) address = default_address(scope);
  const std::lock_guard lock(mutex_);
  if (const auto known = places_.find(address); known != places_.end()) return known->second;
  if (!address.starts_with("https://") && !address.starts_with("http://"))
    return fail(Category::kUsage, "AWS_ENDPOINT_URL \"" + address + "\" is no http or https URL");
  kube::RestConfig config;
  config.server = address;
  config.name = "AWS";
  if (const std::string file = environment_.variable("AWS_CA_BUNDLE"); !file.empty()) {
    FLEETADM_TRY(config.ca_data, kube::read_file(file));
  }
  const Place place{host_of(address), environment_.connect ? environment_.connect(config) : kube::make_transport(config)};
  return places_.emplace(address, place).first->second;
}

Result<kube::Response> Services::send(const Place& place, const Scope& scope, const kube::Request& request) const {
  FLEETADM_TRY(kube::Response answer, place.transport->call(request));
  if (answer.status >= 400) return fail(error_of(scope, answer));
  return answer;
}

Result<kube::Response> Services::call(const Scope& scope, kube::Request request) const {
  FLEETADM_TRY(const Credentials as, credentials(scope.region, request.stop));
  FLEETADM_TRY(const Place where, place(scope));
  Scope signed_for = scope;
  if (scope.service == "iam") signed_for.region = kGlobal;
  sign(request, where.host, as, signed_for, environment_.clock->now());
  return send(where, scope, request);
}

Result<Credentials> Services::credentials(const std::string& region, const std::stop_token& stop) const {
  Credentials fixed;
  fixed.access_key = environment_.variable("AWS_ACCESS_KEY_ID");
  fixed.secret_key = environment_.variable("AWS_SECRET_ACCESS_KEY");
  fixed.session_token = environment_.variable("AWS_SESSION_TOKEN");
  if (!fixed.access_key.empty() && !fixed.secret_key.empty()) return fixed;
  {
    const std::lock_guard lock(mutex_);
    if (of_role_ && of_role_->expires && environment_.clock->now() + kBeforeExpiry < *of_role_->expires) return *of_role_;
  }
  FLEETADM_TRY(Credentials fresh, assume_role_of_pod(region, stop));
  const std::lock_guard lock(mutex_);
  of_role_ = std::move(fresh);
  return *of_role_;
}

Result<Credentials> Services::assume_role_of_pod(const std::string& region, const std::stop_token& stop) const {
  const std::string role = environment_.variable("AWS_ROLE_ARN");
  const std::string file = environment_.variable("AWS_WEB_IDENTITY_TOKEN_FILE");
  if (role.empty() || file.empty()) {
    return fail(Category::kAuth, "there are no credentials for AWS",
                "annotate the service account with " + std::string("eks.amazonaws.com/role-arn") +
                    ", or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  }
  FLEETADM_TRY(std::string token, kube::read_file(file));
  while (token.ends_with('\n')) token.pop_back();
  std::string session = environment_.variable("AWS_ROLE_SESSION_NAME");
  if (session.empty()) session = "fleetadm";
  kube::Request request;
  request.method = kube::Method::kPost;
  request.path = "/";
  request.content_type = kForm;
  request.accept = "*/*";
  request.stop = stop;
  request.body = "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=" + percent_encoded(role) +
                 "&RoleSessionName=" + percent_encoded(session) + "&WebIdentityToken=" + percent_encoded(token);
  const Scope scope{region, "sts"};
  FLEETADM_TRY(const Place where, place(scope));
  FLEETADM_TRY(const kube::Response answer, send(where, scope, request));
  return issued(answer);
}

Result<Credentials> Services::assume_role(const std::string& region, const std::string& role_arn,
                                          const std::stop_token& stop) const {
  kube::Request request;
  request.method = kube::Method::kPost;
  request.path = "/";
  request.content_type = kForm;
  request.accept = "*/*";
  request.stop = stop;
  request.body = "Action=AssumeRole&Version=2011-06-15&RoleArn=" + percent_encoded(role_arn) + "&RoleSessionName=fleetadm";
  FLEETADM_TRY(const kube::Response answer, call({region, "sts"}, std::move(request)));
  return issued(answer);
}

}  // namespace fleetadm::registration::aws
