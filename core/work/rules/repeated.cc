#include "core/work/rules/repeated.h"

#include <map>
#include <utility>

#include "core/work/rules/merge.h"

namespace fleetadm::work {
namespace {

/// Labels or annotations of both, the later ones' where both speak of a key. A key that ends with '-' removes the one without it.
Json united_strings(const Json& earlier, const Json& later) {
  Json united = earlier;
  for (const auto& [key, value] : later.items()) {
    united.erase(key.ends_with('-') ? key.substr(0, key.size() - 1) : key + "-");
    united[key] = value;
  }
  return united;
}

/// What the Update strategy makes of one manifest after the other.
Json united(const Manifest& earlier, const Manifest& later) {
  // Of two versions of a kind, the fields may mean different things.
  if (earlier.version != later.version) return later.object;
  const Owner nobody{"", ""};
  Json object = object_to_update(later.object, earlier.object, merge_mode_of(later.group, later.kind), nobody, /*owned=*/false);
  for (const char* member : {"labels", "annotations"}) {
    Json strings = united_strings(object_at(earlier.object, {"metadata", member}), object_at(later.object, {"metadata", member}));
    if (strings.empty()) continue;
    at_or_make(object, {"metadata", member}) = std::move(strings);
  }
  return object;
}

void unite(const Json& work, std::vector<Manifest>& manifests, const std::vector<std::size_t>& same) {
  const StrategyType strategy = options_for(work, manifests[same.front()]).strategy.type;
  const std::size_t stands = strategy == StrategyType::kCreateOnly ? same.front() : same.back();
  if (strategy == StrategyType::kUpdate) {
    for (std::size_t i = 1; i < same.size(); ++i) manifests[same[i]].object = united(manifests[same[i - 1]], manifests[same[i]]);
  }
  for (const std::size_t i : same) {
    if (i != stands) manifests[i].same_as = stands;
  }
}

}  // namespace

void unite_repeated(const Json& work, std::vector<Manifest>& manifests) {
  std::map<std::string, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < manifests.size(); ++i) {
    if (!manifests[i].error) places[manifests[i].describe()].push_back(i);
  }
  if (places.size() == manifests.size()) return;
  for (const auto& [place, same] : places) {
    if (same.size() > 1) unite(work, manifests, same);
  }
}

}  // namespace fleetadm::work
