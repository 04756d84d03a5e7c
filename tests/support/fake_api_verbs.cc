// What the fake server does to objects: the write pipelines of docs/reference/kubernetes-api.md#writes,
// docs/reference/kubernetes-api.md#deletion, as far as controllers can tell.
#include <algorithm>

#include "core/addon/rules/conversion.h"
#include "core/apimachinery/patch.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_api_internal.h"
#include "tests/support/fake_selectors.h"

namespace fleetadm::testkit {

using kube::Method;
using kube::Response;

namespace {

std::string qualified(const ApiCall& call) { return call.group.empty() ? call.plural : call.plural + "." + call.group; }

Json details_of(const ApiCall& call) {
  Json details{{"name", call.name}, {"kind", call.plural}};
  if (!call.group.empty()) details["group"] = call.group;
  return details;
}

Response not_found(const ApiCall& call) {
  return status_response(404, "NotFound", qualified(call) + " \"" + call.name + "\" not found", details_of(call));
}

Response conflict(const ApiCall& call, std::string_view why) {
  return status_response(409, "Conflict",
                         "Operation cannot be fulfilled on " + qualified(call) + " \"" + call.name + "\": " + std::string(why),
                         details_of(call));
}

bool is_dry(const ApiCall& call) {
  if (call.param("dryRun") == "All") return true;
  const Json& modes = list_at(call.body, {"dryRun"});
  return call.method == Method::kDelete && !modes.empty();
}

/// The object without what the server itself moves, to tell whether a write changes anything.
Json without_bookkeeping(Json object) {
  erase_at(object, {"metadata", "resourceVersion"});
  erase_at(object, {"metadata", "generation"});
  erase_at(object, {"metadata", "managedFields"});
  return object;
}

bool spec_differs(Json before, Json after) {
  for (auto* object : {&before, &after}) {
    object->erase("metadata");
    object->erase("status");
  }
  return before != after;
}

}  // namespace

FakeApi::FakeApi(Private, std::shared_ptr<Clock> clock) : clock_(std::move(clock)) {}
FakeApi::~FakeApi() = default;

// ---- the store ----

Json FakeApi::store(const TypeKey& type, const std::string& key, Json object, std::string_view event, bool dry) {
  if (dry) return object;
  auto& slot = objects_[type][key];
  const Json before = slot;
  at_or_make(object, {"metadata", "resourceVersion"}) = std::to_string(++revision_);
  slot = object;
  publish(type, event, before, object);
  return object;
}

void FakeApi::remove(const TypeKey& type, const std::string& key, bool dry) {
  if (dry) return;
  auto& objects = objects_[type];
  const auto found = objects.find(key);
  if (found == objects.end()) return;
  Json last = std::move(found->second);
  objects.erase(found);
  const Json before = last;
  at_or_make(last, {"metadata", "resourceVersion"}) = std::to_string(++revision_);
  publish(type, "DELETED", before, last);
}

std::int64_t FakeApi::revision() const {
  const std::scoped_lock lock(mutex_);
  return revision_;
}

Json FakeApi::put(const kube::Resource& resource, Json object) {
  const std::scoped_lock lock(mutex_);
  const TypeKey type{resource.group, resource.plural};
  if (!object.contains("apiVersion")) object["apiVersion"] = resource.api_version();
  if (!object.contains("kind")) object["kind"] = resource.kind;
  const std::string key = kube::object_key(object);
  const auto& objects = objects_[type];
  const auto found = objects.find(key);
  const bool exists = found != objects.end();
  if (uid_of(object).empty()) {
    at_or_make(object, {"metadata", "uid"}) = exists ? uid_of(found->second) : "uid-" + std::to_string(next_uid_++);
  }
  if (str(object, {"metadata", "creationTimestamp"}).empty()) {
    at_or_make(object, {"metadata", "creationTimestamp"}) = format_time(clock_->now());
  }
  if (num(object, {"metadata", "generation"}) == 0) at_or_make(object, {"metadata", "generation"}) = 1;
  return store(type, key, std::move(object), exists ? "MODIFIED" : "ADDED", false);
}

bool FakeApi::erase(const kube::Resource& resource, std::string_view ns, std::string_view name) {
  const std::scoped_lock lock(mutex_);
  const TypeKey type{resource.group, resource.plural};
  const std::string key = kube::object_key(resource.namespaced ? ns : std::string_view{}, name);
  if (!objects_[type].contains(key)) return false;
  remove(type, key, false);
  return true;
}

// ---- verbs ----

Json FakeApi::in_version(const ApiCall& call, Json object) {
  const kube::GroupVersion is = kube::parse_api_version(str(object, {"apiVersion"}));
  if (call.group != is.group || call.version == is.version) return object;
  Result<Json> converted = addon::convert_addon(object, call.group + "/" + call.version);
  return converted ? std::move(*converted) : std::move(object);
}

Response FakeApi::handle(const ApiCall& call) {
  if (const auto route = routes_.find(call.path); route != routes_.end()) return route->second;
  if (call.plural.empty()) {
    Response response;
    response.status = 404;
    response.headers["content-type"] = "text/plain";
    response.body = "404 page not found\n";
    return response;
  }
  if (call.verb == "get") return do_get(call);
  if (call.verb == "list" || call.verb == "watch") return do_list(call);
  if (call.verb == "create") return do_create(call);
  if (call.verb == "update") return do_update(call);
  if (call.verb == "patch") return do_patch(call);
  if (call.verb == "delete") return do_delete(call);
  return do_delete_collection(call);
}

Response FakeApi::do_get(const ApiCall& call) {
  const auto& objects = objects_[{call.group, call.plural}];
  const auto found = objects.find(kube::object_key(call.ns, call.name));
  return found == objects.end() ? not_found(call) : json_response(200, in_version(call, found->second));
}

Response FakeApi::do_list(const ApiCall& call) {
  const std::int64_t limit = std::strtoll(call.param("limit").c_str(), nullptr, 10);
  std::string after = call.param("continue");
  std::int64_t version = revision_;
  if (!after.empty()) {
    const auto bar = after.find('|');
    version = std::strtoll(after.substr(0, bar).c_str(), nullptr, 10);
    if (version < compacted_) {
      return status_response(410, "Expired", "The provided continue parameter is too old to display a consistent list result.");
    }
    after = after.substr(bar + 1);
  }
  Json items = Json::array();
  std::string token;
  std::string kind;
  for (const auto& [key, object] : objects_[{call.group, call.plural}]) {
    if (!after.empty() && key <= after) continue;
    if (!call.ns.empty() && namespace_of(object) != call.ns) continue;
    if (!matches_labels(object, call.param("labelSelector")) || !matches_fields(object, call.param("fieldSelector"))) continue;
    if (limit > 0 && static_cast<std::int64_t>(items.size()) >= limit) {
      token = std::to_string(version) + "|" + kube::object_key(items.back());
      break;
    }
    kind = str(object, {"kind"});
    items.push_back(in_version(call, object));
  }
  for (auto& item : items) {
    // Lists of built-in types come without these; custom resources have them. Clients must live with both.
    if (call.group.find('.') == std::string::npos) {
      item.erase("apiVersion");
      item.erase("kind");
    }
  }
  Json list{{"apiVersion", call.group.empty() ? call.version : call.group + "/" + call.version},
            {"kind", kind + "List"},
            {"metadata", {{"resourceVersion", std::to_string(version)}}},
            {"items", std::move(items)}};
  if (!token.empty()) list["metadata"]["continue"] = token;
  return json_response(200, list);
}

Response FakeApi::do_create(const ApiCall& call) {
  if (!call.body.is_object()) return status_response(400, "BadRequest", "the body is no object");
  if (call.plural.ends_with("accessreviews")) {
    Json review = call.body;
    review["status"] = Json{{"allowed", !review_ || review_(object_at(review, {"spec"}))}};
    return json_response(201, review);
  }
  if (call.plural == "selfsubjectreviews") {
    Json review = call.body;
    review["status"]["userInfo"]["username"] = "fake-user";
    return json_response(201, review);
  }
  if (call.subresource == "token") {
    Json request = call.body;
    const std::int64_t seconds = num(request, {"spec", "expirationSeconds"}, 3600);
    request["status"] = Json{{"token", "fake-token-" + call.name + "-" + std::to_string(next_suffix_++)},
                             {"expirationTimestamp", format_time(clock_->now() + std::chrono::seconds(seconds))}};
    return json_response(201, request);
  }
  Json object = call.body;
  ApiCall named = call;
  if (!call.ns.empty()) at_or_make(object, {"metadata", "namespace"}) = call.ns;
  named.name = name_of(object);
  if (named.name.empty()) {
    const std::string prefix = str(object, {"metadata", "generateName"});
    if (prefix.empty()) return status_response(422, "Invalid", "metadata.name: Required value: name or generateName is required");
    std::string suffix = std::to_string(next_suffix_++);
    suffix.insert(0, 5 - std::min<std::size_t>(5, suffix.size()), 'x');
    named.name = prefix + suffix;
    at_or_make(object, {"metadata", "name"}) = named.name;
  }
  const TypeKey type{call.group, call.plural};
  const std::string key = kube::object_key(call.ns, named.name);
  const auto& objects = objects_[type];
  if (const auto found = objects.find(key); found != objects.end()) {
    const std::string prefix = is_deleting(found->second) ? "object is being deleted: " : "";
    return status_response(409, "AlreadyExists", prefix + qualified(named) + " \"" + named.name + "\" already exists",
                           details_of(named));
  }
  if (const auto version = resource_version_of(object); !version.empty() && version != "0") {
    return status_response(500, "", "resourceVersion should not be set on objects to be created");
  }
  object.erase("status");  // its own subresource's
  for (const auto* member : {"deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"}) {
    erase_at(object, {"metadata", member});
  }
  at_or_make(object, {"metadata", "uid"}) = "uid-" + std::to_string(next_uid_++);
  at_or_make(object, {"metadata", "creationTimestamp"}) = format_time(clock_->now());
  at_or_make(object, {"metadata", "generation"}) = 1;
  return json_response(201, store(type, key, std::move(object), "ADDED", is_dry(call)));
}

Response FakeApi::store_changed(const ApiCall& call, const Json& before, Json after) {
  if (name_of(after) != call.name) return status_response(400, "BadRequest", "the name of the object does not match the URL");
  const std::string version = resource_version_of(after);
  if (!version.empty() && version != resource_version_of(before)) {
    return conflict(call, "the object has been modified; please apply your changes to the latest version and try again");
  }
  if (const auto uid = uid_of(after); !uid.empty() && uid != uid_of(before))
    return conflict(call, "Precondition failed: UID in precondition");
  if (call.subresource.empty()) {
    after.erase("status");
    if (const Json* status = find(before, {"status"})) after["status"] = *status;
  } else {
    // A subresource moves the status (and CSR approvals their conditions); of the rest only what every write may touch.
    Json kept = before;
    if (const Json* status = find(after, {"status"})) {
      kept["status"] = *status;
    } else {
      kept.erase("status");
    }
    after = std::move(kept);
  }
  Json& metadata = at_or_make(after, {"metadata"});
  if (!metadata.is_object()) metadata = Json::object();
  const Json& old = object_at(before, {"metadata"});
  for (const auto* member : {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
                             "namespace", "resourceVersion"}) {
    if (const auto found = old.find(member); found != old.end()) {
      metadata[member] = *found;
    } else {
      metadata.erase(member);
    }
  }
  metadata.erase("managedFields");
  if (without_bookkeeping(before) == without_bookkeeping(after)) return json_response(200, before);
  if (spec_differs(before, after)) metadata["generation"] = num(before, {"metadata", "generation"}) + 1;

  const TypeKey type{call.group, call.plural};
  const std::string key = kube::object_key(call.ns, call.name);
  if (is_deleting(after) && list_at(after, {"metadata", "finalizers"}).empty()) {
    remove(type, key, is_dry(call));
    return json_response(200, after);
  }
  return json_response(200, store(type, key, std::move(after), "MODIFIED", is_dry(call)));
}

Response FakeApi::do_update(const ApiCall& call) {
  if (!call.body.is_object()) return status_response(400, "BadRequest", "the body is no object");
  const auto& objects = objects_[{call.group, call.plural}];
  const auto found = objects.find(kube::object_key(call.ns, call.name));
  if (found == objects.end()) return not_found(call);
  return store_changed(call, in_version(call, found->second), in_version(call, call.body));
}

Response FakeApi::do_patch(const ApiCall& call) {
  const auto& objects = objects_[{call.group, call.plural}];
  const auto found = objects.find(kube::object_key(call.ns, call.name));
  const bool apply = call.content_type.starts_with("application/apply-patch");
  if (found == objects.end()) {
    if (!apply || !call.subresource.empty()) return not_found(call);
    ApiCall create = call;
    create.name.clear();
    return do_create(create);
  }
  if (apply && find(call.body, {"metadata", "managedFields"}) != nullptr) {
    return status_response(400, "BadRequest", "metadata.managedFields must be nil");
  }
  const Json before = in_version(call, found->second);
  Json after = before;
  // Only a patch that names a version or uid asks for it.
  erase_at(after, {"metadata", "resourceVersion"});
  try {
    if (call.content_type.starts_with("application/json-patch")) {
      for (const auto& step : call.body) {
        if (str(step, {"path"}) == "/metadata/resourceVersion")
          at_or_make(after, {"metadata", "resourceVersion"}) = resource_version_of(before);
      }
      auto patched = apimachinery::json_patch(std::move(after), call.body);
      if (!patched) return status_response(422, "Invalid", patched.error().message);
      after = std::move(*patched);
    } else {
      after.merge_patch(call.body);
    }
  } catch (const std::exception& e) {
    return status_response(422, "Invalid",
                           std::string("the server rejected our request due to an error in our request: ") + e.what());
  }
  return store_changed(call, before, std::move(after));
}

Response FakeApi::do_delete(const ApiCall& call) {
  const TypeKey type{call.group, call.plural};
  const auto& objects = objects_[type];
  const std::string key = kube::object_key(call.ns, call.name);
  const auto found = objects.find(key);
  if (found == objects.end()) return not_found(call);
  Json object = found->second;
  const std::string uid = str(call.body, {"preconditions", "uid"});
  const std::string version = str(call.body, {"preconditions", "resourceVersion"});
  if (!uid.empty() && uid != uid_of(object)) return conflict(call, "Precondition failed: UID in precondition: " + uid);
  if (!version.empty() && version != resource_version_of(object)) {
    return conflict(call, "Precondition failed: ResourceVersion in precondition: " + version);
  }
  if (!list_at(object, {"metadata", "finalizers"}).empty()) {
    if (is_deleting(object)) return json_response(200, object);
    at_or_make(object, {"metadata", "deletionTimestamp"}) = format_time(clock_->now());
    at_or_make(object, {"metadata", "deletionGracePeriodSeconds"}) = 0;
    at_or_make(object, {"metadata", "generation"}) = num(object, {"metadata", "generation"}) + 1;
    return json_response(200, store(type, key, std::move(object), "MODIFIED", is_dry(call)));
  }
  remove(type, key, is_dry(call));
  Json details = details_of(call);
  details["uid"] = uid_of(object);
  return status_response(200, "", "", details);
}

Response FakeApi::do_delete_collection(const ApiCall& call) {
  std::vector<Json> chosen;
  for (const auto& [key, object] : objects_[{call.group, call.plural}]) {
    if (!call.ns.empty() && namespace_of(object) != call.ns) continue;
    if (matches_labels(object, call.param("labelSelector")) && matches_fields(object, call.param("fieldSelector"))) {
      chosen.push_back(object);
    }
  }
  Json items = Json::array();
  for (auto& object : chosen) {
    ApiCall one = call;
    one.name = name_of(object);
    one.ns = namespace_of(object);
    do_delete(one);
    items.push_back(std::move(object));
  }
  return json_response(200,
                       Json{{"apiVersion", "v1"}, {"kind", "List"}, {"metadata", Json::object()}, {"items", std::move(items)}});
}

}  // namespace fleetadm::testkit
