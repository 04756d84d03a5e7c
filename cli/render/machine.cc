#include "cli/render/machine.h"

#include <utility>

namespace fleetadm::cli {

using commands::Report;

bool is_own_kind(const Json& document) {
  if (!document.is_object() || !document.contains("kind")) return false;
  const auto version = document.find("apiVersion");
  return version == document.end() || *version == kOwnApiVersion;
}

void add_api_version(Json& document) {
  if (!is_own_kind(document)) return;
  document["apiVersion"] = kOwnApiVersion;
  const auto items = document.find("items");
  if (items == document.end() || !items->is_array()) return;
  for (Json& item : *items) {
    if (is_own_kind(item)) item["apiVersion"] = kOwnApiVersion;
  }
}

Json watch_event(Report::Event event, Json object) {
  Json out = Json::object();
  out["type"] = to_string(event);
  out["object"] = std::move(object);
  return out;
}

std::string_view to_string(Report::Event event) {
  switch (event) {
    case Report::Event::kNone: break;
    case Report::Event::kAdded: return "ADDED";
    case Report::Event::kModified: return "MODIFIED";
    case Report::Event::kDeleted: return "DELETED";
  }
  return "";
}

}  // namespace fleetadm::cli
