// Help texts, made from the registry.
#pragma once

#include <string>

#include "cli/argv/normalise.h"
#include "commands/framework/command.h"

namespace fleetadm::cli {

/// The program's own help: what it is, and every command under its heading.
std::string root_help(const commands::Registry& registry);
/// The commands of a group ("placement").
std::string group_help(const commands::Registry& registry, const std::string& path);
/// One command: description, usage, examples, flags.
std::string command_help(const commands::Command& command);
/// The flags that every command takes.
std::string global_help();

/// "fleetadm get clusters [NAME...] [flags]"
std::string usage_line(const commands::Command& command);
/// "  -l, --selector SELECTOR" ; with what follows a bare flag as [=VALUE].
std::string flag_label(const commands::Flag& flag);
/// Words wrapped to `width` columns, each line after `indent` spaces; paragraphs (blank lines) are kept.
std::string wrap(std::string_view text, std::size_t indent, std::size_t width = 80);

/// A piece of a topic's text (commands/framework/command.h tells its marks).
struct TextBlock {
  enum class Kind { kParagraph, kAsItIs, kEntry };
  Kind kind = Kind::kParagraph;
  std::string term;  // kEntry
  std::string text;
};
std::vector<TextBlock> text_blocks(const std::string& text);
/// A topic for the terminal.
std::string topic_help(const commands::Topic& topic);

}  // namespace fleetadm::cli
