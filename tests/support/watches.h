// What tests want of a watch: that it tells of an object, and how it ends.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>

#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"
#include "kubeclient/watch/blocking_watch.h"

namespace fleetadm::testkit {

/// True once the watch has told of it.
inline bool is_told(kube::BlockingWatch& watch, const std::string& name, Duration patience = std::chrono::seconds(15)) {
  for (const auto until = std::chrono::steady_clock::now() + patience; std::chrono::steady_clock::now() < until;) {
    const auto next = watch.next(std::chrono::milliseconds(500), {});
    if (std::holds_alternative<kube::BlockingWatch::Ended>(next)) return false;
    if (const auto* event = std::get_if<kube::BlockingWatch::Event>(&next); event && name_of(event->object) == name) return true;
  }
  return false;
}

/// How it ended; nothing where it has not.
inline std::optional<kube::BlockingWatch::Ended> end_of(kube::BlockingWatch& watch, Duration patience) {
  for (const auto until = std::chrono::steady_clock::now() + patience; std::chrono::steady_clock::now() < until;) {
    const auto next = watch.next(std::chrono::milliseconds(200), {});
    if (const auto* ended = std::get_if<kube::BlockingWatch::Ended>(&next)) return *ended;
  }
  return std::nullopt;
}

}  // namespace fleetadm::testkit
