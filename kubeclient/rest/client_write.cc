// Writes: each builds a Request and passes the gate; in a client-side dry run each answers what would have been sent.
#include "kubeclient/base/go_json.h"
#include "kubeclient/base/log.h"
#include "kubeclient/rest/client.h"
#include "kubeclient/rest/modify.h"
#include "kubeclient/rest/path_check.h"

namespace fleetadm::kube {

namespace {

Query write_query(const WriteGate& gate, const WriteOptions& options) {
  Query query;
  query.emplace_back("fieldManager", options.field_manager.empty() ? gate.field_manager : options.field_manager);
  if (!options.field_validation.empty()) query.emplace_back("fieldValidation", options.field_validation);
  if (gate.dry_run == DryRun::kServer) query.emplace_back("dryRun", "All");
  return query;
}

std::string_view content_type_of(PatchType type) {
  switch (type) {
    case PatchType::kJson: return "application/json-patch+json";
    case PatchType::kMerge: return "application/merge-patch+json";
    case PatchType::kStrategic: return "application/strategic-merge-patch+json";
    case PatchType::kApply: return "application/apply-patch+yaml";
  }
  return "application/merge-patch+json";
}

std::string_view to_string(Propagation propagation) {
  switch (propagation) {
    case Propagation::kBackground: return "Background";
    case Propagation::kForeground: return "Foreground";
    case Propagation::kOrphan: return "Orphan";
    case Propagation::kDefault: break;
  }
  return {};
}

Json delete_body(const WriteGate& gate, const DeleteOptions& options) {
  Json body{{"kind", "DeleteOptions"}, {"apiVersion", "v1"}};
  if (const auto policy = to_string(options.propagation); !policy.empty()) body["propagationPolicy"] = policy;
  if (!options.uid.empty()) body["preconditions"]["uid"] = options.uid;
  if (!options.resource_version.empty()) body["preconditions"]["resourceVersion"] = options.resource_version;
  if (options.grace_period_seconds) body["gracePeriodSeconds"] = *options.grace_period_seconds;
  if (gate.dry_run == DryRun::kServer) body["dryRun"] = Json::array({"All"});
  return body;
}

Result<Json> object_of(const Response& response) {
  if (response.body.empty()) return Json::object();
  auto object = parse_json(response.body);
  if (!object) return fail(object.error().wrap("the server's answer cannot be read"));
  return object;
}

/// JSON as the server itself writes it: it escapes these characters whenever it rewrites an object, and compares embedded objects
/// (a ControllerRevision's data, which is immutable) as text. What was sent otherwise would seem changed at the next patch.
std::string body_text(const Json& value) { return dump_go_json(value); }

Json as_sent(const Resource& resource, std::string_view ns, Json object) {
  if (!object.is_object()) object = Json::object();
  if (!object.contains("apiVersion")) object["apiVersion"] = resource.api_version();
  if (!object.contains("kind")) object["kind"] = resource.kind;
  if (resource.namespaced && !ns.empty()) at_or_make(object, {"metadata", "namespace"}) = ns;
  return object;
}

}  // namespace

Result<Json> Client::create(const Resource& resource, std::string_view ns, const Json& object,
                            const WriteOptions& options) const {
  const std::string own = namespace_of(object);
  const std::string where = ns.empty() ? own : std::string(ns);
  if (resource.namespaced && !is_path_name(where)) {
    return fail(Category::kUsage, resource.qualified() + " \"" + name_of(object) + "\": a namespace is needed");
  }
  const std::string name = name_of(object);
  if (!options.subresource.empty()) FLEETADM_CHECK(check_named(resource, where, name));
  if (gate_->dry_run == DryRun::kClient) return as_sent(resource, where, object);
  Request request;
  request.method = Method::kPost;
  request.path = options.subresource.empty() ? resource.path(where) : resource.path(where, name, options.subresource);
  request.query = write_query(*gate_, options);
  request.body = body_text(object);
  FLEETADM_TRY(const auto response, write(std::move(request)));
  return object_of(response);
}

Result<Json> Client::update(const Resource& resource, const Json& object, const WriteOptions& options) const {
  const std::string ns = namespace_of(object);
  const std::string name = name_of(object);
  FLEETADM_CHECK(check_named(resource, ns, name));
  if (gate_->dry_run == DryRun::kClient) return as_sent(resource, ns, object);
  Request request;
  request.method = Method::kPut;
  request.path = resource.path(ns, name, options.subresource);
  request.query = write_query(*gate_, options);
  request.body = body_text(object);
  FLEETADM_TRY(const auto response, write(std::move(request)));
  return object_of(response);
}

Result<Json> Client::dry_patch(const Resource& resource, std::string_view ns, std::string_view name, PatchType type,
                               const Json& body) const {
  FLEETADM_TRY(auto current, find(resource, ns, name));
  if (!current) {
    if (type == PatchType::kApply) return as_sent(resource, ns, body);
    Error error = fail(Category::kNotFound, resource.qualified() + " \"" + std::string(name) + "\" not found").value();
    error.code = 404;
    error.reason = "NotFound";
    return fail(located(std::move(error)));
  }
  try {
    if (type == PatchType::kJson) return current->patch(body);
    // Strategic and applied lists would merge by key on the server; a client-side preview shows them replaced.
    current->merge_patch(body);
    return std::move(*current);
  } catch (const std::exception& e) {
    return fail(Category::kInvalid, std::string("the patch does not fit the object: ") + e.what());
  }
}

Result<Json> Client::patch(const Resource& resource, std::string_view ns, std::string_view name, PatchType type, const Json& body,
                           const WriteOptions& options) const {
  FLEETADM_CHECK(check_named(resource, ns, name));
  if (gate_->dry_run == DryRun::kClient) return dry_patch(resource, ns, name, type, body);
  Request request;
  request.method = Method::kPatch;
  request.path = resource.path(ns, name, options.subresource);
  request.query = write_query(*gate_, options);
  if (type == PatchType::kApply) request.query.emplace_back("force", options.force ? "true" : "false");
  request.content_type = content_type_of(type);
  request.body = body_text(body);
  FLEETADM_TRY(const auto response, write(std::move(request)));
  return object_of(response);
}

Result<Json> Client::apply(const Resource& resource, const Json& object, const WriteOptions& options) const {
  if (str(object, {"apiVersion"}).empty() || str(object, {"kind"}).empty()) {
    return fail(Category::kUsage, "an object to apply needs apiVersion and kind");
  }
  return patch(resource, namespace_of(object), name_of(object), PatchType::kApply, object, options);
}

Result<Json> Client::remove(const Resource& resource, std::string_view ns, std::string_view name,
                            const DeleteOptions& options) const {
  FLEETADM_CHECK(check_named(resource, ns, name));
  if (gate_->dry_run == DryRun::kClient) return get(resource, ns, name);
  Request request;
  request.method = Method::kDelete;
  request.path = resource.path(ns, name);
  request.body = dump_json(delete_body(*gate_, options));
  FLEETADM_TRY(const auto response, write(std::move(request)));
  return object_of(response);
}

Result<Json> Client::remove_collection(const Resource& resource, std::string_view ns, const ListOptions& which,
                                       const DeleteOptions& options) const {
  if (resource.namespaced && !is_path_name(ns)) {
    return fail(Category::kUsage, "a namespace is needed to delete a collection of " + resource.qualified());
  }
  if (gate_->dry_run == DryRun::kClient) return list(resource, ns, which);
  Request request;
  request.method = Method::kDelete;
  request.path = resource.path(ns);
  if (!which.label_selector.empty()) request.query.emplace_back("labelSelector", which.label_selector);
  if (!which.field_selector.empty()) request.query.emplace_back("fieldSelector", which.field_selector);
  request.body = dump_json(delete_body(*gate_, options));
  FLEETADM_TRY(const auto response, write(std::move(request)));
  return object_of(response);
}

Result<Json> Client::post(std::string_view path, const Json& body, bool read_only) const {
  Request request;
  request.method = Method::kPost;
  request.path = path;
  request.body = dump_json(body);
  if (read_only) {
    FLEETADM_TRY(const auto response, read(std::move(request)));
    return object_of(response);
  }
  if (gate_->dry_run == DryRun::kClient) return body;
  request.query = write_query(*gate_, {});
  FLEETADM_TRY(const auto response, write(std::move(request)));
  return object_of(response);
}

Result<Json> Client::create_or_get(const Resource& resource, std::string_view ns, const Json& object,
                                   const WriteOptions& options) const {
  auto created = create(resource, ns, object, options);
  if (created || created.error().reason != "AlreadyExists") return created;
  return get(resource, ns.empty() ? namespace_of(object) : std::string(ns), name_of(object));
}

Result<Json> Client::modify(const Resource& resource, std::string_view ns, std::string_view name,
                            const std::function<Status(Json&)>& change, std::string_view subresource) const {
  constexpr int kAttempts = 5;
  for (int attempt = 1;; ++attempt) {
    FLEETADM_TRY(const Json current, get(resource, ns, name));
    auto modified = modify_from(*this, resource, current, change, subresource);
    if (modified || modified.error().reason != "Conflict" || attempt >= kAttempts) return modified;
  }
}

}  // namespace fleetadm::kube
