#include "cli/man.h"

#include <algorithm>

#include "cli/argv/lookup.h"
#include "cli/globals.h"
#include "cli/help.h"
#include "commands/topics/reference.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::cli {
namespace {

using commands::Command;
using commands::Flag;

// Text in roff: hyphens are minus signs (so that flags can be copied), a line never starts a request.
std::string roff(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    line_start = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string paragraphs(const std::string& text) {
  std::string out = roff(text);
  for (std::size_t at = 0; (at = out.find("\n\n", at)) != std::string::npos; at += 5) out.replace(at, 2, "\n.PP\n");
  return out + "\n";
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

std::string header(const std::string& name, const std::string& summary, int section = 1) {
  return ".TH \"" + upper(name) + "\" " + std::to_string(section) + " \"\" \"fleetadm\" \"fleetadm manual\"\n.SH NAME\n" +
         roff(name) + " \\- " + roff(summary) + "\n";
}

std::string section_text(const std::string& text) {
  std::string out;
  for (const TextBlock& block : text_blocks(text)) {
    switch (block.kind) {
      case TextBlock::Kind::kParagraph: out += ".PP\n" + roff(block.text) + "\n"; break;
      case TextBlock::Kind::kAsItIs: out += ".PP\n.RS 4\n.nf\n" + roff(block.text) + "\n.fi\n.RE\n"; break;
      case TextBlock::Kind::kEntry: out += ".TP\n\\fB" + roff(block.term) + "\\fR\n" + roff(block.text) + "\n"; break;
    }
  }
  return out;
}

std::string flag_entries(const std::vector<Flag>& flags) {
  std::string out;
  for (const Flag& flag : flags) {
    if (flag.hidden) continue;
    std::string label = flag_label(flag);
    label.erase(0, label.find_first_not_of(' '));
    std::string help = flag.help;
    if (flag.required) help += " (required)";
    if (!flag.default_text.empty()) help += " (default " + flag.default_text + ")";
    out += ".TP\n\\fB" + roff(label) + "\\fR\n" + roff(help) + "\n";
  }
  return out;
}

// The path of the group that a command or group is in; empty at the top.
std::string group_of(const std::string& path) {
  const std::size_t blank = path.rfind(' ');
  return blank == std::string::npos ? "" : path.substr(0, blank);
}

// All of a command's page between its synopsis and what it refers to.
std::string page_body(const Command& command) {
  std::string out = ".SH DESCRIPTION\n" + paragraphs(command.description.empty() ? command.summary + "." : command.description);
  const commands::Invocation call = command.make();
  if (!call.flags.flags().empty()) out += ".SH OPTIONS\n" + flag_entries(call.flags.flags());
  if (!command.aliases.empty()) {
    out += ".SH ALIASES\n";
    std::string list;
    for (const std::string& alias : command.aliases) list += (list.empty() ? "fleetadm " : ", fleetadm ") + alias;
    out += roff(list) + "\n";
  }
  if (command.examples.empty()) return out;
  out += ".SH EXAMPLES\n";
  for (const commands::Example& example : command.examples)
    out += ".PP\n" + (example.comment.empty() ? std::string() : roff(example.comment) + ":\n") + ".PP\n.RS 4\n.nf\n" +
           roff(example.line) + "\n.fi\n.RE\n";
  return out;
}

std::string page_ref(const std::string& name) { return "\\fB" + roff(name) + "\\fR(1)"; }

}  // namespace

std::string man_name(const std::string& path) {
  std::string name = "fleetadm-" + path;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string man_page(const Command& command) {
  std::string out = header(man_name(command.path), command.summary);
  out += ".SH SYNOPSIS\n\\fB" + roff(usage_line(command)) + "\\fR\n";
  out += page_body(command);
  out += ".SH SEE ALSO\n";
  if (const std::string group = group_of(command.path); !group.empty())
    out += page_ref(man_name(group)) + " lists the commands beside this one. ";
  out += "\\fBfleetadm\\fR(1) describes the global flags and the exit codes.\n";
  return out;
}

std::vector<std::string> man_groups(const commands::Registry& registry) {
  std::vector<std::string> groups;
  for (const Command& command : registry.commands()) {
    if (command.hidden) continue;
    for (std::string group = group_of(command.path); !group.empty(); group = group_of(group)) {
      if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
    }
  }
  return groups;
}

std::string man_group(const commands::Registry& registry, const std::string& group) {
  std::string out = header(man_name(group), group + " commands: " + joined(words_under(registry, group), ", "));
  out += ".SH SYNOPSIS\n\\fBfleetadm " + roff(group) +
         "\\fR \\fICOMMAND\\fR [flags]\n.SH DESCRIPTION\nEach command has a page of its own; " + page_ref("fleetadm") +
         " describes the global flags and the exit codes.\n.SH COMMANDS\n";
  const auto is_here = [&](const std::string& path) { return path.starts_with(group + " "); };
  for (const Command& command : registry.commands()) {
    if (command.hidden) continue;
    const auto alias = std::find_if(command.aliases.begin(), command.aliases.end(), is_here);
    if (!is_here(command.path) && alias == command.aliases.end()) continue;
    out += ".TP\n\\fBfleetadm " + roff(is_here(command.path) ? command.path : *alias) + "\\fR\n" + roff(command.summary) +
           ". See " + page_ref(man_name(command.path)) + ".\n";
  }
  if (const Command* command = registry.find(group))
    out += ".SH THE COMMAND " + roff(upper(group)) + "\n\\fB" + roff(usage_line(*command)) + "\\fR\n" + page_body(*command);
  out += ".SH SEE ALSO\n" + page_ref("fleetadm");
  if (const std::string above = group_of(group); !above.empty()) out += ", " + page_ref(man_name(above));
  for (const std::string& one : man_groups(registry))
    if (group_of(one) == group) out += ", " + page_ref(man_name(one));
  return out + "\n";
}

std::string man_topic(const commands::Topic& topic) {
  std::string out = header("fleetadm-" + topic.name, topic.summary, 7);
  out += ".SH SYNOPSIS\n.nf\n" + roff(topic.synopsis) + "\n.fi\n";
  for (const commands::Topic::Section& section : topic.sections) {
    out += ".SH " + section.title + "\n" + section_text(section.text);
  }
  out += ".SH SEE ALSO\n\\fBfleetadm\\fR(1)\n";
  return out;
}

std::string man_root(const commands::Registry& registry) {
  std::string out = header("fleetadm", "manage many Kubernetes clusters as one fleet");
  out += ".SH SYNOPSIS\n\\fBfleetadm\\fR \\fICOMMAND\\fR [flags]\n";
  out +=
      ".SH DESCRIPTION\nfleetadm joins Kubernetes clusters to a hub, selects clusters with placements, and distributes work to the "
      "selected clusters. It speaks the API of Open Cluster Management. The same program is the command line, the hub's controllers "
      "and the agent on each cluster.\n.SH COMMANDS\n";
  for (const Command& command : registry.commands()) {
    if (command.hidden) continue;
    out += ".TP\n\\fBfleetadm " + roff(command.path) + "\\fR\n" + roff(command.summary) + ". See " +
           page_ref(man_name(command.path)) + ".\n";
  }
  commands::GlobalOptions options;
  out += ".SH OPTIONS\n" + flag_entries(global_flags(options).flags());
  out += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : commands::exit_code_texts())
    out += ".TP\n\\fB" + std::to_string(code) + "\\fR\n" + roff(meaning) + "\n";
  out +=
      ".PP\nIf all targets failed for the same reason, the code is that of the reason.\n.PP\nA command that runs a program of "
      "yours passes that program's exit code through.\n.SH ENVIRONMENT\n";
  for (const auto& [names, meaning] : commands::variable_texts())
    out += ".TP\n\\fB" + roff(names) + "\\fR\n" + roff(meaning) + "\n";
  out += ".SH SEE ALSO\n";
  std::string groups;
  for (const std::string& group : man_groups(registry)) groups += (groups.empty() ? "" : ", ") + page_ref(man_name(group));
  out += groups + "\n";
  for (const commands::Topic& topic : registry.topics()) {
    out += ".TP\n\\fBfleetadm\\-" + roff(topic.name) + "\\fR(7)\n" + roff(topic.summary) + "\n";
  }
  out +=
      ".SH FILES\n.TP\n\\fB~/.kube/config\\fR\nThe kubeconfig that is used if neither \\-\\-kubeconfig nor $KUBECONFIG is set.\n";
  return out;
}

}  // namespace fleetadm::cli
