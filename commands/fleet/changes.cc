#include "commands/fleet/changes.h"

#include <algorithm>

#include "commands/framework/dry_run.h"
#include "core/api/kinds.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::commands {

Status check_program_args(std::string_view flag, const std::vector<std::string>& args) {
  for (const std::string& arg : args) {
    if (arg.size() > 2 && arg.starts_with("--") && arg[2] != '=') continue;
    return fail(Category::kUsage, "--" + std::string(flag) + " \"" + arg + "\" is not a flag of the form --name=value",
                "pass it as one argument: --" + std::string(flag) + "=--name=value");
  }
  return {};
}

install::Options options_with_progress(Context& context, std::string_view part, Duration timeout) {
  install::Options options;
  options.part = part;
  options.timeout = timeout;
  options.stop = context.stop();
  options.told = [&context](const install::Change& change) { context.progress().note(change.kind + " " + change.name); };
  return options;
}

Result<std::vector<install::Change>> step_with_progress(Context& context, std::string_view title,
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

std::function<void(const install::PodTrouble&)> warn_of_trouble(Context& context) {
  return [&context](const install::PodTrouble& trouble) { context.progress().warn(trouble.text()); };
}

std::vector<std::string> change_lines(const std::vector<install::Change>& changes, std::string_view dry_run_mark) {
  std::vector<std::string> lines;
  for (const auto& change : changes) {
    if (change.action == install::Action::kUnchanged && dry_run_mark.empty()) continue;
    std::string line = change.kind + " " + kube::object_key(change.ns, change.name) + " " +
                       std::string(install::to_string(change.action)) + std::string(dry_run_mark);
    if (!change.unchecked.empty()) line += ", not checked: " + change.unchecked;
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> change_names(const std::vector<install::Change>& changes) {
  std::vector<std::string> names;
  for (const auto& change : changes) {
    if (change.action == install::Action::kKeptForeign) continue;
    std::string kind = change.kind;
    std::transform(kind.begin(), kind.end(), kind.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    names.push_back(kind + (change.group.empty() ? "" : "." + change.group) + "/" + change.name);
  }
  return names;
}

bool wants_manifests(Context& context) { return is_dry(context) && context.global().output == "yaml"; }

void print_manifests(Context& context, std::string_view part, const std::vector<Json>& objects, Report& report) {
  std::vector<std::string> secrets;
  std::string text;
  for (Json object : objects) {
    const bool filled = !object_at(object, {"data"}).empty() || !object_at(object, {"stringData"}).empty();
    if (str(object, {"kind"}) == "Secret" && filled) {
      secrets.push_back(kube::object_key(object));
      continue;
    }
    if (str(object, {"kind"}) != api::cluster_claims().kind)
      at_or_make(object, {"metadata", "labels", install::kPartLabel}) = part;
    text += "---\n" + dump_yaml(object);
  }
  (void)context.terminal().write_stdout(context.terminal().stdout_is_terminal() ? log::escape_terminal(text, true) : text);
  report.data = nullptr;
  if (secrets.empty()) return;
  report.notes.push_back("Secrets are not among these manifests and have to be made otherwise: " + joined(secrets, ", ") + ".");
}

}  // namespace fleetadm::commands
