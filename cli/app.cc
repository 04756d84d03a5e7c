#include "cli/app.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <fcntl.h>
#include <new>
#include <optional>
#include <signal.h>
#include <unistd.h>

#include "cli/argv/lookup.h"
#include "cli/argv/normalise.h"
#include "cli/argv/parser.h"
#include "cli/complete.h"
#include "cli/configured.h"
#include "cli/crash.h"
#include "cli/error_output.h"
#include "cli/execution.h"
#include "cli/globals.h"
#include "cli/help.h"
#include "cli/help_command.h"
#include "cli/kubectl_plugin.h"
#include "cli/live_names.h"
#include "cli/output.h"
#include "cli/pager.h"
#include "cli/plugins.h"
#include "cli/render/errors.h"
#include "cli/terminal.h"
#include "commands/config/config.h"
#include "commands/plugin/plugin.h"

namespace fleetadm::cli {
namespace {

using commands::Command;
using commands::GlobalOptions;
using commands::Registry;

constexpr std::string_view kAccountFlag = "--managed-serviceaccount";

// A standard stream that was closed before we began would lend its number to the next file or socket, and what is printed would
// go there. Its place is taken by something that can be used for nothing, so that reading and writing still fail.
void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    if (::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) return;
  }
}

int print_text(std::string_view text, const std::string& pager = {}) {
  Output out(pager);
  out.write(for_locale(std::string(text)));
  return out.finish(kExitOk, false);
}

// What may stand at the cursor: aliases are words like the built-in ones, and live names are those of the hub that is meant.
std::string complete_words(const Registry& registry, const Result<commands::Settings>& settings, std::vector<std::string> words,
                           const FlagList& globals) {
  // Without its settings it is not known which programs a kubeconfig may run: no server is asked.
  if (!settings) return complete(registry, words, [](auto, const auto&) { return std::vector<LiveName>(); });
  apply_plugin_policy(*settings);
  std::string current = words.empty() ? "" : words.back();
  if (!words.empty()) words.pop_back();
  if (auto expanded = expand_alias(registry, *settings, words, globals)) words = std::move(*expanded);
  words.push_back(std::move(current));
  // A plugin has its own flags and arguments.
  const bool plugins = settings->find("plugins")->value == true;
  if (plugins && !find_command(registry, {words.begin(), words.end() - 1}, globals))
    if (auto out = complete_plugin(registry, words)) return *out;
  const LiveNames live = [&](commands::Complete kind, const GlobalOptions& options) {
    GlobalOptions meant = options;
    if (meant.config.context.empty() && meant.config.kubeconfig.empty())
      meant.config.context = settings->find("hubContext")->text();
    return live_names(kind, meant);
  };
  const Registry with = with_aliases(registry, *settings);
  return complete(plugins ? with_plugins(with) : with, words, live);
}

int run_checked(std::vector<std::string> words, CalledAs called) {
  Profile profile;
  const Registry registry = full_registry();
  const Result<commands::Settings> settings = load_settings();
  GlobalOptions globals;
  const commands::FlagSet global_set = global_flags(globals);
  const AllFlags global_list = all_flags({}, global_set);
  if (called == CalledAs::kKubectlCompletion)
    return print_text(completion_for_kubectl(complete_words(registry, settings, std::move(words), global_list.list)));
  if (!words.empty() && words.front() == "__complete")
    return print_text(complete_words(registry, settings, {words.begin() + 1, words.end()}, global_list.list));
  // Help and hints name commands as they are typed.
  const auto typed = [&registry, called](std::string text) {
    return called == CalledAs::kKubectlPlugin ? with_kubectl(std::move(text), registry) : text;
  };
  // As the credential plugin of ClusterProfiles is called: there is no command.
  if (!words.empty() && (words.front() == kAccountFlag || words.front().starts_with(std::string(kAccountFlag) + "=")))
    words.insert(words.begin(), {"msa", "exec-credential"});
  ErrorStyle style = style_of(words, settings);
  style.as_typed = typed;
  if (settings) {
    Result<std::vector<std::string>> expanded = expand_alias(registry, *settings, words, global_list.list);
    if (!expanded) return report_error(expanded.error(), style);
    words = std::move(*expanded);
  }
  // Help has to work with a broken file, too.
  const std::string pager = refuses_pager(words) || !settings ? "" : pager_of(*settings);
  Result<Found> found = find_command(registry, words, global_list.list);
  // With a broken file nobody knows whether the word is an alias.
  if (!found && !settings) return report_error(settings.error(), style);
  if (!found) {
    std::optional<Error> not_run;
    if (settings->find("plugins")->value == true) not_run = become_plugin(registry, words, global_list.list);
    return report_error(not_run ? *not_run : with_foreign_hint(found.error(), words), style);
  }
  if (found->command == nullptr) {
    if (found->path.empty() && found->rest == std::vector<std::string>{"--version"})
      return print_text(std::string("fleetadm ") + FLEETADM_VERSION + "\n");
    Result<NormalArgv> argv = normalise(found->rest, global_list.list);
    if (!argv) return report_error(with_help_hint(argv.error(), found->path), style);
    return print_text(typed(found->path.empty() ? root_help(registry) : group_help(registry, found->path)), pager);
  }

  const Command& command = *found->command;
  commands::Invocation call = command.make();
  const AllFlags flags = all_flags(call.flags, global_set);
  Result<NormalArgv> argv = normalise(found->rest, flags.list);
  if (!argv) return report_error(with_help_hint(argv.error(), command.path), style);
  if (argv->help) return print_text(typed(command_help(command)), pager);
  if (Status ok = set_flags(*argv, flags.list); !ok) return report_error(with_help_hint(ok.error(), command.path), style);
  if (!settings && takes_settings(command)) return report_error(settings.error(), style);
  if (settings) {
    if (takes_settings(command)) apply_plugin_policy(*settings);
    if (Status ok = apply_settings(*settings, command, *argv, flags.list, global_set); !ok)
      return report_error(ok.error(), style);
  }
  if (call.flags.list) globals.list = *call.flags.list;
  if (command.path == "help") {
    call.run = [run = std::move(call.run), typed](commands::Context& context, const std::vector<std::string>& args) {
      Result<commands::Report> report = run(context, args);
      if (report) std::transform(report->lines.begin(), report->lines.end(), report->lines.begin(), typed);
      return report;
    };
  }
  return execute(command, *argv, call, globals, {registry, words, settings, profile, pager, typed});
}

}  // namespace

Registry full_registry() {
  Registry registry;
  commands::register_all(registry);
  commands::register_config(registry, [](std::string_view word) { return is_builtin_word(full_registry(), word); });
  commands::register_plugin(registry, [](const std::string& command) { return hides_plugin(full_registry(), command); });
  register_help(registry);
  return registry;
}

int run(const std::vector<std::string>& words, std::string_view program) {
  hold_standard_streams();
  report_crashes();
  ::signal(SIGPIPE, SIG_IGN);  // a cut connection or pipe is an error to handle, not an end
  try {
    return run_checked(words, called_as(program));
  } catch (const std::bad_alloc&) {
    Error full;
    full.category = Category::kInternal;
    full.message = "out of memory";
    full.hint = "a server's answer, or what was asked for, does not fit into this process's memory";
    return report_error(full, {});
  } catch (const std::exception& error) {
    Error defect;
    defect.message = std::string("internal error in fleetadm " FLEETADM_VERSION ": ") + error.what();
    defect.hint = "this is a bug in fleetadm; please report it and include the command line";
    return report_error(defect, {});
  }
}

}  // namespace fleetadm::cli
