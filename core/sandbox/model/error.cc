#include "core/sandbox/model/error.h"

#include "core/sandbox/model/kind.h"

namespace fleetadm::sandbox {
namespace {

ApiError make(int code, std::string reason, std::string message) {
  return api_fail(code, std::move(reason), std::move(message)).value();
}

Json details_of(const Kind& kind, const std::string& name) {
  Json details = Json::object();
  if (!name.empty()) details["name"] = name;
  if (!kind.group.empty()) details["group"] = kind.group;
  details["kind"] = kind.plural;
  return details;
}

}  // namespace

tl::unexpected<ApiError> bad_request(std::string message) { return api_fail(400, "BadRequest", std::move(message)); }

tl::unexpected<ApiError> not_found(const Kind& kind, const std::string& name) {
  auto error = make(404, "NotFound", kind.qualified() + " \"" + name + "\" not found");
  error.details = details_of(kind, name);
  return tl::unexpected(std::move(error));
}

tl::unexpected<ApiError> already_exists(const Kind& kind, const std::string& name, bool deleting) {
  auto error =
      make(409, "AlreadyExists",
           std::string(deleting ? "object is being deleted: " : "") + kind.qualified() + " \"" + name + "\" already exists");
  error.details = details_of(kind, name);
  return tl::unexpected(std::move(error));
}

tl::unexpected<ApiError> modified_meanwhile(const Kind& kind, const std::string& name, std::string why) {
  if (why.empty()) why = "the object has been modified; please apply your changes to the latest version and try again";
  auto error = make(409, "Conflict", "Operation cannot be fulfilled on " + kind.qualified() + " \"" + name + "\": " + why);
  error.details = details_of(kind, name);
  return tl::unexpected(std::move(error));
}

tl::unexpected<ApiError> invalid(const Kind& kind, const std::string& name, const std::vector<Cause>& causes) {
  std::string qualified = kind.kind;
  if (!kind.group.empty()) qualified += "." + kind.group;
  std::string text;
  for (const auto& cause : causes) text += (text.empty() ? "" : ", ") + cause.field + ": " + cause.message;
  if (causes.size() > 1) text = "[" + text + "]";
  auto error = make(422, "Invalid", qualified + " \"" + name + "\" is invalid: " + text);
  error.details = Json::object();
  if (!name.empty()) error.details["name"] = name;
  if (!kind.group.empty()) error.details["group"] = kind.group;
  error.details["kind"] = kind.kind;
  error.details["causes"] = apimachinery::to_json(causes);
  return tl::unexpected(std::move(error));
}

tl::unexpected<ApiError> invalid_options(const std::string& options_kind, const std::string& field, const std::string& message,
                                         const std::string& reason) {
  return invalid_options(options_kind, {{reason, message, field}});
}

tl::unexpected<ApiError> invalid_options(const std::string& options_kind, const std::vector<Cause>& causes) {
  Kind kind;
  kind.group = "meta.k8s.io";
  kind.kind = options_kind;
  return invalid(kind, "", causes);
}

tl::unexpected<ApiError> other_name(const std::string& given, const std::string& in_url) {
  if (given.empty())
    return bad_request("the name of the object (" + in_url + " based on URL) was undeterminable: name must be provided");
  return bad_request("the name of the object (" + given + ") does not match the name on the URL (" + in_url + ")");
}

tl::unexpected<ApiError> forbidden(const Kind& kind, const std::string& name, const std::string& why) {
  auto error = make(403, "Forbidden", kind.qualified() + (name.empty() ? "" : " \"" + name + "\"") + " is forbidden: " + why);
  error.details = details_of(kind, name);
  return tl::unexpected(std::move(error));
}

ApiError from_error(const Error& error) {
  int code = error.code;
  std::string reason = error.reason;
  if (code == 0) {
    switch (error.category) {
      case Category::kConflict: code = 409; break;
      case Category::kInvalid: code = 422; break;
      case Category::kUsage: code = 400; break;
      case Category::kNotFound: code = 404; break;
      case Category::kGone: code = 410; break;
      case Category::kUnsupported: code = 415; break;
      case Category::kTimeout: code = 504; break;
      default: code = 500; break;
    }
  }
  if (reason.empty()) {
    switch (code) {
      case 400: reason = "BadRequest"; break;
      case 404: reason = "NotFound"; break;
      case 409: reason = "Conflict"; break;
      case 410: reason = "Expired"; break;
      case 415: reason = "UnsupportedMediaType"; break;
      case 422: reason = "Invalid"; break;
      default: break;
    }
  }
  return make(code, reason, error.message);
}

Json status_of(const ApiError& error) {
  Json metadata = Json::object();
  if (!error.continue_token.empty()) metadata["continue"] = error.continue_token;
  Json status = {{"kind", "Status"},    {"apiVersion", "v1"},       {"metadata", std::move(metadata)},
                 {"status", "Failure"}, {"message", error.message}, {"code", error.code}};
  if (!error.reason.empty()) status["reason"] = error.reason;
  Json details = error.details.is_object() ? error.details : Json::object();
  if (error.retry_after > 0) details["retryAfterSeconds"] = error.retry_after;
  const bool plain = error.code == 400 || error.code == 401 || error.code == 410 || error.code == 413;
  if (!plain || !details.empty()) status["details"] = std::move(details);
  return status;
}

}  // namespace fleetadm::sandbox
