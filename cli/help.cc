#include "cli/help.h"

#include <algorithm>
#include <array>

#include "cli/argv/lookup.h"
#include "cli/globals.h"
#include "cli/render/cells.h"

namespace fleetadm::cli {
namespace {

using commands::Arity;
using commands::Command;
using commands::Flag;
using commands::Registry;

constexpr std::array<std::string_view, 8> kGroups = {"Fleet",   "Clusters", "Placement", "Work",
                                                     "Add-ons", "Programs", "Sandbox",   "Other"};

struct Entry {
  std::string word;
  std::string summary;
  std::string group;
};

// The words below a path: a command's own summary, or the verbs of a deeper group.
std::vector<Entry> entries_under(const Registry& registry, const std::string& path) {
  std::vector<Entry> entries;
  for (const std::string& word : words_under(registry, path)) {
    const std::string full = path.empty() ? word : path + " " + word;
    Entry entry{word, "", ""};
    if (const Command* command = registry.find(full); command != nullptr && command->chosen_by.empty()) {
      entry.summary = command->summary;
      entry.group = command->group;
    } else {
      std::string verbs;
      for (const std::string& verb : words_under(registry, full)) verbs += (verbs.empty() ? "" : ", ") + verb;
      entry.summary = verbs;
      for (const Command& one : registry.commands()) {
        if (one.hidden || one.path.compare(0, full.size() + 1, full + " ") != 0) continue;
        entry.group = one.group;
        break;
      }
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

void list(std::string& out, const std::vector<Entry>& entries, std::size_t width) {
  for (const Entry& entry : entries) {
    std::string text = wrap(entry.summary, width + 4);
    text.erase(0, width + 4);
    out += "  " + entry.word + std::string(width - entry.word.size() + 2, ' ') + text;
  }
}

std::size_t widest(const std::vector<Entry>& entries) {
  std::size_t width = 0;
  for (const Entry& entry : entries) width = std::max(width, entry.word.size());
  return width;
}

std::string flags_text(const FlagList& flags) {
  std::string out;
  for (const Flag* flag : flags) {
    if (flag->hidden) continue;
    out += flag_label(*flag) + "\n";
    std::string help = flag->help;
    if (flag->required) help += " (required)";
    if (!flag->default_text.empty()) help += " (default " + flag->default_text + ")";
    out += wrap(help, 10);
  }
  return out;
}

}  // namespace

std::string wrap(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  std::string line;
  auto flush = [&] {
    if (!line.empty()) out += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '\n') {
      const bool paragraph = at + 1 < text.size() && text[at + 1] == '\n';
      flush();
      if (paragraph) out += "\n";
      at += paragraph ? 2 : 1;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!line.empty() && indent + text_width(line) + 1 + text_width(word) > width) flush();
    if (!word.empty()) line += (line.empty() ? "" : " ") + std::string(word);
    at = end < text.size() && text[end] == ' ' ? end + 1 : end;
  }
  flush();
  return out.empty() ? std::string(indent, ' ') + "\n" : out;
}

std::string flag_label(const Flag& flag) {
  std::string out = flag.letter != 0 ? std::string("  -") + flag.letter + ", --" : std::string("      --");
  out += flag.name;
  if (flag.arity == Arity::kValue) out += " " + (flag.value_name.empty() ? std::string("VALUE") : flag.value_name);
  if (flag.arity == Arity::kOptionalValue && !flag.value_name.empty()) out += "[=" + flag.value_name + "]";
  return out;
}

std::string usage_line(const Command& command) {
  std::string line = "fleetadm " + command.path;
  if (!command.args.usage.empty()) line += " " + command.args.usage;
  line += " [flags]";
  if (command.args.after_dash && command.args.usage.find("--") == std::string::npos) line += " [-- ARGS...]";
  return line;
}

std::string root_help(const Registry& registry) {
  std::string out =
      "fleetadm turns many Kubernetes clusters into one fleet: it joins them to a hub, selects clusters with placements, and "
      "distributes work to the selected clusters.\n";
  out = wrap(out, 0);
  const std::vector<Entry> all = entries_under(registry, "");
  const std::size_t width = widest(all);
  std::vector<std::string> groups(kGroups.begin(), kGroups.end());
  for (const Entry& entry : all)
    if (std::find(groups.begin(), groups.end(), entry.group) == groups.end()) groups.push_back(entry.group);
  for (const std::string& group : groups) {
    std::vector<Entry> entries;
    std::copy_if(all.begin(), all.end(), std::back_inserter(entries), [&](const Entry& entry) { return entry.group == group; });
    if (entries.empty()) continue;
    out += "\n" + group + ":\n";
    list(out, entries, width);
  }
  out += "\nTopics (fleetadm help TOPIC):\n";
  std::vector<Entry> topics;
  for (const commands::Topic& topic : registry.topics()) topics.push_back({topic.name, topic.summary, {}});
  list(out, topics, std::max(width, widest(topics)));
  out += "\nUsage:\n  fleetadm COMMAND [flags]\n\n";
  out += "Use \"fleetadm COMMAND --help\" for details and \"fleetadm options\" for global flags.\n";
  return out;
}

std::string group_help(const Registry& registry, const std::string& path) {
  const std::vector<Entry> entries = entries_under(registry, path);
  std::string out = "Available commands:\n";
  list(out, entries, widest(entries));
  out += "\nUsage:\n  fleetadm " + path + " COMMAND [flags]\n\n";
  out += "Use \"fleetadm " + path + " COMMAND --help\" for details.\n";
  if (const Command* command = registry.find(path)) out += "\n" + command_help(*command);
  return out;
}

std::string command_help(const Command& command) {
  std::string out = wrap(command.description.empty() ? command.summary + "." : command.description, 0);
  if (!command.aliases.empty()) {
    std::string aliases = "fleetadm " + command.path;
    for (const std::string& alias : command.aliases) aliases += ", fleetadm " + alias;
    out += "\nAliases:\n" + wrap(aliases, 2);
  }
  if (!command.examples.empty()) {
    out += "\nExamples:\n";
    bool first = true;
    for (const commands::Example& example : command.examples) {
      if (!first) out += "\n";
      first = false;
      if (!example.comment.empty()) out += "  # " + example.comment + "\n";
      out += "  " + example.line + "\n";
    }
  }
  const commands::Invocation call = command.make();
  FlagList flags;
  for (const Flag& flag : call.flags.flags()) flags.push_back(&flag);
  const std::string text = flags_text(flags);
  if (!text.empty()) out += "\nFlags:\n" + text;
  out += "\nUsage:\n  " + usage_line(command) + "\n\nUse \"fleetadm options\" to list global flags.\n";
  return out;
}

std::string global_help() {
  commands::GlobalOptions options;
  const commands::FlagSet set = global_flags(options);
  FlagList flags;
  for (const Flag& flag : set.flags()) flags.push_back(&flag);
  return "Global flags (accepted by every command):\n\n" + flags_text(flags) + "  -h, --help\n" +
         wrap("Help for the command", 10);
}

std::vector<TextBlock> text_blocks(const std::string& text) {
  std::vector<TextBlock> blocks;
  bool open = false;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.empty()) {
      open = false;
      continue;
    }
    const std::size_t colon = line.find(": ");
    if (line.starts_with("* ") && colon != std::string::npos) {
      blocks.push_back({TextBlock::Kind::kEntry, line.substr(2, colon - 2), line.substr(colon + 2)});
      open = false;
      continue;
    }
    const bool as_it_is = line.starts_with("    ");
    const TextBlock::Kind kind = as_it_is ? TextBlock::Kind::kAsItIs : TextBlock::Kind::kParagraph;
    const std::string content = as_it_is ? line.substr(4) : line;
    if (open && blocks.back().kind == kind) {
      blocks.back().text += (as_it_is ? "\n" : " ") + content;
    } else {
      blocks.push_back({kind, {}, content});
    }
    open = true;
  }
  return blocks;
}

std::string topic_help(const commands::Topic& topic) {
  std::string out = "fleetadm " + topic.name + ": " + topic.summary + "\n\n";
  for (const commands::Topic::Section& section : topic.sections) {
    out += section.title + "\n";
    for (const TextBlock& block : text_blocks(section.text)) {
      if (block.kind == TextBlock::Kind::kEntry) {
        out += "  " + block.term + "\n" + wrap(block.text, 6);
        continue;
      }
      if (block.kind == TextBlock::Kind::kParagraph) {
        out += wrap(block.text, 2) + "\n";
        continue;
      }
      for (std::size_t at = 0; at <= block.text.size();) {
        const std::size_t end = std::min(block.text.find('\n', at), block.text.size());
        out += "      " + block.text.substr(at, end - at) + "\n";
        at = end + 1;
      }
      out += "\n";
    }
    out += out.ends_with("\n\n") ? "" : "\n";
  }
  return out;
}

}  // namespace fleetadm::cli
