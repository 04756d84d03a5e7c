// core/v1 and events.k8s.io/v1 show the same events (docs/reference/kubernetes-api.md#events). Stored is the core form.
#include <array>
#include <string>
#include <utility>

#include "kubeclient/base/json.h"

namespace fleetadm::sandbox {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 7> kRenamed = {{{"involvedObject", "regarding"},
                                                                          {"message", "note"},
                                                                          {"source", "deprecatedSource"},
                                                                          {"firstTimestamp", "deprecatedFirstTimestamp"},
                                                                          {"lastTimestamp", "deprecatedLastTimestamp"},
                                                                          {"count", "deprecatedCount"},
                                                                          {"reportingComponent", "reportingController"}}};

void rename(Json& event, const char* from, const char* to) {
  const auto at = event.find(from);
  if (at == event.end()) return;
  Json value = std::move(*at);
  event.erase(at);
  event[to] = std::move(value);
}

void fill(Json& event, const char* key, Json value) {
  if (!event.contains(key)) event[key] = std::move(value);
}

}  // namespace

/// Fields that the wire always shows.
Json core_event_view(Json event) {
  fill(event, "eventTime", nullptr);
  fill(event, "firstTimestamp", nullptr);
  fill(event, "lastTimestamp", nullptr);
  fill(event, "reportingComponent", "");
  fill(event, "reportingInstance", "");
  fill(event, "source", Json::object());
  return event;
}

Json events_api_view(Json event) {
  for (const auto& [core, other] : kRenamed) rename(event, core, other);
  fill(event, "eventTime", nullptr);
  fill(event, "deprecatedFirstTimestamp", nullptr);
  fill(event, "deprecatedLastTimestamp", nullptr);
  fill(event, "deprecatedSource", Json::object());
  if (str(event, {"reportingInstance"}).empty()) event.erase("reportingInstance");
  return event;
}

Json events_api_to_core(Json event) {
  for (const auto& [core, other] : kRenamed) rename(event, other, core);
  fill(event, "involvedObject", Json::object());
  return event;
}

}  // namespace fleetadm::sandbox
