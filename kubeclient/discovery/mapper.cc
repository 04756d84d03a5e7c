#include "kubeclient/discovery/mapper.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>

#include "kubeclient/discovery/cache_file.h"

namespace fleetadm::kube {

namespace {

constexpr auto kAskAgain = std::chrono::seconds(10);

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

Error no_such_type(std::string_view what, const Discovery& discovery) {
  Error error = fail(Category::kNotFound, "the server doesn't have a resource type \"" + std::string(what) + "\"").value();
  error.reason = "NoSuchType";
  if (!discovery.failed_groups.empty()) {
    // Unknown is not absent: callers that delete by absence look at the category.
    error.category = Category::kUnavailable;
    error.message += " (discovery failed for";
    for (const auto& group : discovery.failed_groups) error.message += " " + group;
    error.message += ")";
  } else {
    error.hint = "is its CRD installed?";
  }
  return error;
}

/// What of a resource a word names, best first; 0 is no match.
int match(const DiscoveredResource& one, const std::string& word) {
  if (one.resource.plural == word) return 4;
  if ((one.singular.empty() ? lower(one.resource.kind) : one.singular) == word) return 3;
  if (std::find(one.short_names.begin(), one.short_names.end(), word) != one.short_names.end()) return 2;
  if (lower(one.resource.kind) == word) return 1;
  return 0;
}

/// The first of the best matches, in the server's order of preference.
const DiscoveredResource* best(const Discovery& discovery, const std::string& word, const std::optional<std::string>& group,
                               const std::optional<std::string>& version) {
  const DiscoveredResource* found = nullptr;
  int rank = 0;
  for (const auto& one : discovery.resources) {
    if (group && one.resource.group != *group && !(version == std::nullopt && one.resource.group.starts_with(*group + ".")))
      continue;
    if (version && one.resource.version != *version) continue;
    const int here = match(one, word);
    if (here > rank) {
      found = &one;
      rank = here;
    }
  }
  return found;
}

const DiscoveredResource* by_word(const Discovery& discovery, std::string_view word) {
  const std::string all = lower(word);
  const auto dot = all.find('.');
  if (dot == std::string::npos) return best(discovery, all, std::nullopt, std::nullopt);
  const std::string name = all.substr(0, dot);
  const std::string rest = all.substr(dot + 1);
  // "deployments.v1.apps" before "deployments.apps"; "pods.v1." and "pods.v1" are the core group's.
  if (const auto second = rest.find('.'); second != std::string::npos) {
    if (const auto* found = best(discovery, name, rest.substr(second + 1), rest.substr(0, second))) return found;
  }
  if (const auto* found = best(discovery, name, rest, std::nullopt)) return found;
  return best(discovery, name, std::string{}, rest);
}

}  // namespace

struct Mapper::State {
  State(Client c, std::string folder)
      : client(std::move(c)), file(std::move(folder), client.cluster_name() + "\n" + client.transport()->address()) {}

  Client client;
  DiscoveryCacheFile file;
  std::mutex mutex;
  std::optional<Discovery> known;
  bool from_disk = false;
  std::chrono::steady_clock::time_point asked;

  Status load() {
    if (known) return {};
    if (auto kept = file.read()) {
      known = std::move(kept);
      from_disk = true;
      return {};
    }
    return ask();
  }

  Status ask() {
    asked = std::chrono::steady_clock::now();
    FLEETADM_TRY(auto fresh, discover(client));
    known = std::move(fresh);
    from_disk = false;
    file.write(*known);
    return {};
  }

  /// Looks in what is known; a miss asks the server again, but not for every miss.
  template <class Find>
  Result<DiscoveredResource> look(const Find& find, std::string_view what) {
    const std::scoped_lock lock(mutex);
    FLEETADM_CHECK(load());
    if (const DiscoveredResource* found = find(*known)) return *found;
    if (from_disk || std::chrono::steady_clock::now() - asked >= kAskAgain) {
      FLEETADM_CHECK(ask());
      if (const DiscoveredResource* found = find(*known)) return *found;
    }
    Error error = no_such_type(what, *known);
    error.cluster = client.cluster_name();
    return fail(std::move(error));
  }
};

Mapper::Mapper(Client client, std::string cache_dir) : state_(std::make_shared<State>(std::move(client), std::move(cache_dir))) {}

Result<DiscoveredResource> Mapper::by_kind(std::string_view api_version, std::string_view kind) {
  const auto [group, version] = parse_api_version(api_version);
  return state_->look(
      [&, g = group, v = version](const Discovery& known) -> const DiscoveredResource* {
        for (const auto& one : known.resources) {
          if (one.resource.group == g && one.resource.version == v && one.resource.kind == kind) return &one;
        }
        return nullptr;
      },
      kind);
}

Result<DiscoveredResource> Mapper::by_name(std::string_view word) {
  return state_->look([&](const Discovery& known) { return by_word(known, word); }, word);
}

Result<std::vector<DiscoveredResource>> Mapper::by_category(std::string_view category) {
  const std::scoped_lock lock(state_->mutex);
  FLEETADM_CHECK(state_->load());
  std::vector<DiscoveredResource> found;
  for (const auto& one : state_->known->resources) {
    if (std::find(one.categories.begin(), one.categories.end(), category) == one.categories.end()) continue;
    // Of several versions the preferred one alone.
    const bool listed = std::any_of(found.begin(), found.end(), [&](const DiscoveredResource& other) {
      return other.resource.group == one.resource.group && other.resource.plural == one.resource.plural;
    });
    if (!listed) found.push_back(one);
  }
  return found;
}

void Mapper::invalidate() {
  const std::scoped_lock lock(state_->mutex);
  state_->known.reset();
  state_->file.remove();
}

}  // namespace fleetadm::kube
