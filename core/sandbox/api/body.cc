// Request bodies and the options of writes.
#include <algorithm>

#include "core/apimachinery/decode.h"
#include "core/apimachinery/depth.h"
#include "core/apimachinery/protobuf.h"
#include "core/sandbox/api/write.h"
#include "kubeclient/base/utf8.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::sandbox {
namespace {

constexpr std::size_t kMaxManager = 128;

tl::unexpected<ApiError> unknown_format() {
  return api_fail(
      415, "UnsupportedMediaType",
      "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, "
      "application/vnd.kubernetes.protobuf");
}

ApiResult<Json> parse_text(const serve::HttpRequest& http, const std::string& api_version, const std::string& kind, bool custom) {
  const auto type = media_type(http.header("content-type"));
  if (type == "application/vnd.kubernetes.protobuf" && !custom) {
    auto decoded = apimachinery::decode_protobuf(http.body, api_version, kind);
    if (!decoded) return tl::unexpected(from_error(decoded.error()));
    return std::move(*decoded);
  }
  if (type.empty() || type == "application/json") {
    auto parsed = parse_json(http.body);
    if (!parsed) return bad_request("Object 'Kind' is missing or the JSON is malformed: " + parsed.error().message);
    return std::move(*parsed);
  }
  if (type == "application/yaml") {
    auto parsed = parse_yaml(http.body);
    if (!parsed) return bad_request("error parsing YAML: " + parsed.error().message);
    return std::move(*parsed);
  }
  return unknown_format();
}

std::string agent_name(std::string_view agent) {
  std::string out;
  for (const char c : agent.substr(0, agent.find('/'))) {
    if (c >= 0x20 && c != 0x7f) out += c;
  }
  out = valid_utf8(out);
  return out.substr(0, kMaxManager);
}

}  // namespace

ApiStatus check_body_depth(const Json& body) {
  if (!apimachinery::object_too_deep(body)) return {};
  return bad_request("the body is nested deeper than " + std::to_string(apimachinery::kMaxObjectDepth) + " levels");
}

ApiResult<Json> read_body(const serve::HttpRequest& http, const Kind& kind, std::string_view subresource) {
  auto api_version = kind.api_version();
  auto name = kind.kind;
  if (const auto* sub = kind.subresource(subresource); sub != nullptr && !sub->kind.empty()) {
    name = sub->kind;
    api_version = sub->group.empty() ? sub->version : sub->group + "/" + sub->version;
  }
  FLEETADM_TRY(Json object, parse_text(http, api_version, name, kind.custom != nullptr));
  if (!object.is_object()) return bad_request("the body is no object");
  FLEETADM_CHECK(check_body_depth(object));
  const auto given_version = str(object, {"apiVersion"});
  const auto given_kind = str(object, {"kind"});
  if (kind.custom != nullptr && given_kind.empty()) return bad_request("Object 'Kind' is missing in the body");
  if (kind.custom != nullptr && given_version.empty()) return bad_request("Object 'apiVersion' is missing in the body");
  if (!given_version.empty() && given_version != api_version) {
    if (kind.custom != nullptr) {
      return bad_request("the API version in the data (" + given_version + ") does not match the expected API version (" +
                         api_version + ")");
    }
    return bad_request(name + " in version \"" + kind.version + "\" cannot be handled as a " + name + ": no kind \"" +
                       (given_kind.empty() ? name : given_kind) + "\" is registered for version \"" + given_version + "\"");
  }
  if (!given_kind.empty() && given_kind != name) {
    if (kind.custom != nullptr) return invalid(kind, name_of(object), {bad_value("kind", given_kind, "must be " + name)});
    return bad_request(given_kind + " in version \"" + kind.version + "\" cannot be handled as a " + name + ": no kind \"" +
                       given_kind + "\" is registered for this endpoint");
  }
  object["apiVersion"] = api_version;
  object["kind"] = name;
  if (const auto metadata = object.find("metadata"); metadata != object.end() && !metadata->is_object()) {
    if (metadata->is_null()) {
      object.erase(metadata);
    } else {
      return bad_request(name + " in version \"" + kind.version + "\" cannot be handled as a " + name +
                         ": metadata is no object");
    }
  }
  return object;
}

ApiResult<Json> read_delete_body(const serve::HttpRequest& http) {
  const auto* type = apimachinery::find_kind("meta.k8s.io/v1", "DeleteOptions");
  FLEETADM_TRY(Json body, parse_text(http, "meta.k8s.io/v1", "DeleteOptions", false));
  if (!body.is_object()) return bad_request("the body is no DeleteOptions");
  FLEETADM_CHECK(check_body_depth(body));
  if (const auto kind = str(body, {"kind"}); !kind.empty() && kind != "DeleteOptions") {
    return bad_request("no kind \"" + kind + "\" is registered for version \"" + str(body, {"apiVersion"}, "v1") +
                       "\": a deletion takes DeleteOptions");
  }
  // What cannot be read must not be taken for left out: a precondition would not be kept.
  std::vector<std::string> unknown;
  if (const auto decoded = apimachinery::decode_builtin(body, *type, unknown); !decoded)
    return bad_request(decoded.error().message);
  return body;
}

ApiResult<WriteOptions> read_write_options(const serve::ApiRequest& request, const std::string& options_kind) {
  WriteOptions out;
  out.user = request.user;
  out.subresource = request.what.subresource;
  const auto dry_run = request.query.all("dryRun");
  out.dry_run = !dry_run.empty();
  if (std::any_of(dry_run.begin(), dry_run.end(), [](const std::string& value) { return value != "All"; }))
    return invalid_options(options_kind, "dryRun", unsupported("", dry_run, {"All"}).message, "FieldValueNotSupported");
  out.manager = request.query.get("fieldManager");
  if (out.manager.size() > kMaxManager) {
    return invalid_options(options_kind, "fieldManager", "Too long: may not be more than 128 bytes", "FieldValueTooLong");
  }
  for (std::size_t i = 0; i < out.manager.size(); ++i) {
    const auto c = static_cast<unsigned char>(out.manager[i]);
    if (c >= 0x20 && c != 0x7f) continue;
    constexpr std::string_view kHex = "0123456789ABCDEF";
    const auto why =
        std::string("invalid character U+00") + kHex[c >> 4U] + kHex[c & 15U] + " (at position " + std::to_string(i) + ")";
    return invalid_options(options_kind, "fieldManager", bad_value("", out.manager, why).message, "FieldValueInvalid");
  }
  if (out.manager.empty()) out.manager = agent_name(request.http->header("user-agent"));
  if (const auto validation = request.query.get("fieldValidation");
      !validation.empty() && validation != "Ignore" && validation != "Warn" && validation != "Strict") {
    return invalid_options(options_kind, "fieldValidation", unsupported("", validation, {"", "Ignore", "Strict", "Warn"}).message,
                           "FieldValueNotSupported");
  }
  return out;
}

}  // namespace fleetadm::sandbox
