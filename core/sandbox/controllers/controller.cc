#include "core/sandbox/controllers/controller.h"

#include <algorithm>

#include "kubeclient/base/log.h"

namespace fleetadm::sandbox {

WriteOptions as_controller(std::string_view name, std::string subresource) {
  WriteOptions out;
  out.user.name = "system:serviceaccount:kube-system:" + std::string(name);
  out.user.groups = {"system:serviceaccounts", "system:masters", "system:authenticated"};
  out.manager = "fleetadm-sandbox";
  out.subresource = std::move(subresource);
  out.internal = true;
  return out;
}

void look_again_at(const ControllerContext& context, Instant at) {
  if (context.again) context.again(std::max(at - context.engine.clock().now(), Duration(std::chrono::milliseconds(1))));
}

KindPtr kind_of(const ControllerContext& context, std::string_view group, std::string_view plural) {
  return context.engine.kinds().find_plural(group, plural);
}

bool change(const ControllerContext& context, const Kind& kind, const Json& object, const WriteOptions& by,
            const std::function<void(Json&)>& edit) {
  // As read: a write meanwhile calls the controller again.
  if (Json next = object; edit(next), next == object) return true;
  const auto uid = uid_of(object);
  const auto done =
      context.engine.modify(kind, namespace_of(object), name_of(object), by, false, [&](const Json* old) -> ApiResult<Json> {
        if (uid_of(*old) != uid) return not_found(kind, name_of(object));  // another object of that name
        Json next = *old;
        edit(next);
        return next;
      });
  if (!done && done.error().code != 404)
    log::info(1, "sandbox", kind.plural + "/" + name_of(object) + ": " + done.error().message);
  return done.has_value();
}

bool remove(const ControllerContext& context, const Kind& kind, const Json& object, std::string_view propagation) {
  DeleteOptions options;
  options.uid = uid_of(object);
  options.propagation = propagation;
  return context.engine.remove(kind, namespace_of(object), name_of(object), options, as_controller("garbage-collector"))
      .has_value();
}

Json owner_reference(const Json& owner, bool blocks) {
  return {{"apiVersion", str(owner, {"apiVersion"})},
          {"kind", str(owner, {"kind"})},
          {"name", name_of(owner)},
          {"uid", uid_of(owner)},
          {"controller", true},
          {"blockOwnerDeletion", blocks}};
}

std::string controller_uid(const Json& object) {
  for (const Json& owner : list_at(object, {"metadata", "ownerReferences"})) {
    if (flag(owner, {"controller"})) return str(owner, {"uid"});
  }
  return {};
}

void set_condition(Json& object, const std::string& type, bool holds, const std::string& reason, const std::string& message,
                   Instant now) {
  const std::string status = holds ? "True" : "False";
  Json& list = at_or_make(object, {"status", "conditions"});
  if (!list.is_array()) list = Json::array();
  for (Json& one : list) {
    if (str(one, {"type"}) != type) continue;
    if (str(one, {"status"}) != status) one["lastTransitionTime"] = format_time(now);
    if (str(one, {"status"}) != status || str(one, {"reason"}) != reason || str(one, {"message"}) != message)
      one["lastUpdateTime"] = format_time(now);
    one["status"] = status;
    one["reason"] = reason;
    one["message"] = message;
    return;
  }
  list.push_back({{"type", type},
                  {"status", status},
                  {"reason", reason},
                  {"message", message},
                  {"lastTransitionTime", format_time(now)},
                  {"lastUpdateTime", format_time(now)}});
}

}  // namespace fleetadm::sandbox
