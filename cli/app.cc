#include "cli/app.h"

#include <cerrno>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <signal.h>
#include <unistd.h>

#include "cli/activity.h"
#include "cli/argv/lookup.h"
#include "cli/argv/parser.h"
#include "cli/complete.h"
#include "cli/configured.h"
#include "cli/context.h"
#include "cli/crash.h"
#include "cli/foreign.h"
#include "cli/generate.h"
#include "cli/globals.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/pager.h"
#include "cli/plugins.h"
#include "cli/render/errors.h"
#include "cli/render/renderer.h"
#include "cli/request_record.h"
#include "cli/signals.h"
#include "cli/suggested.h"
#include "commands/config/config.h"
#include "commands/framework/suggest.h"
#include "commands/plugin/plugin.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/log.h"

namespace fleetadm::cli {
namespace {

using commands::Command;
using commands::GlobalOptions;
using commands::Registry;
using commands::Report;

// A standard stream that was closed before we began would lend its number to the next file or socket, and what is printed would
// go there. Its place is taken by something that can be used for nothing, so that reading and writing still fail.
void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    if (::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) return;
  }
}

struct ErrorStyle {
  bool color = false;
  bool document = false;  // JSON for programs
};

int report_error(const Error& error, const ErrorStyle& style) {
  write_all(STDERR_FILENO, style.document ? dump_json(error_document(error, hint_of(error))) + "\n"
                                          : for_locale(render_error(error, style.color)));
  return exit_code(error.category);
}

bool errors_are_documents(const std::string& output) { return output == "json" || output == "yaml"; }

// How to print what is wrong with a command line that could not be parsed: as far as it can be read.
ErrorStyle style_of(const std::vector<std::string>& words, const Result<commands::Settings>& settings) {
  std::string color = settings ? settings->find("color")->text() : "auto";
  std::string output = settings ? settings->find("output")->text() : "";
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const std::string_view word = words[i];
    const auto value_of = [&](std::string_view flag, std::string& into) {
      if (!word.starts_with(flag)) return;
      std::string_view rest = word.substr(flag.size());
      if (rest.empty() && i + 1 < words.size()) rest = words[i + 1];
      if (rest.starts_with('=')) rest.remove_prefix(1);
      into = rest;
    };
    value_of("--output", output);
    if (!word.starts_with("--")) value_of("-o", output);
    if (word == "--color") color = "always";
    if (word.starts_with("--color=")) color = word.substr(std::string_view("--color=").size());
  }
  return {use_color(color, STDERR_FILENO), errors_are_documents(output)};
}

int print_text(std::string_view text, const std::string& pager = {}) {
  Output out(pager);
  out.write(for_locale(std::string(text)));
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

/// What a format cannot show of this command is refused before it does anything.
Status check_format(const Format& format, const Command& command, const GlobalOptions& globals, const Registry& registry) {
  if (format.kind == Format::Kind::kTree && !command.tree) {
    std::vector<std::string> trees;
    for (const Command& one : registry.commands())
      if (one.tree && !one.hidden) trees.push_back(one.path);
    return fail(Category::kUsage, "\"" + command.path + "\" has no tree output", "these have one: " + joined(trees, ", "));
  }
  const bool table =
      format.kind == Format::Kind::kTable || format.kind == Format::Kind::kWide || format.kind == Format::Kind::kCsv;
  if (!globals.columns.empty() && !table)
    return fail(Category::kUsage, "--columns needs a table",
                "leave out -o, or use -o csv; for other documents there is -o custom-columns=NAME:PATH");
  return {};
}

constexpr std::string_view kUnknownFlag = "unknown flag: ";
constexpr std::string_view kUnknownCommand = "unknown command ";

/// What other tools call this is answered with what it is called here.
Error with_foreign_hint(Error error, const std::vector<std::string>& words) {
  if (!error.message.starts_with(kUnknownCommand)) return error;
  if (std::string hint = foreign_command_hint(words); !hint.empty()) error.hint = std::move(hint);
  return error;
}

Error with_help_hint(Error error, const std::string& path) {
  if (error.message.starts_with(kUnknownFlag)) {
    const std::string_view flag = std::string_view(error.message).substr(kUnknownFlag.size());
    if (std::string hint = foreign_flag_hint(flag.substr(0, flag.find('='))); !hint.empty()) error.hint = std::move(hint);
  }
  if (error.category == Category::kUsage && error.hint.empty())
    error.hint = "see \"fleetadm " + path + (path.empty() ? "" : " ") + "--help\" for usage";
  return error;
}

struct Typed {
  const Registry& registry;
  const std::vector<std::string>& words;
  const Result<commands::Settings>& settings;
  Profile& profile;
  std::string pager;
};

/// The process's requests are recorded while it lives.
class Recording {
 public:
  explicit Recording(std::shared_ptr<RequestRecord> record) { kube::observe_requests(std::move(record)); }
  ~Recording() { kube::observe_requests(nullptr); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
};

int execute(const Command& command, const NormalArgv& argv, commands::Invocation& call, const GlobalOptions& globals,
            const Typed& typed) {
  const bool color = use_color(globals.color, STDERR_FILENO);
  const ErrorStyle style{color, errors_are_documents(globals.output)};
  auto refuse = [&](const Error& error) { return report_error(with_help_hint(error, command.path), style); };

  if (Status ok = check_arguments(command, argv); !ok) return refuse(ok.error());
  Result<Format> format = parse_format(globals.output);
  if (!format) return refuse(format.error());
  if (Status ok = check_format(*format, command, globals, typed.registry); !ok) return refuse(ok.error());
  std::function<const WrittenTo&()> written;
  RenderOptions options;
  options.headers = !globals.no_headers;
  options.quiet = globals.quiet;
  options.color = color;
  options.terminal = ::isatty(STDOUT_FILENO) == 1;
  options.columns = globals.columns;
  options.utf8 = locale_is_utf8();
  if (options.terminal) options.width = [] { return terminal_width(STDOUT_FILENO); };
  options.written = [&written] { return written().report(); };
  options.written_lines = [&written] { return written().lines(); };
  options.complete = [&](std::string text) {
    return complete_suggestions(std::move(text), typed.registry, globals, command.target);
  };
  options.unfinished = [&](bool timed_out) -> Unfinished {
    // Who answered a question with no has ended nothing early.
    const bool early = timed_out || stop_on_signals().stop_requested();
    if (!early || command.target == commands::Target::kSilent) return {};
    return {written().done(), typed_command(typed.words)};
  };
  if (!globals.sort_by.empty()) {
    Result<JsonPath> path = JsonPath::parse_path(globals.sort_by);
    if (!path) return refuse(path.error().wrap("--sort-by"));
    options.sort_by = std::move(*path);
    options.sort_text = globals.sort_by;
  }
  log::set_verbosity(globals.verbosity);

  const bool for_people = format->kind == Format::Kind::kTable || format->kind == Format::Kind::kWide;
  Output out(for_people && prints_long_text(command) ? typed.pager : "");
  std::function<void()> clear_line = [] {};  // of what is drawn over by the next text
  Renderer renderer(
      std::move(*format), std::move(options),
      [&](std::string_view text) {
        clear_line();
        out.write(text);
      },
      [&](std::string_view text) {
        clear_line();
        write_all(STDERR_FILENO, style.document ? std::string(text) : for_locale(std::string(text)));
      });
  ProcessContext context(globals, command.target, !renderer.prints_objects(), [&](const Report& report) {
    if (Status ok = renderer.print(report); !ok) renderer.print_errors({ok.error()});
    if (out.failed()) stop_by_ourselves();  // nobody reads on: a watch ends here, not at the next interrupt
  });
  written = [&context]() -> const WrittenTo& { return context.written_to(); };
  // Programs that go on log their retries by themselves.
  RequestRecord::Say say;
  if (command.target != commands::Target::kSilent) say = [&context](const std::string& line) { context.progress().say(line); };
  auto record = RequestRecord::open(globals.trace, std::move(say));
  if (!record) return refuse(record.error());
  std::shared_ptr<Activity> activity;
  if (command.target != commands::Target::kSilent && !globals.quiet && ::isatty(STDERR_FILENO) == 1 && !terminal_is_dumb()) {
    activity = std::make_shared<Activity>([&context](bool waiting) { context.show_waiting(waiting); });
    (*record)->keep_informed(activity);
    clear_line = [&context] { context.show_waiting(false); };
  }
  std::optional<Recording> recording(std::in_place, *record);
  typed.profile.phase("startup");
  std::vector<std::string> args = argv.args;
  args.insert(args.end(), argv.after_dash.begin(), argv.after_dash.end());
  Result<Report> report = call.run(context, args);
  recording.reset();
  if (activity) activity->close();
  clear_line = [] {};
  context.end_progress();
  typed.profile.phase("command", (*record)->summary());
  const auto finish = [&](int code) {
    if (const std::string trouble = (*record)->trouble(); !trouble.empty())
      write_all(STDERR_FILENO, "warning: " + trouble + "\n");
    if (globals.profile) {
      typed.profile.phase("output");
      write_all(STDERR_FILENO, typed.profile.text());
    }
    return out.finish(code, color);
  };
  const auto failed = [&](const Error& error) {
    const Error told = typed.settings ? with_origin_of_context(error, *typed.settings, globals) : error;
    renderer.print_errors({with_help_hint(told, command.path)});
    return finish(exit_code(error.category));
  };
  if (!report) return failed(report.error());
  const int code = exit_code(*report);
  if (Status ok = renderer.print(std::move(*report)); !ok) return failed(ok.error());
  return finish(code);
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

int run_checked(std::vector<std::string> words) {
  Profile profile;
  const Registry registry = full_registry();
  const Result<commands::Settings> settings = load_settings();
  GlobalOptions globals;
  const commands::FlagSet global_set = global_flags(globals);
  const AllFlags global_list = all_flags({}, global_set);
  if (!words.empty() && words.front() == "__complete")
    return print_text(complete_words(registry, settings, {words.begin() + 1, words.end()}, global_list.list));
  const ErrorStyle style = style_of(words, settings);
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
    return print_text(found->path.empty() ? root_help(registry) : group_help(registry, found->path), pager);
  }

  const Command& command = *found->command;
  commands::Invocation call = command.make();
  const AllFlags flags = all_flags(call.flags, global_set);
  Result<NormalArgv> argv = normalise(found->rest, flags.list);
  if (!argv) return report_error(with_help_hint(argv.error(), command.path), style);
  if (argv->help) return print_text(command_help(command), pager);
  if (Status ok = set_flags(*argv, flags.list); !ok) return report_error(with_help_hint(ok.error(), command.path), style);
  if (!settings && takes_settings(command)) return report_error(settings.error(), style);
  if (settings) {
    if (takes_settings(command)) apply_plugin_policy(*settings);
    if (Status ok = apply_settings(*settings, command, *argv, flags.list, global_set); !ok)
      return report_error(ok.error(), style);
  }
  if (call.flags.list) globals.list = *call.flags.list;
  return execute(command, *argv, call, globals, {registry, words, settings, profile, pager});
}

Report text_report(std::string text) {
  text = for_locale(std::move(text));
  if (text.empty() || text.back() != '\n') text += '\n';
  Report report;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    report.lines.push_back(text.substr(at, end - at));
  }
  return report;
}

struct NoOptions {};

Result<Report> help(commands::Context&, const NoOptions&, const std::vector<std::string>& args) {
  const Registry registry = full_registry();
  if (args.empty()) return text_report(root_help(registry));
  for (const commands::Topic& topic : registry.topics()) {
    if (args.size() == 1 && args.front() == topic.name) return text_report(topic_help(topic));
  }
  const Result<Found> known = find_command(registry, args, {});
  if (!known && args.size() == 1) {
    std::vector<std::string> words = words_under(registry, "");
    for (const commands::Topic& topic : registry.topics()) words.push_back(topic.name);
    return fail(Category::kUsage, "unknown command or topic \"" + args.front() + "\"",
                commands::did_you_mean(args.front(), words, "\"fleetadm help\" lists the commands and topics"));
  }
  FLEETADM_TRY(const Found found, known);
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
  row.examples = {{"Show the placement commands", "fleetadm help placement"},
                  {"Show what the exit codes mean", "fleetadm help exit-codes"}};
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
  commands::register_config(registry, [](std::string_view word) { return is_builtin_word(full_registry(), word); });
  commands::register_plugin(registry, [](const std::string& command) { return hides_plugin(full_registry(), command); });
  register_help(registry);
  return registry;
}

int run(const std::vector<std::string>& words) {
  hold_standard_streams();
  report_crashes();
  ::signal(SIGPIPE, SIG_IGN);  // a cut connection or pipe is an error to handle, not an end
  try {
    return run_checked(words);
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
