#include "cli/execution.h"

#include <functional>
#include <memory>
#include <optional>
#include <unistd.h>

#include "cli/activity.h"
#include "cli/configured.h"
#include "cli/context.h"
#include "cli/error_output.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/pager.h"
#include "cli/render/errors.h"
#include "cli/render/renderer.h"
#include "cli/signals.h"
#include "cli/suggested.h"
#include "cli/terminal.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/log.h"

namespace fleetadm::cli {
namespace {

using commands::Command;
using commands::GlobalOptions;
using commands::Registry;
using commands::Report;

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

/// The process's requests are recorded while it lives.
class Recording {
 public:
  explicit Recording(std::shared_ptr<RequestRecord> record) { kube::observe_requests(std::move(record)); }
  ~Recording() { kube::observe_requests(nullptr); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
};

class Execution {
 public:
  Execution(const Command& command, const GlobalOptions& globals, const Typed& typed)
      : command_(command),
        globals_(globals),
        typed_(typed),
        style_{use_color(globals.color, STDERR_FILENO), errors_are_documents(globals.output), typed.as_typed} {}

  int run(const NormalArgv& argv, commands::Invocation& call) {
    if (Status ok = prepare(argv); !ok) return report_error(with_help_hint(ok.error(), command_.path), style_);
    Result<Report> report = report_of(argv, call);
    if (!report) return failed(report.error());
    const int code = exit_code(*report);
    if (Status ok = renderer_->print(std::move(*report)); !ok) return failed(ok.error());
    return finish(code);
  }

 private:
  /// Until here nothing has been done but to look at what was typed.
  Status prepare(const NormalArgv& argv) {
    FLEETADM_CHECK(check_arguments(command_, argv));
    FLEETADM_TRY(Format format, parse_format(globals_.output));
    FLEETADM_CHECK(check_format(format, command_, globals_, typed_.registry));
    FLEETADM_TRY(RenderOptions options, render_options());
    log::set_verbosity(globals_.verbosity);
    const bool for_people = format.kind == Format::Kind::kTable || format.kind == Format::Kind::kWide;
    out_.emplace(for_people && prints_long_text(command_) ? typed_.pager : "");
    make_renderer(std::move(format), std::move(options));
    context_.emplace(globals_, command_.target, !renderer_->prints_objects(), [this](const Report& report) {
      if (Status ok = renderer_->print(report); !ok) renderer_->print_errors({ok.error()});
      if (out_->failed()) stop_by_ourselves();  // nobody reads on: a watch ends here, not at the next interrupt
    });
    return record_requests();
  }

  Result<RenderOptions> render_options() {
    RenderOptions options;
    options.headers = !globals_.no_headers;
    options.quiet = globals_.quiet;
    options.color = style_.color;
    options.terminal = ::isatty(STDOUT_FILENO) == 1;
    options.columns = globals_.columns;
    options.utf8 = locale_is_utf8();
    if (options.terminal) options.width = [] { return terminal_width(STDOUT_FILENO); };
    options.written = [this] { return context_->written_to().report(); };
    options.written_lines = [this] { return context_->written_to().lines(); };
    options.complete = [this](std::string text) {
      text = complete_suggestions(std::move(text), typed_.registry, globals_, command_.target);
      return typed_.as_typed ? typed_.as_typed(std::move(text)) : text;
    };
    options.unfinished = [this](bool timed_out) -> Unfinished {
      // Who answered a question with no has ended nothing early.
      const bool early = timed_out || stop_on_signals().stop_requested();
      if (!early || command_.target == commands::Target::kSilent) return {};
      return {context_->written_to().done(), typed_command(typed_.words)};
    };
    if (globals_.sort_by.empty()) return options;
    Result<JsonPath> path = JsonPath::parse_path(globals_.sort_by);
    if (!path) return tl::unexpected(path.error().wrap("--sort-by"));
    options.sort_by = std::move(*path);
    options.sort_text = globals_.sort_by;
    return options;
  }

  void make_renderer(Format format, RenderOptions options) {
    renderer_.emplace(
        std::move(format), std::move(options),
        [this](std::string_view text) {
          clear_line_();
          out_->write(text);
        },
        [this](std::string_view text) {
          clear_line_();
          write_all(STDERR_FILENO, style_.document ? std::string(text) : for_locale(std::string(text)));
        });
  }

  Status record_requests() {
    // Programs that go on log their retries by themselves.
    RequestRecord::Say say;
    if (command_.target != commands::Target::kSilent) say = [this](const std::string& line) { context_->progress().say(line); };
    FLEETADM_TRY(record_, RequestRecord::open(globals_.trace, std::move(say)));
    if (command_.target == commands::Target::kSilent || globals_.quiet) return {};
    if (::isatty(STDERR_FILENO) != 1 || terminal_is_dumb()) return {};
    activity_ = std::make_shared<Activity>([this](bool waiting) { context_->show_waiting(waiting); });
    record_->keep_informed(activity_);
    clear_line_ = [this] { context_->show_waiting(false); };
    return {};
  }

  Result<Report> report_of(const NormalArgv& argv, commands::Invocation& call) {
    std::optional<Recording> recording(std::in_place, record_);
    typed_.profile.phase("startup");
    std::vector<std::string> args = argv.args;
    args.insert(args.end(), argv.after_dash.begin(), argv.after_dash.end());
    Result<Report> report = call.run(*context_, args);
    recording.reset();
    if (activity_) activity_->close();
    clear_line_ = [] {};
    context_->end_progress();
    typed_.profile.phase("command", record_->summary());
    return report;
  }

  int failed(const Error& error) {
    const Error told = typed_.settings ? with_origin_of_context(error, *typed_.settings, globals_) : error;
    renderer_->print_errors({with_help_hint(told, command_.path)});
    return finish(exit_code(error.category));
  }

  int finish(int code) {
    if (const std::string trouble = record_->trouble(); !trouble.empty()) write_all(STDERR_FILENO, "warning: " + trouble + "\n");
    if (globals_.profile) {
      typed_.profile.phase("output");
      write_all(STDERR_FILENO, typed_.profile.text());
    }
    return out_->finish(code, style_.color);
  }

  const Command& command_;
  const GlobalOptions& globals_;
  const Typed& typed_;
  const ErrorStyle style_;
  std::optional<Output> out_;
  std::function<void()> clear_line_ = [] {};  // of what is drawn over by the next text
  std::optional<Renderer> renderer_;
  std::optional<ProcessContext> context_;
  std::shared_ptr<RequestRecord> record_;
  std::shared_ptr<Activity> activity_;
};

}  // namespace

int execute(const Command& command, const NormalArgv& argv, commands::Invocation& call, const GlobalOptions& globals,
            const Typed& typed) {
  return Execution(command, globals, typed).run(argv, call);
}

}  // namespace fleetadm::cli
