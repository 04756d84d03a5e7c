#include "core/sandbox/streams/containers.h"

#include <system_error>
#include <utility>

namespace fleetadm::sandbox {

std::uint64_t log_size(const std::filesystem::path& log) {
  std::error_code failed;
  const auto size = std::filesystem::file_size(log, failed);
  return failed ? 0 : size;
}

void ContainerTable::started(const std::string& pod, const std::string& pod_uid, const std::string& container,
                             const std::filesystem::path& log, std::uint64_t begin) {
  const ContainerRun run{pod_uid, log, begin, std::nullopt};
  const std::lock_guard lock(mutex_);
  if (runs_.size() >= kMostContainers) std::erase_if(runs_, [](const auto& one) { return one.second.current.end.has_value(); });
  const auto [known, is_new] = runs_.try_emplace({pod, container}, ContainerRuns{run, std::nullopt});
  if (is_new) return;
  ContainerRuns& runs = known->second;
  runs.previous.reset();
  if (runs.current.pod_uid == pod_uid) {
    runs.previous = std::move(runs.current);
    if (!runs.previous->end) runs.previous->end = run.begin;
  }
  runs.current = run;
}

void ContainerTable::ended(const std::string& pod, const std::string& pod_uid, const std::string& container) {
  const std::lock_guard lock(mutex_);
  const auto known = runs_.find({pod, container});
  if (known == runs_.end() || known->second.current.pod_uid != pod_uid) return;
  ContainerRun& run = known->second.current;
  if (!run.end) run.end = log_size(run.log);
}

void ContainerTable::ended(const std::string& pod, const std::string& pod_uid) {
  const std::lock_guard lock(mutex_);
  for (auto it = runs_.lower_bound({pod, {}}); it != runs_.end() && it->first.first == pod; ++it) {
    ContainerRun& run = it->second.current;
    if (run.pod_uid == pod_uid && !run.end) run.end = log_size(run.log);
  }
}

std::optional<ContainerRuns> ContainerTable::find(const std::string& pod, const std::string& pod_uid,
                                                  const std::string& container) const {
  const std::lock_guard lock(mutex_);
  const auto known = runs_.find({pod, container});
  if (known == runs_.end() || known->second.current.pod_uid != pod_uid) return std::nullopt;
  return known->second;
}

}  // namespace fleetadm::sandbox
