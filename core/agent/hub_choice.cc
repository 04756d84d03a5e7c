#include "core/agent/hub_choice.h"

#include <algorithm>
#include <utility>

#include "kubeclient/base/log.h"

namespace fleetadm::agent {
namespace reg = registration::agent;
namespace {

constexpr auto kChoiceStands = std::chrono::minutes(1);

}  // namespace

HubChoice::HubChoice(std::vector<BootstrapSource> sources) : sources_(std::move(sources)) {}

bool HubChoice::from_files() const { return sources_.front().is_file(); }

std::string HubChoice::names() const {
  std::string all;
  for (const BootstrapSource& source : sources_) all += (all.empty() ? "" : ", ") + source.name();
  return all;
}

HubChoice::Found HubChoice::read_all() {
  Found found;
  for (BootstrapSource& source : sources_) {
    Result<std::optional<Bootstrap>> read = source.read();
    if (!read && !found.error) found.error = read.error();
    if (read && *read) found.hubs.push_back(std::move(**read));
  }
  return found;
}

Result<std::optional<Bootstrap>> HubChoice::read_for(const reg::Endpoint& hub) {
  Found found = read_all();
  for (Bootstrap& one : found.hubs) {
    if (one.endpoint == hub) return std::move(one);
  }
  if (found.error) return tl::unexpected(*found.error);
  if (found.hubs.empty()) return std::nullopt;
  return std::move(found.hubs.front());
}

Result<std::optional<Bootstrap>> HubChoice::choose(const std::optional<reg::Endpoint>& current, const Check& check, Instant now) {
  if (!several()) return sources_.front().read();
  Found found = read_all();
  std::vector<Bootstrap>& hubs = found.hubs;
  if (hubs.empty()) {
    if (found.error) return tl::unexpected(*found.error);
    return std::nullopt;
  }
  if (chosen_ && now >= chosen_->at && now - chosen_->at < kChoiceStands) {
    for (Bootstrap& one : hubs) {
      if (one.text == chosen_->text) return std::move(one);
    }
  }
  if (current) std::stable_partition(hubs.begin(), hubs.end(), [&](const Bootstrap& one) { return one.endpoint == *current; });
  std::string reasons;
  const auto add = [&reasons](const std::string& reason) { reasons += (reasons.empty() ? "" : "; ") + reason; };
  for (Bootstrap& one : hubs) {
    const Result<std::string> why = check(one);
    if (why && why->empty()) {
      chosen_ = Chosen{one.text, now};
      return std::move(one);
    }
    add(log::escape_terminal(one.endpoint.server) + ": " + (why ? *why : why.error().message));
  }
  if (found.error) add(found.error->message);
  return fail(Category::kUnavailable, "none of the hubs can be joined: " + reasons);
}

}  // namespace fleetadm::agent
