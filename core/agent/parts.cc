#include "core/agent/parts.h"

namespace fleetadm::agent {

void Parts::add(std::string name, std::function<std::string()> missing) {
  const std::lock_guard lock(mutex_);
  parts_.emplace_back(std::move(name), std::move(missing));
}

void Parts::complete() {
  const std::lock_guard lock(mutex_);
  complete_ = true;
}

std::string Parts::not_ready() {
  const std::lock_guard lock(mutex_);
  if (ready_) return {};
  std::string all;
  for (const auto& [name, missing] : parts_) {
    std::string text = missing();
    if (text.empty()) continue;
    while (text.ends_with('\n')) text.pop_back();
    for (auto at = text.find('\n'); at != std::string::npos; at = text.find('\n')) text.replace(at, 1, ", ");
    all += (all.empty() ? "" : "; ") + name + ": " + text;
  }
  if (!all.empty()) return all;
  if (!complete_) return "it is starting";
  ready_ = true;
  return {};
}

}  // namespace fleetadm::agent
