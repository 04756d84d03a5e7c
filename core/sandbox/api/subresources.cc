// scale, and the pod's binding and eviction.
#include "core/sandbox/api/apply.h"
#include "core/sandbox/api/write.h"
#include "kubeclient/base/query_selectors.h"

namespace fleetadm::sandbox {
namespace {

/// ".spec.replicas" as the keys of a path.
std::vector<std::string> keys_of(std::string path) {
  std::vector<std::string> out;
  while (!path.empty()) {
    if (path.front() == '.') path.erase(0, 1);
    const auto dot = path.find('.');
    out.push_back(path.substr(0, dot));
    path = dot == std::string::npos ? std::string() : path.substr(dot);
  }
  return out;
}

const Json* value_at(const Json& object, const std::string& path) {
  const Json* at = &object;
  for (const auto& key : keys_of(path)) {
    at = find(*at, {key});
    if (at == nullptr) return nullptr;
  }
  return at;
}

struct ScalePaths {
  std::string spec = ".spec.replicas";
  std::string status = ".status.replicas";
  std::string selector;  // of a custom resource
};

ScalePaths paths_of(const Kind& kind) {
  if (kind.custom == nullptr) return {};
  return {str(kind.custom->scale, {"specReplicasPath"}), str(kind.custom->scale, {"statusReplicasPath"}),
          str(kind.custom->scale, {"labelSelectorPath"})};
}

ApiResult<Json> scale_of(const Kind& kind, const Json& object) {
  const auto paths = paths_of(kind);
  const Json* wanted = value_at(object, paths.spec);
  if (wanted == nullptr || !wanted->is_number()) {
    return api_fail(500, "InternalError",
                    "Internal error occurred: the spec replicas field \"" + paths.spec + "\" does not exist");
  }
  Json metadata = Json::object();
  for (const char* field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const Json* value = find(object, {"metadata", field})) metadata[field] = *value;
  }
  Json spec = Json::object();
  if (*wanted != 0) spec["replicas"] = *wanted;
  const Json* now = value_at(object, paths.status);
  Json status = {{"replicas", now != nullptr && now->is_number() ? *now : Json(0)}};
  std::string selector;
  if (kind.custom != nullptr) {
    const Json* text = paths.selector.empty() ? nullptr : value_at(object, paths.selector);
    if (text != nullptr && text->is_string()) selector = text->get<std::string>();
  } else {
    const bool plain = kind.plural == "replicationcontrollers";  // its selector is the map itself
    const auto pairs = plain ? strings_at(object, {"spec", "selector"}) : strings_at(object, {"spec", "selector", "matchLabels"});
    for (const auto& [key, value] : pairs) {
      selector.append(selector.empty() ? "" : ",").append(key).append("=").append(value);
    }
  }
  if (!selector.empty()) status["selector"] = selector;
  return Json{{"kind", "Scale"},
              {"apiVersion", "autoscaling/v1"},
              {"metadata", std::move(metadata)},
              {"spec", std::move(spec)},
              {"status", std::move(status)}};
}

bool is_ready(const Json& pod) {
  for (const Json& one : list_at(pod, {"status", "conditions"})) {
    if (str(one, {"type"}) == "Ready") return str(one, {"status"}) == "True";
  }
  return false;
}

/// An eviction takes one disruption of the budget that covers the pod, or is refused.
ApiStatus take_from_budgets(Engine& engine, const Kind& pods, const std::string& ns, const std::string& name,
                            const WriteOptions& options) {
  FLEETADM_TRY(const Json pod, engine.get(pods, ns, name));
  const auto phase = str(pod, {"status", "phase"});
  if (phase != "Running" || is_deleting(pod)) return {};
  Labels labels;
  for (const auto& [key, value] : strings_at(pod, {"metadata", "labels"})) labels.emplace_back(key, value);
  const auto kind = engine.kinds().find_plural("policy", "poddisruptionbudgets");
  std::vector<Json> budgets;
  for (Json& budget : engine.list(*kind, ns)) {
    const auto selector = LabelSelector::from_object(find(budget, {"spec", "selector"}));
    if (selector && selector->matches(labels)) budgets.push_back(std::move(budget));
  }
  if (budgets.empty()) return {};
  if (budgets.size() > 1) {
    return api_fail(500, "InternalError",
                    "Internal error occurred: This pod has more than one PodDisruptionBudget, which the eviction subresource "
                    "does not support.");
  }
  WriteOptions by = options;
  by.subresource = "status";
  by.internal = true;
  const auto done = engine.modify(*kind, ns, name_of(budgets.front()), by, false, [&](const Json* old) -> ApiResult<Json> {
    const auto healthy = num(*old, {"status", "currentHealthy"});
    const auto desired = num(*old, {"status", "desiredHealthy"});
    if (!is_ready(pod) && (str(*old, {"spec", "unhealthyPodEvictionPolicy"}) == "AlwaysAllow" || healthy >= desired)) return *old;
    const bool observed = num(*old, {"status", "observedGeneration"}) >= num(*old, {"metadata", "generation"});
    if (!observed || num(*old, {"status", "disruptionsAllowed"}) <= 0) {
      auto refused = api_fail(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.");
      const auto why = observed ? "The disruption budget " + name_of(*old) + " needs " + std::to_string(desired) +
                                      " healthy pods and has " + std::to_string(healthy) + " currently"
                                : "The disruption budget " + name_of(*old) + " is still being processed by the server.";
      refused.value().details["causes"] = Json::array({{{"reason", "DisruptionBudget"}, {"message", why}}});
      if (!observed) refused.value().retry_after = 10;
      return refused;
    }
    Json next = *old;
    at_or_make(next, {"status", "disruptionsAllowed"}) = num(*old, {"status", "disruptionsAllowed"}) - 1;
    at_or_make(next, {"status", "disruptedPods", name}) = format_time(engine.clock().now());
    return next;
  });
  if (!done) return tl::unexpected(done.error());
  return {};
}

}  // namespace

ApiResult<serve::HttpResponse> answer_scale(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                            const KindPtr& kind) {
  const auto& what = request.what;
  if (what.verb == "get") {
    FLEETADM_TRY(const Json object, state->engine->read(*kind, what.ns, what.name));
    FLEETADM_TRY(const Json scale, scale_of(*kind, object));
    return answer_preferred(*request.http, 200, scale);
  }
  FLEETADM_TRY(auto options, read_write_options(request, what.verb == "update" ? "UpdateOptions" : "PatchOptions"));
  options.subresource.clear();  // it writes through to the spec
  options.admitted_as = "scale";
  options.admitted_view = [kind](const Json& object) { return scale_of(*kind, object).value_or(Json()); };
  const auto paths = paths_of(*kind);
  FLEETADM_TRY(const auto written,
               state->engine->modify(*kind, what.ns, what.name, options, false, [&](const Json* old) -> ApiResult<Json> {
                 FLEETADM_TRY(Json scale, scale_of(*kind, *old));
                 if (what.verb == "update") {
                   FLEETADM_TRY(scale, read_body(*request.http, *kind, "scale"));
                 } else {
                   const auto patch = parse_json(request.http->body);
                   if (!patch) return bad_request("error decoding patch: " + patch.error().message);
                   auto type = media_type(request.http->header("content-type"));
                   if (type == "application/strategic-merge-patch+json")
                     type = "application/merge-patch+json";  // a Scale has no lists
                   FLEETADM_TRY(scale, apply_patch(*kind, scale, type, *patch));
                 }
                 const auto replicas = num(scale, {"spec", "replicas"});
                 if (replicas < 0) {
                   Kind named;
                   named.group = "autoscaling";
                   named.kind = "Scale";
                   return invalid(named, what.name, {bad_value("spec.replicas", replicas, "must be greater than or equal to 0")});
                 }
                 if (const auto version = resource_version_of(scale); !version.empty() && version != resource_version_of(*old))
                   return modified_meanwhile(*kind, what.name);
                 Json object = *old;
                 Json* at = &object;
                 for (const auto& key : keys_of(paths.spec)) at = &at_or_make(*at, {key});
                 *at = replicas;
                 return object;
               }));
  FLEETADM_TRY(const Json scale, scale_of(*kind, written.object));
  return answer_preferred(*request.http, 200, scale);
}

ApiResult<serve::HttpResponse> answer_pod_action(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request,
                                                 const KindPtr& kind) {
  const auto& what = request.what;
  FLEETADM_TRY(const Json body, read_body(*request.http, *kind, what.subresource));
  FLEETADM_TRY(auto options, read_write_options(request, "CreateOptions"));
  options.subresource.clear();
  options.admitted_as = what.subresource;
  options.admitted_view = [body](const Json&) { return body; };
  const Json success = {
      {"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", Json::object()}, {"status", "Success"}, {"code", 201}};
  if (what.subresource == "eviction") {
    if (const auto named = name_of(body); !named.empty() && named != what.name)
      return bad_request("name in URL does not match name in Eviction object");
    FLEETADM_TRY(auto gone, delete_options_of(object_at(body, {"deleteOptions"})));
    // Drains say in the body that they only try; either place is enough.
    options.dry_run = options.dry_run || gone.dry_run;
    gone.dry_run = options.dry_run;
    FLEETADM_CHECK(take_from_budgets(*state->engine, *kind, what.ns, what.name, options));
    FLEETADM_CHECK(state->engine->remove(*kind, what.ns, what.name, gone, options));
    return answer_preferred(*request.http, 201, success);
  }
  FLEETADM_CHECK(state->engine->modify(*kind, what.ns, what.name, options, false, [&](const Json* old) -> ApiResult<Json> {
    if (!str(*old, {"spec", "nodeName"}).empty()) {
      return modified_meanwhile(*kind, what.name,
                                "pod " + what.name + " is already assigned to node \"" + str(*old, {"spec", "nodeName"}) + "\"");
    }
    Json pod = *old;
    at_or_make(pod, {"spec", "nodeName"}) = str(body, {"target", "name"});
    return pod;
  }));
  return answer_preferred(*request.http, 201, success);
}

}  // namespace fleetadm::sandbox
