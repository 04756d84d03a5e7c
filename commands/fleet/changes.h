// What init, join, unjoin and clean share: a step that changes objects, told as it happens, and its outcome as lines.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/framework/context.h"
#include "commands/framework/report.h"
#include "core/install/install.h"
#include "core/install/pod_trouble.h"

namespace fleetadm::commands {

/// What --hub-arg and --agent-arg hand to `fleetadm hub run` and `fleetadm agent run`: flags, each one word. Anything else would
/// only show as a program that does not start.
Status check_program_args(std::string_view flag, const std::vector<std::string>& args);

/// Options of install:: whose changes are told as notes of the progress, and which end with the command.
install::Options options_with_progress(Context& context, std::string_view part, Duration timeout);

/// Runs `step` as one step of the progress: done, or failed with the error's message.
Result<std::vector<install::Change>> step_with_progress(Context& context, std::string_view title,
                                                        const std::function<Result<std::vector<install::Change>>()>& step);

/// Tells what keeps pods from running, as install::wait_deployment sees it.
std::function<void(const install::PodTrouble&)> warn_of_trouble(Context& context);

/// "Deployment ns/name created", one a change, each with the mark of a dry run (dry_run.h). What stayed as it was is told in a
/// dry run only.
std::vector<std::string> change_lines(const std::vector<install::Change>& changes, std::string_view dry_run_mark);

/// "deployment.apps/name", one a change, for -o name: all but what was kept because it is someone else's.
std::vector<std::string> change_names(const std::vector<install::Change>& changes);

/// Whether a dry run is to print the objects that it would apply (-o yaml).
bool wants_manifests(Context& context);

/// Prints them as one stream of documents, as they are applied for `part`, and leaves the report without data. Secrets that hold
/// something are left out, which a note tells: a repository is not where they belong.
void print_manifests(Context& context, std::string_view part, const std::vector<Json>& objects, Report& report);

}  // namespace fleetadm::commands
