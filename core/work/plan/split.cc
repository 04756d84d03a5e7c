#include "core/work/plan/split.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/work/plan/diff.h"

namespace fleetadm::work {

std::string part_name(const std::string& name, std::size_t number) {
  return number <= 1 ? name : name + "-part" + std::to_string(number);
}

std::size_t part_number(const std::string& name, const std::string& part) {
  if (part == name) return 1;
  const std::string prefix = name + "-part";
  if (!part.starts_with(prefix)) return 0;
  std::size_t number = 0;
  const char* first = part.data() + prefix.size();
  const char* last = part.data() + part.size();
  const auto [end, error] = std::from_chars(first, last, number);
  return error == std::errc{} && end == last && number > 1 ? number : 0;
}

std::map<std::string, std::string> placed_objects(const std::vector<Json>& works) {
  std::map<std::string, std::string> placed;
  for (const Json& work : works) {
    const bool set = str(work, {"kind"}) == "ManifestWorkReplicaSet";
    const Json& manifests = set ? list_at(work, {"spec", "manifestWorkTemplate", "workload", "manifests"})
                                : list_at(work, {"spec", "workload", "manifests"});
    for (const Json& manifest : manifests) placed.emplace(manifest_identity(manifest), name_of(work));
  }
  return placed;
}

std::vector<WorkPart> split_manifests(const std::string& name, const Json& manifests,
                                      const std::map<std::string, std::string>& placed, std::size_t limit) {
  std::map<std::size_t, std::size_t> used;  // part → bytes
  std::vector<std::size_t> part_of(manifests.size(), 0);
  std::map<std::size_t, bool> gives_away;
  const auto size_of = [&](std::size_t i) { return dump_json(manifests[i]).size(); };
  // What has a part keeps it, before anything new takes the room.
  std::vector<std::size_t> homeless;
  for (std::size_t i = 0; i < manifests.size(); ++i) {
    const auto known = placed.find(manifest_identity(manifests[i]));
    const std::size_t home = known == placed.end() ? 0 : part_number(name, known->second);
    if (home != 0 && used[home] + size_of(i) <= limit) {
      part_of[i] = home;
      used[home] += size_of(i);
      continue;
    }
    if (home != 0) gives_away[home] = true;
    homeless.push_back(i);
  }
  for (const std::size_t i : homeless) {
    std::size_t number = 1;
    while (used[number] + size_of(i) > limit) ++number;
    part_of[i] = number;
    used[number] += size_of(i);
  }
  std::map<std::size_t, WorkPart> parts;
  for (std::size_t i = 0; i < manifests.size(); ++i) {
    WorkPart& part = parts[part_of[i]];
    part.name = part_name(name, part_of[i]);
    part.gives_away = gives_away[part_of[i]];
    part.manifests.push_back(manifests[i]);
  }
  std::vector<WorkPart> result;
  for (auto& [number, part] : parts) result.push_back(std::move(part));
  return result;
}

}  // namespace fleetadm::work
