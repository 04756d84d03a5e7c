#include "cli/help_command.h"

#include "cli/app.h"
#include "cli/argv/lookup.h"
#include "cli/generate.h"
#include "cli/help.h"
#include "cli/terminal.h"
#include "commands/framework/suggest.h"

namespace fleetadm::cli {
namespace {

using commands::Command;
using commands::Registry;
using commands::Report;

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

}  // namespace

void register_help(Registry& registry) {
  const auto bind = [](commands::FlagSet&, NoOptions&) {};
  const auto validate = [](const NoOptions&, const std::vector<std::string>&) -> Status { return {}; };
  Command row;
  row.path = "help";
  row.group = "Other";
  row.target = commands::Target::kSilent;
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

}  // namespace fleetadm::cli
