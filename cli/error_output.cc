#include "cli/error_output.h"

#include <string_view>
#include <unistd.h>
#include <utility>

#include "cli/foreign.h"
#include "cli/render/errors.h"
#include "cli/suggested.h"
#include "cli/terminal.h"

namespace fleetadm::cli {
namespace {

constexpr std::string_view kUnknownFlag = "unknown flag: ";
constexpr std::string_view kUnknownCommand = "unknown command ";

}  // namespace

bool errors_are_documents(const std::string& output) { return output == "json" || output == "yaml"; }

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

int report_error(const Error& error, const ErrorStyle& style) {
  std::string hint = hint_of(error);
  if (style.as_typed) hint = style.as_typed(std::move(hint));
  write_all(STDERR_FILENO,
            style.document ? dump_json(error_document(error, hint)) + "\n" : for_locale(render_error(error, hint, style.color)));
  return exit_code(error.category);
}

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

}  // namespace fleetadm::cli
