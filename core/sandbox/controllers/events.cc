#include "core/sandbox/controllers/events.h"

#include <algorithm>

#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox {
namespace {

constexpr std::size_t kLongestEventBase = 200;  // a name has 253 characters at most
constexpr auto kEventsLast = std::chrono::hours(1);

/// When an event was last told.
Instant told_at(const Json& event) {
  Instant out;
  for (const Json* time : {find(event, {"metadata", "creationTimestamp"}), find(event, {"lastTimestamp"}),
                           find(event, {"eventTime"}), find(event, {"series", "lastObservedTime"})}) {
    if (time == nullptr || !time->is_string()) continue;
    out = std::max(out, parse_time(time->get<std::string>()).value_or(Instant()));
  }
  return out;
}

Json event_of(const Json& object, const std::string& name, std::string_view component, std::string_view type,
              std::string_view reason, const std::string& message, Instant now) {
  const auto at = format_time(now);
  return {{"apiVersion", "v1"},
          {"kind", "Event"},
          {"metadata", {{"name", name}}},
          {"involvedObject",
           {{"kind", str(object, {"kind"})},
            {"namespace", namespace_of(object)},
            {"name", name_of(object)},
            {"uid", uid_of(object)},
            {"apiVersion", str(object, {"apiVersion"})},
            {"resourceVersion", resource_version_of(object)}}},
          {"reason", reason},
          {"message", message},
          {"source", {{"component", component}}},
          {"reportingComponent", component},
          {"reportingInstance", ""},
          {"eventTime", nullptr},
          {"firstTimestamp", at},
          {"lastTimestamp", at},
          {"count", 1},
          {"type", type}};
}

}  // namespace

void record_event(const ControllerContext& context, const Json& object, std::string_view component, std::string_view type,
                  std::string_view reason, const std::string& message) {
  const auto kind = context.engine.kinds().find("", "v1", "events");
  const auto print = sha256_hex(uid_of(object) + "/" + std::string(reason) + "/" + message).substr(0, 16);
  const auto name = name_of(object).substr(0, kLongestEventBase) + "." + print;
  const auto ns = namespace_of(object).empty() ? std::string("default") : namespace_of(object);
  const auto now = context.engine.clock().now();
  const auto by = as_controller(component);
  const auto done = context.engine.modify(*kind, ns, name, by, true, [&](const Json* old) -> ApiResult<Json> {
    if (old == nullptr) return event_of(object, name, component, type, reason, message, now);
    Json next = *old;
    next["count"] = num(*old, {"count"}, 1) + 1;
    next["lastTimestamp"] = format_time(now);
    return next;
  });
  static_cast<void>(done);  // who is told of it matters less than what is done
}

void sync_event(const ControllerContext& context, const std::string& ns, const std::string& name) {
  const auto kind = context.engine.kinds().find("", "v1", "events");
  const auto event = context.engine.get(*kind, ns, name);
  if (!event || is_deleting(*event)) return;
  const auto until = told_at(*event) + kEventsLast;
  if (until > context.engine.clock().now()) return look_again_at(context, until);
  remove(context, *kind, *event);
}

}  // namespace fleetadm::sandbox
