#include "commands/work/tree.h"

#include <optional>
#include <utility>

namespace fleetadm::commands {
namespace {

std::string with_state(const std::string& name, const std::string& state, const std::optional<work::Blocking>& blocking) {
  const bool tells = blocking && !blocking->reason.empty() && blocking->reason != state;
  return name + ": " + state + (tells ? " (" + blocking->reason + ")" : "");
}

}  // namespace

std::vector<std::vector<std::string>> work_branches(const work::WorkProgress& progress) {
  // Why a work is not well is told at its manifests, where it has any that are not.
  bool told = false;
  for (const work::ManifestProgress& manifest : progress.manifests) told = told || manifest.blocking.has_value();
  const std::string work = with_state(progress.name, progress.state, told ? std::nullopt : progress.blocking);
  if (progress.manifests.empty()) return {{progress.cluster, work}};
  std::vector<std::vector<std::string>> paths;
  for (const work::ManifestProgress& manifest : progress.manifests)
    paths.push_back({progress.cluster, work, with_state(manifest.describe(), manifest.state, manifest.blocking)});
  return paths;
}

}  // namespace fleetadm::commands
