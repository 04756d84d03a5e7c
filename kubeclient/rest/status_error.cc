// HTTP answers as Errors (docs/reference/kubernetes-api.md#errors).
#include <algorithm>
#include <array>
#include <charconv>

#include "kubeclient/base/log.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::kube {

namespace {

constexpr std::size_t kMaxBodyInMessage = 2048;

struct ReasonRow {
  std::string_view reason;
  Category category;
};
// The reason counts before the code.
constexpr std::array<ReasonRow, 20> kReasons{{
    {"Unauthorized", Category::kAuth},
    {"Forbidden", Category::kAuth},
    {"NotFound", Category::kNotFound},
    {"AlreadyExists", Category::kConflict},
    {"Conflict", Category::kConflict},
    {"Gone", Category::kGone},
    {"Expired", Category::kGone},
    {"Invalid", Category::kInvalid},
    {"BadRequest", Category::kInvalid},
    {"RequestEntityTooLarge", Category::kInvalid},
    {"MethodNotAllowed", Category::kUnsupported},
    {"NotAcceptable", Category::kUnsupported},
    {"UnsupportedMediaType", Category::kUnsupported},
    {"Timeout", Category::kTimeout},
    {"ServerTimeout", Category::kUnavailable},
    {"TooManyRequests", Category::kUnavailable},
    {"InternalError", Category::kUnavailable},
    {"ServiceUnavailable", Category::kUnavailable},
    {"StorageReadError", Category::kUnavailable},
    {kUnknownPath, Category::kNotFound},
}};

std::string reason_of_code(int code, Method method) {
  switch (code) {
    case 400: return "BadRequest";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "NotFound";
    case 405: return "MethodNotAllowed";
    case 406: return "NotAcceptable";
    case 409: return method == Method::kPost ? "AlreadyExists" : "Conflict";
    case 410: return "Expired";
    case 413: return "RequestEntityTooLarge";
    case 415: return "UnsupportedMediaType";
    case 422: return "Invalid";
    case 429: return "TooManyRequests";
    case 503: return "ServiceUnavailable";
    case 504: return "Timeout";
    default: return code >= 500 ? "InternalError" : std::string{};
  }
}

Category category_of(std::string_view reason, int code) {
  const auto* row = std::find_if(kReasons.begin(), kReasons.end(), [&](const ReasonRow& r) { return r.reason == reason; });
  if (row != kReasons.end()) return row->category;
  if (code >= 500) return Category::kUnavailable;
  if (code >= 400) return Category::kInvalid;
  return Category::kInternal;
}

// The server's own answer to an applied object whose fields have wrong types is 500, though nothing of it is broken.
bool is_refused_content(const Error& error) {
  constexpr std::array<std::string_view, 3> kBegins{"failed to create typed patch object", "failed to create typed live object",
                                                    "failed to convert"};
  return error.code == 500 &&
         std::any_of(kBegins.begin(), kBegins.end(), [&](std::string_view begin) { return error.message.starts_with(begin); });
}

std::string hint_of(const Error& error) {
  if (error.code == 401) return "the credentials are missing, wrong or expired; check the kubeconfig's user";
  if (error.code == 403) return "ask an administrator for the missing permission";
  if (error.reason == kUnknownPath) return "is the address that of a Kubernetes API server, and is the API's CRD installed?";
  return {};
}

}  // namespace

Error error_of(const Response& response, const Request& request) {
  Error error;
  error.code = response.status;
  if (const auto after = response.headers.find("retry-after"); after != response.headers.end()) {
    const auto& text = after->second;
    std::from_chars(text.data(), text.data() + text.size(), error.retry_after_seconds);
  }
  bool about_object = false;
  const bool looks_like_json = !response.body.empty() && response.body.front() == '{';
  if (auto body = looks_like_json ? parse_json(response.body) : fail(Category::kInvalid, "no JSON");
      body && str(*body, {"kind"}) == "Status" && str(*body, {"apiVersion"}) == "v1") {
    error.reason = str(*body, {"reason"});
    error.message = str(*body, {"message"});
    about_object = !str(*body, {"details", "name"}).empty();
    if (error.retry_after_seconds == 0) {
      error.retry_after_seconds =
          static_cast<int>(std::clamp<std::int64_t>(num(*body, {"details", "retryAfterSeconds"}), 0, 86'400));
    }
  }
  if (error.reason.empty()) error.reason = reason_of_code(response.status, request.method);
  if (error.reason == "NotFound" && !about_object) error.reason = kUnknownPath;
  if (error.message.empty()) {
    error.message = std::string(to_string(request.method)) + " " + request.path + ": HTTP " + std::to_string(response.status);
    auto text = response.body.substr(0, kMaxBodyInMessage);
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    if (!text.empty()) error.message += ": " + log::escape_terminal(text);
  }
  error.category = is_refused_content(error) ? Category::kInvalid : category_of(error.reason, error.code);
  error.hint = hint_of(error);
  return error;
}

Json merge_diff(const Json& before, const Json& after) {
  Json diff = Json::object();
  if (!before.is_object() || !after.is_object()) return diff;
  for (const auto& [key, value] : before.items()) {
    if (!after.contains(key)) diff[key] = nullptr;
  }
  for (const auto& [key, value] : after.items()) {
    const auto old = before.find(key);
    if (old == before.end()) {
      diff[key] = value;
    } else if (old->is_object() && value.is_object()) {
      Json inner = merge_diff(*old, value);
      if (!inner.empty()) diff[key] = std::move(inner);
    } else if (*old != value) {
      diff[key] = value;
    }
  }
  return diff;
}

}  // namespace fleetadm::kube
