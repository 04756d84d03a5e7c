#include "core/sandbox/api/write.h"

#include <algorithm>

#include "core/sandbox/api/apply.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::sandbox {
namespace {

const char* const kApply = "application/apply-patch+yaml";

ApiStatus check_body_size(const serve::HttpRequest& http) {
  if (http.body_too_large) return api_fail(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728");
  return {};
}

/// The namespace of a body is the URL's, or empty.
ApiStatus check_namespace_of(const Kind& kind, Json& object, const std::string& ns) {
  const auto given = namespace_of(object);
  if (!kind.namespaced) {
    erase_at(object, {"metadata", "namespace"});
    return {};
  }
  if (!given.empty() && given != ns)
    return bad_request("the namespace of the provided object does not match the namespace sent on the request");
  at_or_make(object, {"metadata", "namespace"}) = ns;
  return {};
}

ApiResult<serve::HttpResponse> answer_object(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                             const Kind& kind, int status, Written written,
                                             std::vector<std::string> warnings = {}) {
  FLEETADM_TRY(const auto wanted, negotiate(*request.http, object_conversions(), kind.custom == nullptr));
  FLEETADM_TRY(const Json shown, present(kind, std::move(written.object), wanted, request.query.get("includeObject"),
                                         state->engine->clock().now()));
  auto response = answer_body(status, dump_json(shown), wanted);
  warnings.insert(warnings.end(), written.warnings.begin(), written.warnings.end());
  add_warnings(response, warnings);
  return response;
}

/// DeleteOptions as they come in, of a body or of a query.
struct AskedDeletion {
  DeleteOptions options;
  std::optional<bool> orphan;
  std::vector<std::string> dry_run;
};

ApiResult<DeleteOptions> checked_deletion(AskedDeletion asked) {
  auto& out = asked.options;
  out.dry_run = !asked.dry_run.empty();
  if (std::any_of(asked.dry_run.begin(), asked.dry_run.end(), [](const std::string& value) { return value != "All"; }))
    return invalid_options("DeleteOptions", "dryRun", unsupported("", asked.dry_run, {"All"}).message, "FieldValueNotSupported");
  if (asked.orphan && !out.propagation.empty()) {
    return invalid_options("DeleteOptions", "propagationPolicy",
                           bad_value("", out.propagation, "orphanDependents and deletionPropagation cannot be both set").message,
                           "FieldValueInvalid");
  }
  if (!out.propagation.empty() && out.propagation != "Background" && out.propagation != "Foreground" &&
      out.propagation != "Orphan") {
    return invalid_options("DeleteOptions", "propagationPolicy",
                           unsupported("", out.propagation, {"Foreground", "Background", "Orphan", "nil"}).message,
                           "FieldValueNotSupported");
  }
  if (asked.orphan) out.propagation = *asked.orphan ? "Orphan" : "Background";
  out.keeps_no_orphans = asked.orphan && !*asked.orphan;
  return std::move(out);
}

ApiResult<DeleteOptions> read_delete_options(const serve::ApiRequest& request) {
  if (!request.http->body.empty()) {
    FLEETADM_TRY(const Json body, read_delete_body(*request.http));
    return delete_options_of(body);
  }
  AskedDeletion asked;
  if (request.query.has("gracePeriodSeconds")) {
    FLEETADM_TRY(asked.options.grace_seconds, request.query.integer("gracePeriodSeconds").map_error(from_error));
  }
  asked.options.propagation = request.query.get("propagationPolicy");
  if (request.query.has("orphanDependents")) asked.orphan = request.query.flag("orphanDependents");
  asked.dry_run = request.query.all("dryRun");
  return checked_deletion(std::move(asked));
}

/// A value as Go prints it with %v.
std::string go_text(const Json& value) {
  if (value.is_null()) return "<nil>";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_structured()) return dump_json(value);
  std::string out;
  for (const auto& [key, member] : value.items())
    out += (out.empty() ? "" : " ") + (value.is_object() ? key + ":" : std::string()) + go_text(member);
  return (value.is_object() ? "map[" : "[") + out + "]";
}

/// Without the lists whose order it tells: applying them takes them out of it.
Json without_ordered_lists(const Json& patch) {
  if (!patch.is_object()) return patch;
  constexpr std::string_view kOrder = "$setElementOrder/";
  Json out = Json::object();
  for (const auto& [key, member] : patch.items()) {
    if (!key.starts_with(kOrder) && !patch.contains(std::string(kOrder) + key)) out[key] = without_ordered_lists(member);
  }
  return out;
}

/// What is said of a patch whose outcome is no object of its kind: with the patch as Go prints it where it is a strategic one,
/// else with the outcome. The decoder's complaint names the types.
tl::unexpected<ApiError> unfit_patch(const Json* strategic, const Json& outcome, ApiError complaint) {
  constexpr std::string_view kStrict = "strict decoding error: ";
  constexpr std::string_view kCannot = "json: cannot unmarshal ";
  const auto shown = strategic != nullptr ? go_text(without_ordered_lists(*strategic)) : dump_json(outcome);
  if (const auto strict = complaint.message.find(kStrict); strict != std::string::npos)
    return invalid({}, "", {bad_value("patch", shown, complaint.message.substr(strict))});
  if (strategic == nullptr) {
    constexpr std::string_view kHandled = " cannot be handled as a ";
    auto why = complaint.message;
    if (const auto handled = why.find(kHandled); handled != std::string::npos) {
      if (const auto colon = why.find(": ", handled); colon != std::string::npos) why.erase(0, colon + 2);
    }
    return invalid({}, "", {bad_value("patch", shown, why)});
  }
  const auto at = complaint.message.find(kCannot);
  const auto last = complaint.message.rfind(" of type ");
  if (at == std::string::npos || last == std::string::npos) return tl::unexpected(std::move(complaint));
  const bool number = complaint.message.compare(at + kCannot.size(), 6, "number") == 0;
  const auto type = complaint.message.substr(last + 9);
  const auto why = number && type == "string" ? std::string("cannot convert int64 to string") : "unrecognized type: " + type;
  return invalid({}, "", {bad_value("patch", shown, why)});
}

/// A patch makes no other kind of an object; what it leaves out of that is put back.
ApiStatus check_patched_kind(const Json& old, Json& object) {
  for (const char* field : {"apiVersion", "kind"}) {
    const auto before = str(old, {field});
    const auto after = str(object, {field});
    if (after.empty()) object[field] = before;
    if (after.empty() || after == before) continue;
    return invalid({}, "",
                   {bad_value("patch", dump_json(object),
                              "the " + std::string(field) + " " + before + " of the object cannot be changed to " + after)});
  }
  return {};
}

}  // namespace

ApiResult<DeleteOptions> delete_options_of(const Json& body) {
  AskedDeletion asked;
  auto& out = asked.options;
  if (const Json* grace = find(body, {"gracePeriodSeconds"}); grace != nullptr && grace->is_number_integer())
    out.grace_seconds = num(body, {"gracePeriodSeconds"});
  out.uid = str(body, {"preconditions", "uid"});
  out.resource_version = str(body, {"preconditions", "resourceVersion"});
  out.propagation = str(body, {"propagationPolicy"});
  if (const Json* orphan = find(body, {"orphanDependents"}); orphan != nullptr && orphan->is_boolean())
    asked.orphan = flag(body, {"orphanDependents"});
  asked.dry_run = string_list_at(body, {"dryRun"});
  return checked_deletion(std::move(asked));
}

ApiResult<serve::HttpResponse> answer_create(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                             const KindPtr& kind) {
  FLEETADM_CHECK(check_body_size(*request.http));
  FLEETADM_TRY(auto options, read_write_options(request, "CreateOptions"));
  FLEETADM_TRY(Json object, read_body(*request.http, *kind, ""));
  std::vector<std::string> warnings;
  FLEETADM_CHECK(check_fields(*kind, object, request, warnings));
  FLEETADM_CHECK(check_namespace_of(*kind, object, request.what.ns));
  if (kind->custom != nullptr && kind->custom->terminating) {
    return forbidden(*kind, name_of(object), "create not allowed while custom resource definition is terminating");
  }
  FLEETADM_TRY(auto written, state->engine->create(*kind, request.what.ns, std::move(object), options));
  return answer_object(state, request, *kind, 201, std::move(written), std::move(warnings));
}

ApiResult<serve::HttpResponse> answer_update(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                             const KindPtr& kind) {
  FLEETADM_CHECK(check_body_size(*request.http));
  FLEETADM_TRY(auto options, read_write_options(request, "UpdateOptions"));
  FLEETADM_TRY(Json object, read_body(*request.http, *kind, ""));
  std::vector<std::string> warnings;
  FLEETADM_CHECK(check_fields(*kind, object, request, warnings));
  FLEETADM_CHECK(check_namespace_of(*kind, object, request.what.ns));
  const auto& name = request.what.name;
  if (name_of(object) != name) return other_name(name_of(object), name);
  options.client_update = true;
  const bool may_create = kind->create_on_update && request.what.subresource.empty();
  FLEETADM_TRY(auto written,
               state->engine->modify(*kind, request.what.ns, name, options, may_create, [&](const Json* old) -> ApiResult<Json> {
                 if (old == nullptr) {
                   Json made = object;
                   erase_at(made, {"metadata", "resourceVersion"});
                   return made;
                 }
                 return object;
               }));
  const int status = written.created ? 201 : 200;
  return answer_object(state, request, *kind, status, std::move(written), std::move(warnings));
}

ApiResult<serve::HttpResponse> answer_patch(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                            const KindPtr& kind) {
  FLEETADM_CHECK(check_body_size(*request.http));
  const auto type = media_type(request.http->header("content-type"));
  const bool known = type == "application/json-patch+json" || type == "application/merge-patch+json" || type == kApply ||
                     (type == "application/strategic-merge-patch+json" && kind->custom == nullptr);
  if (!known) {
    if (kind->custom == nullptr) return api_fail(415, "UnsupportedMediaType", "415: Unsupported Media Type");
    return api_fail(
        415, "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, "
        "application/merge-patch+json, application/apply-patch+yaml");
  }
  FLEETADM_TRY(auto options, read_write_options(request, "PatchOptions"));
  if (type == kApply) return answer_apply(state, request, kind, options);
  if (request.query.has("force"))
    return invalid_options("PatchOptions", "force", "Forbidden: may not be specified for non-apply patch");
  const auto patch = parse_json(request.http->body);
  if (!patch) {
    const bool cut_off = patch.error().message.find("unexpected end of input") != std::string::npos;
    return bad_request(cut_off ? "unexpected end of JSON input" : "error decoding patch: " + patch.error().message);
  }
  const bool strategic = type == "application/strategic-merge-patch+json";
  std::vector<std::string> warnings;
  FLEETADM_TRY(
      auto written,
      state->engine->modify(*kind, request.what.ns, request.what.name, options, false, [&](const Json* old) -> ApiResult<Json> {
        FLEETADM_TRY(Json object, apply_patch(*kind, *old, type, *patch));
        warnings.clear();
        if (auto same = check_patched_kind(*old, object); !same) return tl::unexpected(std::move(same).error());
        if (auto checked = check_fields(*kind, object, request, warnings); !checked) {
          FLEETADM_TRY(const Json outcome, apply_patch(*kind, *old, type, *patch));
          return unfit_patch(strategic ? &*patch : nullptr, outcome, std::move(checked).error());
        }
        if (namespace_of(object) != namespace_of(*old))
          return bad_request("the namespace of the object does not match the namespace on the URL");
        return object;
      }));
  return answer_object(state, request, *kind, 200, std::move(written), std::move(warnings));
}

ApiResult<serve::HttpResponse> answer_delete(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                             const KindPtr& kind) {
  FLEETADM_CHECK(check_body_size(*request.http));
  FLEETADM_TRY(const auto options, read_delete_options(request));
  WriteOptions by;
  by.user = request.user;
  by.dry_run = options.dry_run;
  FLEETADM_TRY(auto gone, state->engine->remove(*kind, request.what.ns, request.what.name, options, by));
  const int status = !gone.removed && options.keeps_no_orphans ? 202 : 200;
  if (!gone.removed || kind->delete_returns_object) return answer_object(state, request, *kind, status, std::move(gone));
  Json details = {{"name", request.what.name}, {"kind", kind->plural}, {"uid", uid_of(gone.object)}};
  if (!kind->group.empty()) details["group"] = kind->group;
  auto response = answer_preferred(*request.http, 200,
                                   {{"kind", "Status"},
                                    {"apiVersion", "v1"},
                                    {"metadata", Json::object()},
                                    {"status", "Success"},
                                    {"details", std::move(details)}});
  add_warnings(response, gone.warnings);
  return response;
}

ApiResult<serve::HttpResponse> answer_delete_collection(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                                        const KindPtr& kind) {
  FLEETADM_CHECK(check_body_size(*request.http));
  FLEETADM_TRY(const auto wanted, negotiate(*request.http, {}, kind->custom == nullptr));
  FLEETADM_TRY(const auto options, read_delete_options(request));
  FLEETADM_TRY(const auto selection, read_selection(request, *kind));
  const auto snapshot = state->store->list(kind->storage, request.what.ns);
  if (!snapshot) return tl::unexpected(from_error(snapshot.error()));
  WriteOptions by;
  by.user = request.user;
  by.dry_run = options.dry_run;
  Json items = Json::array();
  for (const auto& item : snapshot->items) {
    const bool converts = Engine::converts(*kind, *item.object);
    if (!converts && !selection.matches(*state->engine, *kind, item.ns, item.name, *item.object)) continue;
    FLEETADM_TRY(Json object, state->engine->read(*kind, *item.object));
    if (converts && !selection.matches(item.ns, item.name, object)) continue;
    auto gone = state->engine->remove(*kind, item.ns, item.name, options, by);
    if (!gone && gone.error().code != 404) return tl::unexpected(std::move(gone).error());
    items.push_back(std::move(object));
  }
  const Json list = {{"kind", kind->list_kind},
                     {"apiVersion", kind->api_version()},
                     {"metadata", {{"resourceVersion", std::to_string(snapshot->revision)}}},
                     {"items", std::move(items)}};
  return answer_body(200, dump_json(list), wanted);
}

}  // namespace fleetadm::sandbox
