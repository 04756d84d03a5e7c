#include "core/proxy/gateway/reviews.h"

#include <utility>

#include "kubeclient/base/json.h"
#include "kubeclient/base/log.h"

namespace fleetadm::proxy {
namespace {

constexpr const char* kLog = "gateway";
constexpr auto kPatience = std::chrono::seconds(10);

/// What a caller is told of the hub's trouble; the log has the rest.
Error no_answer(std::string_view question, const Error& error) {
  log::warn(kLog, std::string(question) + ": " + error.message);
  return {.code = 503,
          .category = Category::kUnavailable,
          .message = "the hub's API server did not answer a " + std::string(question),
          .reason = "ServiceUnavailable",
          .retry_after_seconds = 1};
}

Result<Json> ask(const kube::Client& hub, std::string_view path, std::string_view kind, const Json& review) {
  auto answer = hub.with_timeout(kPatience).post(path, review, true);
  if (!answer) return fail(no_answer(kind, answer.error()));
  return answer;
}

}  // namespace

Result<ReviewedToken> review_token(const kube::Client& hub, const std::string& token, std::string_view audience) {
  Json review = {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenReview"}, {"spec", {{"token", token}}}};
  if (!audience.empty()) review["spec"]["audiences"] = Json::array({audience});
  FLEETADM_TRY(const Json answer, ask(hub, "/apis/authentication.k8s.io/v1/tokenreviews", "TokenReview", review));
  ReviewedToken out;
  const std::string name = str(answer, {"status", "user", "username"});
  if (!flag(answer, {"status", "authenticated"}) || name.empty()) return out;
  // An API server that does not know of audiences ignores the question (docs/reference/kubernetes-access.md#authentication).
  if (!audience.empty()) {
    const auto valid = string_list_at(answer, {"status", "audiences"});
    if (std::ranges::find(valid, audience) == valid.end()) return out;
  }
  auto caller = std::make_unique<Caller>();
  caller->name = name;
  caller->uid = str(answer, {"status", "user", "uid"});
  caller->groups = string_list_at(answer, {"status", "user", "groups"});
  for (const auto& [key, values] : object_at(answer, {"status", "user", "extra"}).items()) {
    if (!values.is_array()) continue;
    for (const Json& value : values) {
      if (value.is_string()) caller->extra[key].push_back(value.get<std::string>());
    }
  }
  out.caller = std::move(caller);
  return out;
}

Result<bool> review_access(const kube::Client& hub, const Caller& caller, const serve::Attributes& what) {
  Json asked = {{"group", what.group}, {"version", what.version}, {"resource", what.resource}, {"verb", what.verb}};
  for (const auto& [member, value] :
       {std::pair{"subresource", &what.subresource}, {"namespace", &what.ns}, {"name", &what.name}}) {
    if (!value->empty()) asked[member] = *value;
  }
  Json spec = {{"user", caller.name}, {"groups", caller.groups}, {"resourceAttributes", std::move(asked)}};
  if (!caller.uid.empty()) spec["uid"] = caller.uid;
  if (!caller.extra.empty()) spec["extra"] = caller.extra;
  const Json review = {{"apiVersion", "authorization.k8s.io/v1"}, {"kind", "SubjectAccessReview"}, {"spec", std::move(spec)}};
  FLEETADM_TRY(const Json answer, ask(hub, "/apis/authorization.k8s.io/v1/subjectaccessreviews", "SubjectAccessReview", review));
  return flag(answer, {"status", "allowed"}) && !flag(answer, {"status", "denied"});
}

}  // namespace fleetadm::proxy
