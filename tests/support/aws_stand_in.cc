#include "tests/support/aws_stand_in.h"

#include "kubeclient/base/clock.h"

namespace fleetadm::testkit {
namespace {

namespace aws = registration::aws;

constexpr const char* kOther = "ASIATEMPORARY";

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
    i += 2;
  }
  return out;
}

std::map<std::string, std::string> form_of(std::string_view body) {
  std::map<std::string, std::string> form;
  while (!body.empty()) {
    const std::string_view pair = body.substr(0, body.find('&'));
    body.remove_prefix(std::min(body.size(), pair.size() + 1));
    const auto equals = pair.find('=');
    form[percent_decoded(pair.substr(0, equals))] = percent_decoded(pair.substr(equals + 1));
  }
  return form;
}

serve::HttpResponse xml(int status, const std::string& text) { return serve::answer_text(status, text, "text/xml"); }
serve::HttpResponse xml_error(int status, const std::string& code) {
  return xml(status, "<ErrorResponse><Error><Code>" + code + "</Code><Message>it is so</Message></Error></ErrorResponse>");
}
serve::HttpResponse json_error(int status, const std::string& code) {
  return serve::answer_text(status, R"({"__type": "com.amazonaws#)" + code + R"(", "message": "it is so"})", "application/json");
}

/// Between `before` and the next comma or the end.
std::string part_of(std::string_view text, std::string_view before) {
  const auto at = text.find(before);
  if (at == std::string_view::npos) return {};
  const auto from = at + before.size();
  return std::string(text.substr(from, text.find(',', from) - from));
}

}  // namespace

AwsStandIn::AwsStandIn() {
  const pki::KeyPair ca = pki::make_ca("aws", std::chrono::hours(24)).value();
  pki::LeafOptions leaf;
  leaf.ip_addresses = {"127.0.0.1"};
  leaf.server = true;
  folder_.write("ca.crt", ca.certificate);
  serve::ListenOptions options;
  options.certificate = pki::issue(ca, leaf).value();
  listener_ = std::move(serve::HttpListener::start(runtime_, options, [this](const serve::HttpRequest& request) {
                          return answer(request);
                        }).value());
}

std::map<std::string, std::string> AwsStandIn::variables() const {
  return {{"AWS_ENDPOINT_URL", "https://" + listener_->endpoint()},
          {"AWS_CA_BUNDLE", (folder_.path() / "ca.crt").string()},
          {"AWS_ACCESS_KEY_ID", kAccessKey},
          {"AWS_SECRET_ACCESS_KEY", kSecretKey}};
}

aws::Environment AwsStandIn::environment(std::map<std::string, std::string> more) const {
  aws::Environment environment;
  for (const auto& [name, value] : variables()) more.emplace(name, value);
  environment.variable = [all = std::move(more)](const char* name) {
    const auto found = all.find(name);
    return found == all.end() ? std::string() : found->second;
  };
  return environment;
}

std::map<std::string, Json> AwsStandIn::roles() const {
  const std::lock_guard lock(mutex_);
  return roles_;
}
std::map<std::string, AwsStandIn::Entry> AwsStandIn::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}
std::vector<std::string> AwsStandIn::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}
std::vector<std::string> AwsStandIn::wrong_signatures() const {
  const std::lock_guard lock(mutex_);
  return wrong_;
}
void AwsStandIn::set_slow(int times) {
  const std::lock_guard lock(mutex_);
  slow_ = times;
}

bool AwsStandIn::signed_well(const serve::HttpRequest& request) const {
  const std::string given(request.header("authorization"));
  const std::string credential = part_of(given, "Credential=");  // key/day/region/service/aws4_request
  const auto parts = [&credential] {
    std::vector<std::string> all{""};
    for (const char c : credential) {
      if (c == '/') {
        all.emplace_back();
      } else {
        all.back() += c;
      }
    }
    return all;
  }();
  std::string stamp(request.header("x-amz-date"));  // 20150830T123600Z
  if (parts.size() != 5 || stamp.size() != 16) return false;
  const auto time = parse_time(stamp.substr(0, 4) + "-" + stamp.substr(4, 2) + "-" + stamp.substr(6, 5) + ":" +
                               stamp.substr(11, 2) + ":" + stamp.substr(13));
  aws::Credentials as{parts[0], kSecretKey, {}, {}};
  if (parts[0] == kOther) as.session_token = kSessionToken;
  if (!time || (parts[0] != kAccessKey && parts[0] != kOther)) return false;
  kube::Request again;
  again.method = request.method == "POST" ? kube::Method::kPost : kube::Method::kDelete;
  again.path = request.path;
  again.body = request.body;
  again.content_type = request.header("content-type");
  aws::sign(again, request.header("host"), as, {parts[2], parts[3]}, *time);
  return again.headers["Authorization"] == given && request.header("x-amz-security-token") == as.session_token;
}

serve::HttpResponse AwsStandIn::answer(const serve::HttpRequest& request) {
  const std::lock_guard lock(mutex_);
  const bool eks = request.path.starts_with("/clusters/");
  const auto form = eks ? std::map<std::string, std::string>() : form_of(request.body);
  const std::string action = eks ? (request.method == "POST" ? "CreateAccessEntry" : "DeleteAccessEntry")
                                 : (form.count("Action") != 0 ? form.at("Action") : "?");
  calls_.push_back(action);
  if (action == "AssumeRoleWithWebIdentity" || action == "AssumeRole") {
    const bool known = action == "AssumeRole" ? signed_well(request) : form.at("WebIdentityToken") == kPodToken;
    if (!known) return xml_error(400, "InvalidIdentityToken");
    return xml(200, std::string("<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>") + kOther +
                        "</AccessKeyId><SecretAccessKey>" + kSecretKey + "</SecretAccessKey><SessionToken>" + kSessionToken +
                        "</SessionToken><Expiration>" + format_time(Clock::system()->now() + std::chrono::hours(1)) +
                        "</Expiration></Credentials></AssumeRoleWithWebIdentityResult>");
  }
  if (!signed_well(request)) {
    wrong_.push_back(action);
    return eks ? json_error(403, "InvalidSignatureException") : xml_error(403, "SignatureDoesNotMatch");
  }
  return eks ? answer_eks(request) : answer_form(form);
}

serve::HttpResponse AwsStandIn::answer_form(const std::map<std::string, std::string>& form) {
  const std::string& action = form.at("Action");
  const std::string name = form.count("RoleName") != 0 ? form.at("RoleName") : "";
  if (action == "CreateRole") {
    if (roles_.count(name) != 0) return xml_error(409, "EntityAlreadyExists");
    roles_[name] = parse_json(form.at("AssumeRolePolicyDocument")).value();
    return xml(200, "<CreateRoleResponse/>");
  }
  if (action == "DeleteRole") return roles_.erase(name) == 1 ? xml(200, "<DeleteRoleResponse/>") : xml_error(404, "NoSuchEntity");
  return xml_error(400, "InvalidAction");
}

serve::HttpResponse AwsStandIn::answer_eks(const serve::HttpRequest& request) {
  if (request.method == "POST") {
    const Json body = parse_json(request.body).value();
    const std::string arn = str(body, {"principalArn"});
    if (slow_ > 0) {
      --slow_;
      return json_error(400, "InvalidParameterException");
    }
    if (roles_.count(arn.substr(arn.rfind('/') + 1)) == 0) return json_error(400, "InvalidParameterException");
    if (entries_.count(arn) != 0) return json_error(409, "ResourceInUseException");
    entries_[arn] = {str(body, {"username"}), string_list_at(body, {"kubernetesGroups"})};
    return serve::answer_text(200, "{}", "application/json");
  }
  const std::string arn = percent_decoded(request.path.substr(request.path.rfind('/') + 1));
  return entries_.erase(arn) == 1 ? serve::answer_text(200, "{}", "application/json")
                                  : json_error(404, "ResourceNotFoundException");
}

}  // namespace fleetadm::testkit
