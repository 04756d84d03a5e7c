#include "kubeclient/rest/modify.h"

namespace fleetadm::kube {

namespace {

constexpr std::string_view kConflict = "Conflict";

/// A key as a step of a JSON Pointer (RFC 6901).
std::string pointer_step(std::string_view key) {
  std::string step = "/";
  for (const char c : key) {
    if (c == '~') {
      step += "~0";
    } else if (c == '/') {
      step += "~1";
    } else {
      step += c;
    }
  }
  return step;
}

Json operation(const char* op, const std::string& path, const Json& value) {
  return {{"op", op}, {"path", path}, {"value", value}};
}

/// Appends what turns `before` into `after` at `path`, each value tested before it is replaced. Both are objects.
void append_difference(const Json& before, const Json& after, const std::string& path, Json& steps) {
  for (const auto& [key, value] : before.items()) {
    const std::string here = path + pointer_step(key);
    const auto now = after.find(key);
    if (now == after.end()) {
      steps.push_back(operation("test", here, value));
      steps.push_back({{"op", "remove"}, {"path", here}});
    } else if (now->is_object() && value.is_object()) {
      append_difference(value, *now, here, steps);
    } else if (*now != value) {
      steps.push_back(operation("test", here, value));
      steps.push_back(operation("replace", here, *now));
    }
  }
  for (const auto& [key, value] : after.items()) {
    if (before.contains(key)) continue;
    const std::string here = path + pointer_step(key);
    steps.push_back(operation("test", here, nullptr));  // absent: the server takes a member that is not there for null
    steps.push_back(operation("add", here, value));
  }
}

Json status_alone(const Json& object) {
  const auto status = object.find("status");
  return status == object.end() ? Json::object() : Json{{"status", *status}};
}

/// How a server answers a JSON patch whose test fails.
bool is_failed_test(const Error& error) {
  return error.code == 422 &&
         error.message.find("the server rejected our request due to an error in our request") != std::string::npos;
}

}  // namespace

Result<Json> modify_from(const Client& client, const Resource& resource, const Json& current, const Change& change,
                         std::string_view subresource) {
  Json wanted = current;
  FLEETADM_CHECK(change(wanted));
  Json diff = merge_diff(current, wanted);
  if (subresource == "status") {
    const Json* status = fleetadm::find(diff, {"status"});
    diff = status == nullptr ? Json::object() : Json{{"status", *status}};
  }
  if (diff.empty()) return current;
  at_or_make(diff, {"metadata", "uid"}) = uid_of(current);
  at_or_make(diff, {"metadata", "resourceVersion"}) = resource_version_of(current);
  WriteOptions options;
  options.subresource = subresource;
  auto patched = client.patch(resource, namespace_of(current), name_of(current), PatchType::kMerge, diff, options);
  // A new object of the same name answers 422 on its uid rather than 409.
  if (!patched && patched.error().code == 422 && patched.error().message.find("metadata.uid") != std::string::npos)
    patched.error().reason = kConflict;
  return patched;
}

Result<Json> modify_known(const Client& client, const Resource& resource, const Json& known, const Change& change,
                          std::string_view subresource) {
  auto modified = modify_from(client, resource, known, change, subresource);
  if (modified || modified.error().reason != kConflict) return modified;
  return client.modify(resource, namespace_of(known), name_of(known), change, subresource);
}

Result<Json> patch_fields(const Client& client, const Resource& resource, const Json& before, const Json& after,
                          std::string_view subresource) {
  if (before == after) return before;  // which is most of the calls
  Json steps = Json::array();
  if (subresource == "status") {
    append_difference(status_alone(before), status_alone(after), "", steps);
  } else {
    append_difference(before, after, "", steps);
  }
  if (steps.empty()) return before;
  steps.insert(steps.begin(), operation("test", "/metadata/uid", uid_of(before)));
  WriteOptions options;
  options.subresource = subresource;
  const std::string ns = namespace_of(before);
  const std::string name = name_of(before);
  auto patched = client.patch(resource, ns, name, PatchType::kJson, steps, options);
  if (patched || !is_failed_test(patched.error())) return patched;
  // Servers compare texts: one that writes a value differently would refuse for ever.
  FLEETADM_TRY(const Json now, client.get(resource, ns, name));
  if (resource_version_of(now) == resource_version_of(before) && uid_of(now) == uid_of(before)) {
    return modify_from(
        client, resource, before,
        [&](Json& object) -> Status {
          object = after;
          return {};
        },
        subresource);
  }
  Error stale = patched.error();
  stale.category = Category::kConflict;
  stale.reason = kConflict;
  return fail(std::move(stale));
}

Result<Json> modify_fields(const Client& client, const Resource& resource, const Json& known, const Change& change,
                           std::string_view subresource) {
  Json wanted = known;
  FLEETADM_CHECK(change(wanted));
  auto patched = patch_fields(client, resource, known, wanted, subresource);
  if (patched || patched.error().reason != kConflict) return patched;
  return client.modify(resource, namespace_of(known), name_of(known), change, subresource);
}

}  // namespace fleetadm::kube
