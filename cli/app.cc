#include "cli/app.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cli/argv/lookup.h"
#include "cli/argv/parser.h"
#include "cli/complete.h"
#include "cli/context.h"
#include "cli/errors.h"
#include "cli/generate.h"
#include "cli/globals.h"
#include "cli/help.h"
#include "cli/render/renderer.h"
#include "cli/signals.h"
#include "kubeclient/base/log.h"

namespace fleetadm::cli {
namespace {

using commands::Command;
using commands::GlobalOptions;
using commands::Registry;
using commands::Report;

constexpr int kExitBrokenPipe = 141;  // what a shell reports for SIGPIPE

// Stdout with its failure remembered: `fleetadm get clusters | head` ends quietly, a full disk does not.
class Output {
 public:
  void write(std::string_view text) {
    if (error_ == 0 && !write_all(STDOUT_FILENO, text)) error_ = errno;
  }
  bool failed() const { return error_ != 0; }
  int finish(int code, bool color) const {
    if (error_ == 0) return code;
    if (error_ == EPIPE) return kExitBrokenPipe;
    Error error;
    error.message = std::string("cannot write the output: ") + std::strerror(error_);
    write_all(STDERR_FILENO, render_error(error, color));
    // A stream that stopped because it could not write any more was not cancelled by anyone.
    return code == kExitOk || code == kExitCancelled ? kExitFailure : code;
  }

 private:
  int error_ = 0;
};

// A standard stream that was closed before we began would lend its number to the next file or socket, and what is printed would
// go there. Its place is taken by something that can be used for nothing, so that reading and writing still fail.
void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    if (::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) return;
  }
}

int code_of(const Report& report) {
  if (report.exit_code != 0) return report.exit_code;
  if (report.failures.empty()) return kExitOk;
  // What an interrupt left unfinished is no partial failure.
  const bool cancelled = std::any_of(report.failures.begin(), report.failures.end(),
                                     [](const Error& error) { return error.category == Category::kCancelled; });
  return cancelled ? kExitCancelled : kExitPartial;
}

int report_error(const Error& error, bool color) {
  write_all(STDERR_FILENO, render_error(error, color));
  return exit_code(error.category);
}

int print_text(std::string_view text) {
  Output out;
  out.write(text);
  return out.finish(kExitOk, false);
}

Status check_arguments(const Command& command, const NormalArgv& argv) {
  const auto& shape = command.args;
  const std::size_t count = argv.args.size() + (shape.after_dash ? 0 : argv.after_dash.size());
  const std::string usage = "usage: " + usage_line(command);
  if (count < static_cast<std::size_t>(shape.min)) {
    if (count == 0) return fail(Category::kUsage, "missing argument: " + shape.usage, usage);
    return fail(Category::kUsage, "too few arguments: expected " + shape.usage, usage);
  }
  if (shape.max >= 0 && count > static_cast<std::size_t>(shape.max)) {
    const auto last = static_cast<std::size_t>(shape.max);
    const std::string extra = last < argv.args.size() ? argv.args[last] : argv.after_dash[last - argv.args.size()];
    return fail(Category::kUsage, "unexpected argument \"" + extra + "\"", usage);
  }
  return {};
}

Error with_help_hint(Error error, const std::string& path) {
  if (error.category == Category::kUsage && error.hint.empty())
    error.hint = "see \"fleetadm " + path + (path.empty() ? "" : " ") + "--help\" for usage";
  return error;
}

int execute(const Command& command, const NormalArgv& argv, commands::Invocation& call, const GlobalOptions& globals) {
  const bool color = use_color(globals.color, STDERR_FILENO);
  auto refuse = [&](const Error& error) { return report_error(with_help_hint(error, command.path), color); };

  if (Status ok = check_arguments(command, argv); !ok) return refuse(ok.error());
  Result<Format> format = parse_format(globals.output);
  if (!format) return refuse(format.error());
  RenderOptions options;
  options.headers = !globals.no_headers;
  options.quiet = globals.quiet;
  options.color = color;
  options.terminal = ::isatty(STDOUT_FILENO) == 1;
  if (!globals.sort_by.empty()) {
    Result<JsonPath> path = JsonPath::parse_path(globals.sort_by);
    if (!path) return refuse(path.error().wrap("--sort-by"));
    options.sort_by = std::move(*path);
  }
  log::set_verbosity(globals.verbosity);

  Output out;
  Renderer renderer(
      std::move(*format), std::move(options), [&out](std::string_view text) { out.write(text); },
      [](std::string_view text) { write_all(STDERR_FILENO, text); });
  ProcessContext context(globals, [&](const Report& report) {
    if (Status ok = renderer.print(report); !ok) report_error(ok.error(), color);
    if (out.failed()) stop_by_ourselves();  // nobody reads on: a watch ends here, not at the next interrupt
  });
  std::vector<std::string> args = argv.args;
  args.insert(args.end(), argv.after_dash.begin(), argv.after_dash.end());
  Result<Report> report = call.run(context, args);
  context.end_progress();
  if (!report) return out.finish(refuse(report.error()), color);
  const int code = code_of(*report);
  if (Status ok = renderer.print(std::move(*report)); !ok) return out.finish(refuse(ok.error()), color);
  return out.finish(code, color);
}

int run_checked(const std::vector<std::string>& words) {
  const Registry registry = full_registry();
  if (!words.empty() && words.front() == "__complete")
    return print_text(complete(registry, {words.begin() + 1, words.end()}, live_names));
  GlobalOptions globals;
  const commands::FlagSet global_set = global_flags(globals);
  const AllFlags global_list = all_flags({}, global_set);
  const bool color = use_color("auto", STDERR_FILENO);

  Result<Found> found = find_command(registry, words, global_list.list);
  if (!found) return report_error(found.error(), color);
  if (found->command == nullptr) {
    if (found->path.empty() && found->rest == std::vector<std::string>{"--version"})
      return print_text(std::string("fleetadm ") + FLEETADM_VERSION + "\n");
    Result<NormalArgv> argv = normalise(found->rest, global_list.list);
    if (!argv) return report_error(with_help_hint(argv.error(), found->path), color);
    return print_text(found->path.empty() ? root_help(registry) : group_help(registry, found->path));
  }

  const Command& command = *found->command;
  commands::Invocation call = command.make();
  const AllFlags flags = all_flags(call.flags, global_set);
  Result<NormalArgv> argv = normalise(found->rest, flags.list);
  if (!argv) return report_error(with_help_hint(argv.error(), command.path), color);
  if (argv->help) return print_text(command_help(command));
  if (Status ok = set_flags(*argv, flags.list); !ok) return report_error(with_help_hint(ok.error(), command.path), color);
  return execute(command, *argv, call, globals);
}

Report text_report(std::string text) {
  if (!text.empty() && text.back() == '\n') text.pop_back();
  Report report;
  report.lines.push_back(std::move(text));
  return report;
}

struct NoOptions {};

Result<Report> help(commands::Context&, const NoOptions&, const std::vector<std::string>& args) {
  const Registry registry = full_registry();
  if (args.empty()) return text_report(root_help(registry));
  for (const commands::Topic& topic : registry.topics()) {
    if (args.size() == 1 && args.front() == topic.name) return text_report(topic_help(topic));
  }
  FLEETADM_TRY(const Found found, find_command(registry, args, {}));
  if (!found.rest.empty() && found.command == nullptr)
    return fail(Category::kUsage, "unknown command \"" + found.rest.front() + "\"");
  return text_report(found.command != nullptr ? command_help(*found.command) : group_help(registry, found.path));
}

void register_help(Registry& registry) {
  const auto bind = [](commands::FlagSet&, NoOptions&) {};
  const auto validate = [](const NoOptions&, const std::vector<std::string>&) -> Status { return {}; };
  Command row;
  row.path = "help";
  row.group = "Other";
  row.summary = "Show help for a command or topic";
  row.args = {"[COMMAND...]", 0, -1};
  row.examples = {{"Show the placement commands", "fleetadm help placement"}};
  row.make = commands::invocation<NoOptions>(bind, validate, help);
  registry.add(row);

  row = {};
  row.path = "options";
  row.group = "Other";
  row.summary = "List global flags";
  row.make = commands::invocation<NoOptions>(
      bind, validate,
      [](commands::Context&, const NoOptions&, const auto&) -> Result<Report> { return text_report(global_help()); });
  registry.add(row);

  row = {};
  row.path = "__generate";
  row.group = "Other";
  row.hidden = true;
  row.summary = "Write man pages, completion scripts and the README's table";
  row.args = {"FOLDER", 1, 1};
  row.make = commands::invocation<NoOptions>(
      bind, validate, [](commands::Context&, const NoOptions&, const std::vector<std::string>& args) -> Result<Report> {
        FLEETADM_CHECK(write_generated(full_registry(), args.front()));
        return Report{};
      });
  registry.add(std::move(row));
}

}  // namespace

Registry full_registry() {
  Registry registry;
  commands::register_all(registry);
  register_help(registry);
  return registry;
}

int run(const std::vector<std::string>& words) {
  hold_standard_streams();
  ::signal(SIGPIPE, SIG_IGN);  // a cut connection or pipe is an error to handle, not an end
  try {
    return run_checked(words);
  } catch (const std::exception& error) {
    Error defect;
    defect.message = std::string("internal error in fleetadm " FLEETADM_VERSION ": ") + error.what();
    defect.hint = "this is a bug in fleetadm; please report it and include the command line";
    return report_error(defect, false);
  }
}

}  // namespace fleetadm::cli
