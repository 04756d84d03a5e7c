#include "core/sandbox/auth/reviews.h"

#include <algorithm>

#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox {
namespace {

constexpr std::int64_t kShortestToken = 600;
constexpr std::int64_t kDefaultToken = 3600;
constexpr std::int64_t kBoundPodToken = 3607;  // what kubelets ask for: extended to a year, with a warning time
constexpr std::int64_t kYear = 365 * 24 * 3600;

Json user_json(const serve::User& user) {
  Json out = {{"username", user.name}};
  if (!user.uid.empty()) out["uid"] = user.uid;
  if (!user.groups.empty()) out["groups"] = user.groups;
  if (!user.extra.empty()) out["extra"] = user.extra;
  return out;
}

serve::Attributes attributes_of(const Json& spec) {
  serve::Attributes out;
  if (const Json* resource = find(spec, {"resourceAttributes"}); resource != nullptr && resource->is_object()) {
    out.resource_request = true;
    out.verb = str(*resource, {"verb"});
    out.group = str(*resource, {"group"});
    out.version = str(*resource, {"version"});
    out.resource = str(*resource, {"resource"});
    out.subresource = str(*resource, {"subresource"});
    out.ns = str(*resource, {"namespace"});
    out.name = str(*resource, {"name"});
  } else {
    out.verb = str(spec, {"nonResourceAttributes", "verb"});
    out.path = str(spec, {"nonResourceAttributes", "path"});
  }
  return out;
}

/// What is wrong with an access review, whoever asks; `ns` is the URL's, of a local one.
std::vector<Cause> review_problems(const Kind& kind, const Json& review, const std::string& ns) {
  const Json& spec = object_at(review, {"spec"});
  const auto given = [&spec](const char* field) -> const Json* {
    const Json* value = find(spec, {field});
    return value == nullptr || value->is_null() ? nullptr : value;
  };
  const Json* resource = given("resourceAttributes");
  const Json* other = given("nonResourceAttributes");
  const bool local = kind.kind == "LocalSubjectAccessReview";
  std::vector<Cause> out;
  if (resource != nullptr && other != nullptr) {
    out.push_back(bad_value("spec.nonResourceAttributes", *other, "cannot be specified in combination with resourceAttributes"));
  } else if (resource == nullptr && other == nullptr) {
    out.push_back(bad_value("spec.resourceAttributes", nullptr,
                            "exactly one of nonResourceAttributes or resourceAttributes must be specified"));
  }
  if (kind.kind != "SelfSubjectAccessReview" && str(spec, {"user"}).empty() && string_list_at(spec, {"groups"}).empty())
    out.push_back(bad_value("spec.user", "", "at least one of user or group must be specified"));
  Json metadata = object_at(review, {"metadata"});
  if (local) metadata.erase("namespace");
  for (const auto& [field, value] : metadata.items()) {
    if (field == "managedFields" || value.empty() || value == Json("") || value == Json(0)) continue;  // nothing was said
    out.push_back(
        bad_value("metadata", object_at(review, {"metadata"}), local ? "must be empty except for namespace" : "must be empty"));
    break;
  }
  if (!local) return out;
  if (resource != nullptr && str(*resource, {"namespace"}) != ns)
    out.push_back(bad_value("spec.resourceAttributes.namespace", str(*resource, {"namespace"}), "must match metadata.namespace"));
  if (other != nullptr) out.push_back(bad_value("spec.nonResourceAttributes", *other, "disallowed on this kind of request"));
  return out;
}

Json decision_json(const Decision& decision) {
  Json out = {{"allowed", decision.allowed}};
  if (!decision.reason.empty()) out["reason"] = decision.reason;
  return out;
}

serve::User reviewed_user(const Json& spec) {
  serve::User out;
  out.name = str(spec, {"user"});
  out.uid = str(spec, {"uid"});
  out.groups = string_list_at(spec, {"groups"});
  return out;
}

ApiResult<Json> access_review(const Reviewers& who, const Kind& kind, const serve::ApiRequest& request, Json review) {
  Kind named = kind;
  named.kind.clear();
  if (const auto problems = review_problems(kind, review, request.what.ns); !problems.empty())
    return invalid(named, "", problems);
  const Json& spec = object_at(review, {"spec"});
  const auto what = attributes_of(spec);
  const serve::User user = kind.kind == "SelfSubjectAccessReview" ? request.user : reviewed_user(spec);
  review["status"] = decision_json(who.rbac.authorize(user, what));
  return review;
}

Json rules_review(const Reviewers& who, const serve::ApiRequest& request, Json review) {
  Json resources = Json::array();
  Json urls = Json::array();
  for (const auto& rule : who.rbac.rules_of(request.user, str(review, {"spec", "namespace"}))) {
    (rule.urls.empty() ? resources : urls).push_back(rule.json());
  }
  review["status"] = {{"resourceRules", std::move(resources)}, {"nonResourceRules", std::move(urls)}, {"incomplete", false}};
  return review;
}

ApiResult<Json> token_review(const Reviewers& who, const Kind& kind, Json review) {
  const auto token = str(review, {"spec", "token"});
  if (token.empty()) return bad_request("token is required for TokenReview in authentication");
  auto wanted = string_list_at(review, {"spec", "audiences"});
  if (wanted.empty()) wanted = {std::string(kIssuer)};
  std::vector<std::string> audiences;
  const auto user = who.authenticator.user_of_token(token, &audiences);
  std::vector<std::string> both;
  for (const auto& one : wanted) {
    const bool held = std::find(audiences.begin(), audiences.end(), one) != audiences.end();
    if (held || (audiences.empty() && one == kIssuer)) both.push_back(one);
  }
  if (!user || both.empty()) {
    review["status"] = {{"user", Json::object()}, {"error", "invalid bearer token"}};
  } else {
    serve::User shown = *user;
    shown.groups.emplace_back("system:authenticated");
    review["status"] = {{"authenticated", true}, {"user", user_json(shown)}, {"audiences", both}};
  }
  static_cast<void>(kind);
  return review;
}

}  // namespace

bool is_review(const Kind& kind) { return kind.group == "authentication.k8s.io" || kind.group == "authorization.k8s.io"; }

ApiResult<Json> answer_review(const Reviewers& who, const Kind& kind, const serve::ApiRequest& request, Json review) {
  if (!object_at(review, {"spec"}).is_object()) return bad_request("spec is missing");
  if (kind.kind == "TokenReview") return token_review(who, kind, std::move(review));
  if (kind.kind == "SelfSubjectReview") {
    at_or_make(review, {"metadata", "creationTimestamp"}) = format_time(who.engine.clock().now());
    review["status"] = {{"userInfo", user_json(request.user)}};
    return review;
  }
  if (kind.kind == "SelfSubjectRulesReview") {
    if (str(review, {"spec", "namespace"}).empty()) return bad_request("no namespace on request");
    return rules_review(who, request, std::move(review));
  }
  return access_review(who, kind, request, std::move(review));
}

namespace {

ApiStatus check_token_lifetime(std::int64_t seconds) {
  Kind named;
  named.group = "authentication.k8s.io";
  named.kind = "TokenRequest";
  if (seconds < kShortestToken)
    return invalid(named, "", {bad_value("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")});
  if (seconds > (std::int64_t{1} << 32))
    return invalid(named, "",
                   {bad_value("spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")});
  return {};
}

/// Adds the object that a token is bound to to its claims.
ApiStatus bind_token(const Engine& engine, const std::string& ns, const std::string& account, const Json& bound, Json& own) {
  const auto bound_kind = str(bound, {"kind"});
  const auto kind = engine.kinds().find_kind("", bound_kind);
  if (!kind || (bound_kind != "Pod" && bound_kind != "Secret" && bound_kind != "Node"))
    return bad_request("cannot bind token for serviceaccount \"" + account + "\" to a " + bound_kind);
  FLEETADM_TRY(const Json object, engine.get(*kind, kind->namespaced ? ns : "", str(bound, {"name"})));
  if (const auto uid = str(bound, {"uid"}); !uid.empty() && uid != uid_of(object)) {
    return modified_meanwhile(*kind, str(bound, {"name"}),
                              "the UID in the bound object reference (" + uid +
                                  ") does not match the UID in record. The object might have been deleted and then recreated");
  }
  const std::string key = bound_kind == "Pod" ? "pod" : bound_kind == "Secret" ? "secret" : "node";
  own[key] = {{"name", name_of(object)}, {"uid", uid_of(object)}};
  if (const auto node = str(object, {"spec", "nodeName"}); bound_kind == "Pod" && !node.empty()) {
    own["node"] = {{"name", node}};
    if (const auto stored = engine.store().get("/nodes", "", node)) own["node"]["uid"] = uid_of(stored->json());
  }
  return {};
}

}  // namespace

ApiResult<Json> answer_token_request(const Reviewers& who, const Kind& accounts, const serve::ApiRequest& request,
                                     Json token_request) {
  const auto& ns = request.what.ns;
  const auto& name = request.what.name;
  FLEETADM_TRY(const Json account, who.engine.get(accounts, ns, name));
  const auto seconds = num(token_request, {"spec", "expirationSeconds"}, kDefaultToken);
  FLEETADM_CHECK(check_token_lifetime(seconds));
  auto audiences = string_list_at(token_request, {"spec", "audiences"});
  const bool ours = audiences.empty() || (audiences.size() == 1 && audiences.front() == kIssuer);
  if (audiences.empty()) audiences = {std::string(kIssuer)};
  const auto now = who.engine.clock().now();
  Json own = {{"namespace", ns}, {"serviceaccount", {{"name", name}, {"uid", uid_of(account)}}}};
  const Json& bound = object_at(token_request, {"spec", "boundObjectRef"});
  if (!str(bound, {"kind"}).empty()) FLEETADM_CHECK(bind_token(who.engine, ns, name, bound, own));
  auto lifetime = seconds;
  if (seconds == kBoundPodToken && str(bound, {"kind"}) == "Pod" && ours) {
    lifetime = kYear;
    own["warnafter"] = unix_seconds(now) + seconds;
  }
  const auto issued = unix_seconds(now);
  const Json claims = {{"iss", kIssuer},       {"sub", "system:serviceaccount:" + ns + ":" + name},
                       {"aud", audiences},     {"iat", issued},
                       {"nbf", issued},        {"exp", issued + lifetime},
                       {"jti", random_uuid()}, {"kubernetes.io", std::move(own)}};
  auto token = who.signer.sign(claims);
  if (!token) return tl::unexpected(from_error(token.error()));
  at_or_make(token_request, {"metadata", "name"}) = name;
  at_or_make(token_request, {"metadata", "namespace"}) = ns;
  at_or_make(token_request, {"metadata", "uid"}) = random_uuid();
  at_or_make(token_request, {"metadata", "creationTimestamp"}) = format_time(now);
  at_or_make(token_request, {"spec", "audiences"}) = audiences;
  at_or_make(token_request, {"spec", "expirationSeconds"}) = seconds;
  token_request["status"] = {{"token", std::move(*token)},
                             {"expirationTimestamp", format_time(now + std::chrono::seconds(lifetime))}};
  return token_request;
}

}  // namespace fleetadm::sandbox
