#include "core/sandbox/node/containers.h"

#include <algorithm>
#include <fcntl.h>
#include <system_error>
#include <utility>

namespace fleetadm::sandbox {

std::uint64_t log_size(const std::filesystem::path& log) {
  std::error_code failed;
  const auto size = std::filesystem::file_size(log, failed);
  return failed ? 0 : size;
}

OwnedFd ContainerInput::open() const {
  const std::lock_guard lock(mutex_);
  return pipe_ ? OwnedFd(::fcntl(pipe_.get(), F_DUPFD_CLOEXEC, 3)) : OwnedFd();
}

void ContainerInput::left() {
  const std::lock_guard lock(mutex_);
  if (once_) pipe_.close();
}

void ContainerTable::started(const std::string& pod, const std::string& pod_uid, const std::string& container,
                             const std::filesystem::path& log, std::uint64_t begin, std::shared_ptr<const ContainerPlace> place) {
  const ContainerRun run{pod_uid, log, begin, std::nullopt};
  const std::lock_guard lock(mutex_);
  if (runs_.size() >= kMaxContainers) std::erase_if(runs_, [](const auto& one) { return one.second.current.end.has_value(); });
  const auto [known, is_new] = runs_.try_emplace({pod, container}, ContainerRuns{run, std::nullopt, nullptr});
  ContainerRuns& runs = known->second;
  runs.place = std::move(place);
  if (is_new) return;
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
  known->second.place.reset();
}

void ContainerTable::ended(const std::string& pod, const std::string& pod_uid) {
  const std::lock_guard lock(mutex_);
  for (auto it = runs_.lower_bound({pod, {}}); it != runs_.end() && it->first.first == pod; ++it) {
    ContainerRun& run = it->second.current;
    if (run.pod_uid != pod_uid) continue;
    if (!run.end) run.end = log_size(run.log);
    it->second.place.reset();
  }
}

std::optional<ContainerRuns> ContainerTable::find(const std::string& pod, const std::string& pod_uid,
                                                  const std::string& container) const {
  const std::lock_guard lock(mutex_);
  const auto known = runs_.find({pod, container});
  if (known == runs_.end() || known->second.current.pod_uid != pod_uid) return std::nullopt;
  return known->second;
}

std::vector<std::shared_ptr<const ContainerPlace>> ContainerTable::places(const std::string& pod,
                                                                          const std::string& pod_uid) const {
  std::vector<std::shared_ptr<const ContainerPlace>> places;
  const std::lock_guard lock(mutex_);
  for (auto it = runs_.lower_bound({pod, {}}); it != runs_.end() && it->first.first == pod; ++it) {
    if (it->second.current.pod_uid == pod_uid && it->second.place) places.push_back(it->second.place);
  }
  return places;
}

std::function<std::optional<std::uint64_t>()> end_of_run(std::shared_ptr<const ContainerTable> containers, std::string pod,
                                                         std::string pod_uid, std::string container, ContainerRun run) {
  return [containers = std::move(containers), pod = std::move(pod), pod_uid = std::move(pod_uid),
          container = std::move(container), run = std::move(run)]() -> std::optional<std::uint64_t> {
    const auto now = containers->find(pod, pod_uid, container);
    if (now && now->current.begin == run.begin) return now->current.end;
    if (now && now->previous && now->previous->begin == run.begin) return now->previous->end;
    return std::max(run.begin, log_size(run.log));  // the pod is gone: what there is was all
  };
}

}  // namespace fleetadm::sandbox
