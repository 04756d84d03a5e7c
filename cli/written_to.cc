#include "cli/written_to.h"

#include <algorithm>

#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::cli {
namespace {

using commands::Target;

// A URL may carry a password, which is nobody's to read.
std::string without_user(std::string url) {
  const std::size_t scheme = url.find("://");
  const std::size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  const std::size_t at = url.find('@', begin);
  if (at != std::string::npos && at < url.find('/', begin)) url.erase(begin, at + 1 - begin);
  return url;
}

// "placements" of /apis/GROUP/VERSION/namespaces/NS/placements/NAME. Empty for subresources: their object is counted by itself.
std::string resource_of(std::string_view path, bool collection) {
  std::vector<std::string_view> words;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) words.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  std::size_t at = !words.empty() && words.front() == "api" ? 2 : 3;
  const std::size_t tail = collection ? 1 : 2;  // RESOURCE or RESOURCE/NAME
  if (words.size() == at + 2 + tail && words[at] == "namespaces") at += 2;
  return words.size() == at + tail ? std::string(words[at]) : std::string();
}

}  // namespace

std::string connection_text(const kube::RestConfig& config) {
  const std::string what = config.name == kube::kInClusterName ? config.name : "context \"" + config.name + "\"";
  return what + " (" + without_user(config.server) + ")";
}

std::function<Status(kube::Method, std::string_view)> WrittenTo::hook(const kube::RestConfig& config, bool own) {
  if (target_ == Target::kSilent) return {};
  const bool hub = (target_ == Target::kHub) == own;
  std::string called(hub ? "hub" : "cluster");
  {
    const std::lock_guard lock(mutex_);
    if (const auto named = sides_.find({config.name, config.server}); named != sides_.end()) called = named->second;
  }
  return [this, config, side = std::move(called)](kube::Method, std::string_view) -> Status {
    add(side, config);
    return {};
  };
}

void WrittenTo::name_side(const kube::RestConfig& config, std::string_view side) {
  const std::lock_guard lock(mutex_);
  sides_[{config.name, config.server}] = side;
}

void WrittenTo::add(const std::string& side, const kube::RestConfig& config) {
  const std::lock_guard lock(mutex_);
  const bool known = std::any_of(places_.begin(), places_.end(), [&](const Place& place) {
    return place.side == side && place.context == config.name && place.server == config.server;
  });
  if (known) return;
  places_.push_back({side, config.name, config.server, side + ": " + connection_text(config)});
  if (say_) say_(places_.back().line);
}

std::function<void(kube::Method, std::string_view, int)> WrittenTo::count() {
  return [this](kube::Method method, std::string_view path, int status) {
    if (status < 200 || status > 299) return;
    const bool created = method == kube::Method::kPost || status == 201;  // an apply creates, too
    const std::string resource = resource_of(path, method == kube::Method::kPost);
    if (resource.empty()) return;
    const std::lock_guard lock(mutex_);
    ++done_[resource][created ? "created" : method == kube::Method::kDelete ? "deleted" : "changed"];
  };
}

std::vector<std::string> WrittenTo::done() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const auto& [resource, counts] : done_) {
    std::string line;
    for (const auto& [what, count] : counts) line += (line.empty() ? "" : ", ") + std::to_string(count) + " " + what;
    lines.push_back(resource + ": " + line);
  }
  return lines;
}

Json WrittenTo::report() const {
  const std::lock_guard lock(mutex_);
  Json out = Json::object();
  for (const Place& place : places_) {
    if (out.contains(place.side)) continue;
    out[place.side] = {{"server", without_user(place.server)}};
    if (place.context != kube::kInClusterName) out[place.side]["context"] = place.context;
  }
  return out;
}

std::vector<std::string> WrittenTo::lines() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const Place& place : places_) lines.push_back(place.line);
  return lines;
}

}  // namespace fleetadm::cli
