#include "core/sandbox/quota/limits.h"

#include <array>
#include <cstdio>
#include <optional>

#include "core/sandbox/quota/usage.h"

namespace fleetadm::sandbox::quota {
namespace {

const char* const kLimitAnnotation = "kubernetes.io/limit-ranger";

/// The names that were added, as the annotation lists them.
std::string fill_in(Json& container, const char* what, const Json& defaults) {
  std::string added;
  for (const auto& [name, amount] : defaults.items()) {
    if (find(container, {"resources", what, name}) != nullptr) continue;
    at_or_make(container, {"resources", what, name}) = amount;
    added += (added.empty() ? "" : ", ") + name;
  }
  return added;
}

struct LimitView {
  std::string type;  // "Container"
  Amounts requests, limits;
};

std::optional<Quantity> amount_in(const Amounts& amounts, const std::string& name) {
  const auto at = amounts.find(name);
  return at == amounts.end() ? std::nullopt : std::optional(at->second);
}

void check_least(const LimitView& view, const Amounts& least, std::vector<std::string>& out) {
  for (const auto& [name, enforced] : least) {
    const auto request = amount_in(view.requests, name);
    const auto limit = amount_in(view.limits, name);
    const auto text = "minimum " + name + " usage per " + view.type + " is " + enforced.to_string();
    if (!request) {
      out.push_back(text + ".  No request is specified");
    } else if (request->compare(enforced) < 0) {
      out.push_back(text + ", but request is " + request->to_string());
    } else if (limit && limit->compare(enforced) < 0) {
      out.push_back(text + ", but limit is " + limit->to_string());
    }
  }
}

void check_most(const LimitView& view, const Amounts& most, std::vector<std::string>& out) {
  const bool only_requests = view.type == "PersistentVolumeClaim";
  for (const auto& [name, enforced] : most) {
    const auto request = amount_in(view.requests, name);
    const auto limit = amount_in(view.limits, name);
    const auto text = "maximum " + name + " usage per " + view.type + " is " + enforced.to_string();
    if (only_requests ? !request : !limit) {
      out.push_back(text + (only_requests ? ".  No request is specified" : ".  No limit is specified"));
    } else if (limit && limit->compare(enforced) > 0) {
      out.push_back(text + ", but limit is " + limit->to_string());
    } else if (request && request->compare(enforced) > 0) {
      out.push_back(text + ", but request is " + request->to_string());
    }
  }
}

void check_ratio(const LimitView& view, const Amounts& ratios, std::vector<std::string>& out) {
  for (const auto& [name, enforced] : ratios) {
    const auto request = amount_in(view.requests, name);
    const auto limit = amount_in(view.limits, name);
    const auto text = name + " max limit to request ratio per " + view.type + " is " + enforced.to_string();
    if (!request || request->is_zero()) {
      out.push_back(text + ", but no request is specified or request is 0");
    } else if (!limit || limit->is_zero()) {
      out.push_back(text + ", but no limit is specified or limit is 0");
    } else if (const auto ratio = limit->approximate() / request->approximate(); ratio > enforced.approximate()) {
      std::array<char, 400> shown{};
      std::snprintf(shown.data(), shown.size(), "%f", ratio);
      out.push_back(text + ", but provided ratio is " + shown.data());
    }
  }
}

void check_limits(const LimitView& view, const Json& limit, std::vector<std::string>& out) {
  check_least(view, amounts_of(object_at(limit, {"min"})), out);
  check_most(view, amounts_of(object_at(limit, {"max"})), out);
  if (view.type != "PersistentVolumeClaim") check_ratio(view, amounts_of(object_at(limit, {"maxLimitRequestRatio"})), out);
}

LimitView view_of_resources(const char* type, const Json& resources) {
  return {type, amounts_of(object_at(resources, {"requests"})), amounts_of(object_at(resources, {"limits"}))};
}

}  // namespace

void give_default_limits(const std::vector<Json>& ranges, Json& pod) {
  for (const Json& range : ranges) {
    Json limits = Json::object();
    Json requests = Json::object();
    for (const Json& one : list_at(range, {"spec", "limits"})) {
      if (str(one, {"type"}) != "Container") continue;
      limits.update(object_at(one, {"default"}));
      requests.update(object_at(one, {"defaultRequest"}));
    }
    std::string told;
    for (const auto& [list, what] : {std::pair("containers", "container "), std::pair("initContainers", "init container ")}) {
      Json& containers = at_or_make(pod, {"spec", list});
      if (!containers.is_array()) {
        erase_at(pod, {"spec", list});
        continue;
      }
      for (Json& container : containers) {
        for (const bool request : {true, false}) {
          const auto added = fill_in(container, request ? "requests" : "limits", request ? requests : limits);
          if (added.empty()) continue;
          told +=
              (told.empty() ? "" : "; ") + added + (request ? " request for " : " limit for ") + what + str(container, {"name"});
        }
      }
    }
    if (!told.empty()) at_or_make(pod, {"metadata", "annotations", kLimitAnnotation}) = "LimitRanger plugin set: " + told;
  }
}

std::string limit_violation(const Json& range, const Kind& kind, const Json& object) {
  std::vector<std::string> all;
  for (const Json& limit : list_at(range, {"spec", "limits"})) {
    const auto type = str(limit, {"type"});
    if (type == "Container" && kind.storage == "/pods") {
      for (const char* list : {"containers", "initContainers"}) {
        for (const Json& container : list_at(object, {"spec", list}))
          check_limits(view_of_resources("Container", object_at(container, {"resources"})), limit, all);
      }
    } else if (type == "Pod" && kind.storage == "/pods") {
      check_limits({"Pod", peak_of(object, "requests"), peak_of(object, "limits")}, limit, all);
    } else if (type == "PersistentVolumeClaim" && kind.storage == "/persistentvolumeclaims") {
      auto view = view_of_resources("PersistentVolumeClaim", object_at(object, {"spec", "resources"}));
      view.limits.clear();
      check_limits(view, limit, all);
    }
  }
  if (all.size() == 1) return all.front();
  std::string out;
  for (const auto& one : all) out += (out.empty() ? "[" : ", ") + one;
  return out.empty() ? out : out + "]";
}

}  // namespace fleetadm::sandbox::quota
