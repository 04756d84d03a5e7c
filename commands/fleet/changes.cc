#include "commands/fleet/changes.h"

namespace fleetadm::commands {

install::Options told_options(Context& context, std::string_view part, Duration timeout) {
  install::Options options;
  options.part = part;
  options.timeout = timeout;
  options.stop = context.stop();
  options.told = [&context](const install::Change& change) { context.progress().note(change.kind + " " + change.name); };
  return options;
}

Result<std::vector<install::Change>> told_step(Context& context, std::string_view title,
                                               const std::function<Result<std::vector<install::Change>>()>& step) {
  context.progress().begin(title);
  auto changes = step();
  if (changes) {
    context.progress().done();
  } else {
    context.progress().failed(changes.error().message);
  }
  return changes;
}

std::vector<std::string> change_lines(const std::vector<install::Change>& changes, bool dry_run) {
  std::vector<std::string> lines;
  for (const auto& change : changes) {
    if (change.action == install::Action::kUnchanged && !dry_run) continue;
    lines.push_back(change.kind + " " + kube::object_key(change.ns, change.name) + " " +
                    std::string(install::to_string(change.action)) + (dry_run ? " (dry run)" : ""));
  }
  return lines;
}

}  // namespace fleetadm::commands
