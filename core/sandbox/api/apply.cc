#include "core/sandbox/api/apply.h"

#include "core/apimachinery/decode.h"
#include "core/apimachinery/managed_fields.h"
#include "core/apimachinery/patch.h"
#include "core/apimachinery/protobuf.h"
#include "core/apimachinery/unique_keys.h"
#include "core/sandbox/api/write.h"
#include "core/sandbox/convert/converter.h"
#include "kubeclient/base/go_json.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/base/yaml_keys.h"

namespace fleetadm::sandbox {
namespace {

/// The shape of a row's objects; null of kinds that have none.
const apimachinery::TypeNode* type_of(const Kind& kind) {
  if (kind.custom != nullptr) return kind.custom->shape ? &kind.custom->shape->type() : nullptr;
  return apimachinery::find_kind(kind.group, kind.version, kind.kind);
}

/// What an object of the kind without content looks like.
Json empty_of(const Kind& kind, const apimachinery::TypeNode& type) {
  Json out = Json::object();
  if (kind.custom != nullptr) return out;
  std::vector<std::string> unknown;
  static_cast<void>(apimachinery::decode_builtin(out, type, unknown));
  return out;
}

apimachinery::Writer writer_of(const Kind& kind, const WriteOptions& options, Instant now) {
  apimachinery::Writer out;
  out.manager = options.manager.empty() ? "unknown" : options.manager;
  out.api_version = kind.api_version();
  out.subresource = options.subresource;
  out.now = now;
  if (options.admitted_as == "scale") {
    out.subresource = "scale";
    out.timeless = true;
  }
  if (options.subresource == "status" || options.subresource == "approval") {
    out.reset = {"spec"};
  } else if (options.subresource.empty() && kind.subresource("status") != nullptr) {
    out.reset = {"status"};
  }
  if (const auto* converter = converter_of(kind)) {
    out.convert = [converter](const Json& object, const std::string& api_version) -> Result<apimachinery::InVersion> {
      const auto version = api_version.substr(api_version.rfind('/') + 1);
      const auto* type = converter->type(version);
      if (type == nullptr) return apimachinery::InVersion();
      auto converted = converter->convert(object, version);
      if (!converted) return fail(Category::kUnavailable, converted.error().message);
      return apimachinery::InVersion{std::move(*converted), type};
    };
  }
  return out;
}

ApiResult<Json> read_intent(const serve::ApiRequest& request, const Kind& kind) {
  const auto parsed = parse_yaml(request.http->body);  // JSON is YAML
  if (!parsed) return bad_request("error decoding YAML: " + parsed.error().message);
  if (!parsed->is_object()) return bad_request("the body is no object");
  FLEETADM_CHECK(check_body_depth(*parsed));
  if (const auto version = str(*parsed, {"apiVersion"}); version != kind.api_version()) {
    return bad_request("Incorrect version specified in apply patch. Specified patch version: " + version +
                       ", expected: " + kind.api_version());
  }
  if (str(*parsed, {"kind"}) != kind.kind)
    return bad_request("the kind in the data (" + str(*parsed, {"kind"}) + ") does not match the expected kind (" + kind.kind +
                       ")");
  if (const auto name = name_of(*parsed); !name.empty() && name != request.what.name) return other_name(name, request.what.name);
  if (const auto ns = namespace_of(*parsed); kind.namespaced && !ns.empty() && ns != request.what.ns) {
    return bad_request("the namespace of the provided object does not match the namespace sent on the request");
  }
  return *parsed;
}

/// kubectl's own record of what was applied follows what its users apply on the server.
void follow_last_applied(const WriteOptions& options, Json intent, Json& merged) {
  constexpr const char* kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";
  if (options.manager != "kubectl" || annotation_of(merged, kLastApplied).empty()) return;
  erase_at(intent, {"metadata", "annotations", kLastApplied});
  if (find(intent, {"metadata", "annotations"}) != nullptr && object_at(intent, {"metadata", "annotations"}).empty())
    erase_at(intent, {"metadata", "annotations"});
  at_or_make(merged, {"metadata", "annotations", kLastApplied}) = dump_go_json(intent) + "\n";
}

/// Keys that the body gives twice: Strict refuses them, Warn says so.
ApiStatus check_apply_keys(const serve::ApiRequest& request, std::vector<std::string>& warnings) {
  const auto mode = request.query.get("fieldValidation");
  if (mode == "Ignore" || apimachinery::has_unique_keys(request.http->body)) return {};
  std::string text;
  for (const auto& one : duplicate_yaml_keys(request.http->body))
    text += "\n  line " + std::to_string(one.line) + ": key " + dump_json(Json(one.key)) + " already set in map";
  if (text.empty()) return {};
  text = "error converting YAML to JSON: yaml: unmarshal errors:" + text;
  if (mode == "Strict") return bad_request("error strict decoding YAML: " + text);
  warnings.push_back(std::move(text));
  return {};
}

}  // namespace

ApiResult<serve::HttpResponse> answer_apply(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                            const KindPtr& kind, WriteOptions options) {
  if (request.query.get("fieldManager").empty()) {
    return invalid_options("PatchOptions", "fieldManager", "Required value: is required for apply patch", "FieldValueRequired");
  }
  const auto* type = type_of(*kind);
  if (type == nullptr) return api_fail(415, "UnsupportedMediaType", "415: Unsupported Media Type");
  FLEETADM_TRY(Json intent, read_intent(request, *kind));
  const auto wanted_version = resource_version_of(intent);
  erase_at(intent, {"metadata", "resourceVersion"});
  options.tracks_fields = false;
  std::vector<std::string> warnings;
  FLEETADM_CHECK(check_apply_keys(request, warnings));
  const Json empty = empty_of(*kind, *type);
  const bool may_create = request.what.subresource.empty();
  FLEETADM_TRY(auto written,
               state->engine->modify(
                   *kind, request.what.ns, request.what.name, options, may_create, [&](const Json* old) -> ApiResult<Json> {
                     if (old == nullptr && name_of(intent).empty()) return other_name({}, request.what.name);
                     if (old == nullptr && !uid_of(intent).empty()) {
                       return modified_meanwhile(*kind, request.what.name,
                                                 "uid mismatch: the provided object specified uid " + uid_of(intent) +
                                                     ", and no existing object was found");
                     }
                     if (old != nullptr && !wanted_version.empty() && wanted_version != resource_version_of(*old))
                       return modified_meanwhile(*kind, request.what.name);
                     auto merged = apimachinery::apply_intent(old, empty, intent, *type,
                                                              writer_of(*kind, options, state->engine->clock().now()),
                                                              request.query.flag("force"));
                     if (!merged) return tl::unexpected(std::move(merged).error());
                     std::vector<std::string> unknown;
                     const auto decoded = kind->custom != nullptr ? kind->custom->shape->prune(*merged, unknown)
                                                                  : apimachinery::decode_builtin(*merged, *type, unknown);
                     if (!decoded) return tl::unexpected(from_error(decoded.error()));
                     follow_last_applied(options, intent, *merged);
                     return std::move(*merged);
                   }));
  FLEETADM_TRY(const auto wanted, negotiate(*request.http, object_conversions(), kind->custom == nullptr));
  FLEETADM_TRY(const Json shown, present(*kind, std::move(written.object), wanted, request.query.get("includeObject"),
                                         state->engine->clock().now()));
  auto response = answer_body(written.created ? 201 : 200, dump_json(shown), wanted);
  warnings.insert(warnings.end(), written.warnings.begin(), written.warnings.end());
  add_warnings(response, warnings);
  return response;
}

ApiStatus check_fields(const Kind& kind, Json& object, const serve::ApiRequest& request, std::vector<std::string>& warnings) {
  const auto* type = type_of(kind);
  if (type == nullptr) return {};
  std::vector<std::string> unknown;
  const auto decoded =
      kind.custom != nullptr ? kind.custom->shape->prune(object, unknown) : apimachinery::decode_builtin(object, *type, unknown);
  if (!decoded) {
    auto error = from_error(decoded.error());
    error.code = 400;
    error.reason = "BadRequest";
    error.message = kind.kind + " in version \"" + kind.version + "\" cannot be handled as a " + kind.kind + ": " + error.message;
    return tl::unexpected(std::move(error));
  }
  const auto mode = request.query.get("fieldValidation");
  if (mode == "Ignore") return {};
  const auto body_type = media_type(request.http->header("content-type"));
  std::vector<std::string> complaints;
  const bool is_json = body_type.empty() || body_type == "application/json";
  if (is_json && kind.custom == nullptr) {  // one strict decoder tells of both
    complaints = apimachinery::complaints_in_order(request.http->body, unknown);
  } else {  // duplicates are the decoder's, unknown fields the schema's
    complaints = apimachinery::field_complaints(
        unknown, is_json ? apimachinery::duplicate_fields(request.http->body) : std::vector<std::string>());
  }
  if (complaints.empty()) return {};
  if (mode != "Strict") {
    warnings = complaints;
    return {};
  }
  return bad_request(apimachinery::strict_message(kind.kind, kind.version, complaints));
}

ApiResult<Json> strategic_patch(const Kind& kind, const Json& old, const Json& patch) {
  const auto* type = apimachinery::find_kind(kind.group, kind.version, kind.kind);
  if (type == nullptr) return api_fail(415, "UnsupportedMediaType", "415: Unsupported Media Type");
  auto patched = apimachinery::strategic_merge_patch(old, patch, *type);
  if (!patched) return tl::unexpected(from_error(patched.error()));
  return std::move(*patched);
}

TrackFields field_tracker() {
  return [](const Kind& kind, const Json* old, Json& object, const WriteOptions& options, Instant now) {
    const auto* type = type_of(kind);
    if (type == nullptr) return;
    object = apimachinery::track_update(old, empty_of(kind, *type), std::move(object), *type, writer_of(kind, options, now));
  };
}

}  // namespace fleetadm::sandbox
