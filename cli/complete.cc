#include "cli/complete.h"

#include <algorithm>

#include "cli/argv/lookup.h"
#include "cli/argv/parser.h"
#include "cli/globals.h"
#include "commands/framework/settings.h"
#include "kubeclient/base/joined.h"

namespace fleetadm::cli {
namespace {

using commands::Arity;
using commands::Command;
using commands::Complete;
using commands::Flag;
using commands::FlagSet;
using commands::GlobalOptions;
using commands::Registry;

class Candidates {
 public:
  explicit Candidates(std::string prefix) : prefix_(std::move(prefix)) {}
  void add(const std::string& value, const std::string& description = {}) {
    if (value.compare(0, prefix_.size(), prefix_) != 0) return;
    if (value.empty() || (value.back() != '=' && value.back() != '/')) open_ = false;
    out_ += value;
    if (!description.empty()) out_ += "\t" + description;
    out_ += "\n";
  }
  // No space follows where every candidate goes on ("jsonpath=", "addon/").
  std::string end() const { return out_ + (open_ && !out_.empty() ? ":nospace\n" : ":none\n"); }

 private:
  std::string prefix_;
  std::string out_;
  bool open_ = true;
};

// Of a namespace: "[NAMESPACE/]NAME".
bool may_name_namespace(Complete kind) { return kind == Complete::kPlacements || kind == Complete::kRollouts; }

// Values for one place. `before` is what stands in the same word in front of the value ("--clusters=a,").
std::string values(Complete kind, const std::vector<std::string>& fixed, const std::string& before, const std::string& current,
                   const std::vector<std::string>& used, const GlobalOptions& globals, const LiveNames& live) {
  if (const std::size_t slash = current.find('/'); slash != std::string::npos && may_name_namespace(kind)) {
    // "addon/", where it is a fixed word, is no namespace.
    const bool addons = std::find(fixed.begin(), fixed.end(), current.substr(0, slash + 1)) != fixed.end();
    GlobalOptions there = globals;
    if (!addons) there.config.ns = current.substr(0, slash);
    Candidates out(before + current);
    for (const LiveName& one : live(addons ? Complete::kAddons : kind, there))
      out.add(before + current.substr(0, slash + 1) + one.name, one.description);
    return out.end();
  }
  if (kind == Complete::kFiles) return ":files\n";
  if (kind == Complete::kFolders) return ":folders\n";
  std::vector<LiveName> words;
  for (const std::string& word : fixed) words.push_back({word, {}});
  if (kind == Complete::kOutput) {
    for (const char* word : {"table", "wide", "json", "yaml", "name", "csv", "tree", "jsonpath=", "custom-columns="})
      words.push_back({word, {}});
  } else if (kind != Complete::kNone && kind != Complete::kValues) {
    for (LiveName& one : live(kind, globals)) words.push_back(std::move(one));
  }
  Candidates out(before + current);
  for (const LiveName& word : words)
    if (std::find(used.begin(), used.end(), word.name) == used.end()) out.add(before + word.name, word.description);
  return out.end();
}

std::string flag_values(const Flag& flag, const std::string& before, const std::string& current, const GlobalOptions& globals,
                        const LiveNames& live) {
  const std::size_t comma = flag.repeated ? current.rfind(',') : std::string::npos;
  if (comma == std::string::npos) return values(flag.complete, flag.values, before, current, {}, globals, live);
  std::vector<std::string> used;  // those in front of the last comma
  for (std::size_t at = 0; at <= comma;) {
    const std::size_t end = current.find(',', at);
    used.push_back(current.substr(at, end - at));
    at = end + 1;
  }
  return values(flag.complete, flag.values, before + current.substr(0, comma + 1), current.substr(comma + 1), used, globals,
                live);
}

// The flag that takes the next word, if `word` ends in one ("-n", "--context", "-qn").
const Flag* waiting_flag(const std::string& word, const FlagList& flags) {
  if (word.size() < 2 || word[0] != '-' || word == "--" || word.find('=') != std::string::npos) return nullptr;
  if (word[1] == '-') {
    const Flag* flag = flag_named(flags, std::string_view(word).substr(2));
    return flag != nullptr && flag->arity == Arity::kValue ? flag : nullptr;
  }
  for (std::size_t i = 1; i < word.size(); ++i) {
    const Flag* flag = flag_lettered(flags, word[i]);
    if (flag == nullptr) return nullptr;
    if (flag->arity == Arity::kValue) return i + 1 == word.size() ? flag : nullptr;
  }
  return nullptr;
}

// The words of the registry below a path, with what each does.
void add_words(const Registry& registry, const std::string& path, Candidates& out) {
  for (const std::string& word : words_under(registry, path)) {
    const Command* command = registry.find(path.empty() ? word : path + " " + word);
    out.add(word, command != nullptr && command->chosen_by.empty() ? command->summary : "");
  }
}

// What `help` can tell about: commands and, as its first word, topics.
std::string help_words(const Registry& registry, const std::vector<std::string>& given, const std::string& current) {
  Candidates out(current);
  add_words(registry, fleetadm::joined(given, " "), out);
  if (given.empty())
    for (const commands::Topic& topic : registry.topics()) out.add(topic.name, topic.summary);
  return out.end();
}

// The values that a key of the configuration file may have.
std::string setting_words(const std::string& name, const std::string& current, const GlobalOptions& globals,
                          const LiveNames& live) {
  const auto key = commands::find_setting(name);
  if (!key || *key == nullptr) return ":none\n";
  const Complete kind = name == "hubContext" ? Complete::kContexts : Complete::kValues;
  return values(kind, (*key)->values, "", current, {}, globals, live);
}

}  // namespace

std::string complete(const Registry& registry, const std::vector<std::string>& words, const LiveNames& live) {
  const std::string current = words.empty() ? "" : words.back();
  std::vector<std::string> before(words.begin(), words.empty() ? words.end() : words.end() - 1);
  if (std::find(before.begin(), before.end(), "--") != before.end()) return ":files\n";

  GlobalOptions globals;
  const FlagSet global_set = global_flags(globals);
  const AllFlags only_global = all_flags({}, global_set);
  const Result<Found> found = find_command(registry, before, only_global.list);
  if (!found) return ":none\n";
  commands::Invocation call;
  if (found->command != nullptr) call = found->command->make();
  const AllFlags flags = all_flags(call.flags, global_set);

  const Flag* waiting = before.empty() ? nullptr : waiting_flag(before.back(), flags.list);
  std::vector<std::string> settled = found->rest;
  if (waiting != nullptr && !settled.empty()) settled.pop_back();
  std::vector<std::string> given;
  if (Result<NormalArgv> argv = normalise(settled, flags.list)) {
    // What is wrong with the line so far is not completion's to say; what can be set counts.
    [[maybe_unused]] const Status ignored = set_flags(*argv, flags.list);
    given = argv->args;
  }
  if (waiting != nullptr) return flag_values(*waiting, "", current, globals, live);

  if (!current.empty() && current[0] == '-') {
    const std::size_t equals = current.find('=');
    if (equals != std::string::npos) {
      const Flag* flag = current.size() > 2 && current[1] == '-' ? flag_named(flags.list, current.substr(2, equals - 2))
                                                                 : flag_lettered(flags.list, current[1]);
      if (flag == nullptr) return ":none\n";
      return flag_values(*flag, current.substr(0, equals + 1), current.substr(equals + 1), globals, live);
    }
    Candidates out(current);
    for (const Flag* flag : flags.list)
      if (!flag->hidden) out.add("--" + flag->name, flag->help);
    out.add("--help", "Help for the command");
    return out.end();
  }
  if (found->command == nullptr) {
    Candidates out(current);
    add_words(registry, found->path, out);
    return out.end();
  }
  if (found->command->path == "help") return help_words(registry, given, current);
  if (found->command->path == "config set" && given.size() == 1) return setting_words(given.front(), current, globals, live);
  const auto& args = found->command->args;
  if (args.max >= 0 && given.size() >= static_cast<std::size_t>(args.max)) return ":none\n";
  return values(args.complete, args.values, "", current, given, globals, live);
}

}  // namespace fleetadm::cli
