#include "core/proxy/hop/error_answer.h"

#include <string>
#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm::proxy {
namespace {

int code_of(const Error& error) {
  if (error.code >= 400) return error.code;
  switch (error.category) {
    case Category::kTimeout: return 504;
    case Category::kInvalid:
    case Category::kUsage: return 400;
    case Category::kAuth: return 403;
    case Category::kNotFound: return 404;
    case Category::kUnsupported: return 405;
    case Category::kConflict: return 409;
    case Category::kGone: return 410;
    case Category::kInternal: return 500;
    default: return 502;
  }
}

/// Kubernetes' words; those of gateways are not among them, and named as HTTP names them.
std::string_view reason_of(int code) {
  switch (code) {
    case 400: return "BadRequest";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "NotFound";
    case 405: return "MethodNotAllowed";
    case 409: return "Conflict";
    case 410: return "Expired";
    case 413: return "RequestEntityTooLarge";
    case 429: return "TooManyRequests";
    case 502: return "BadGateway";
    case 503: return "ServiceUnavailable";
    case 504: return "Timeout";
    default: return "InternalError";
  }
}

}  // namespace

serve::HttpResponse error_answer(const Error& error, std::string_view hop) {
  const int code = code_of(error);
  Json status = {{"kind", "Status"},
                 {"apiVersion", "v1"},
                 {"metadata", Json::object()},
                 {"status", "Failure"},
                 {"message", error.message},
                 {"reason", error.reason.empty() ? std::string(reason_of(code)) : error.reason},
                 {"code", code}};
  if (error.retry_after_seconds > 0) status["details"]["retryAfterSeconds"] = error.retry_after_seconds;
  if (!hop.empty()) status["details"]["causes"] = Json::array({{{"reason", "FailedHop"}, {"message", hop}}});
  // Parts of a message may be another program's, and not be UTF-8.
  auto out = serve::answer_text(code, status.dump(-1, ' ', false, Json::error_handler_t::replace), "application/json");
  if (!hop.empty()) out.headers.emplace_back(kHopHeader, hop);
  if (error.retry_after_seconds > 0) out.headers.emplace_back("retry-after", std::to_string(error.retry_after_seconds));
  return out;
}

}  // namespace fleetadm::proxy
