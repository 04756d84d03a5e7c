#include "cli/argv/normalise.h"

#include <algorithm>

#include "cli/argv/suggest.h"

namespace fleetadm::cli {
namespace {

using commands::Arity;
using commands::Flag;

void put(std::vector<std::string>& into, const Flag& flag, std::string_view value) {
  if (value.empty()) {  // CLI11 refuses "--name=" but takes an empty word
    into.push_back("--" + flag.name);
    into.emplace_back();
  } else {
    into.push_back("--" + flag.name + "=" + std::string(value));
  }
}

tl::unexpected<Error> unknown_flag(const std::string& shown, std::string_view name, const FlagList& flags) {
  std::vector<std::string> known;
  for (const Flag* flag : flags)
    if (!flag->hidden) known.push_back(flag->name);
  const std::vector<std::string> near = name.size() < 2 ? std::vector<std::string>{} : nearest(name, known);
  return fail(Category::kUsage, "unknown flag: " + shown, near.empty() ? "" : "did you mean --" + near.front() + "?");
}

tl::unexpected<Error> needs_value(const Flag& flag) {
  return fail(Category::kUsage, "flag --" + flag.name + " needs a value", "write --" + flag.name + "=" + flag.value_name);
}

}  // namespace

const Flag* flag_named(const FlagList& flags, std::string_view name) {
  std::string wanted(name);
  std::replace(wanted.begin(), wanted.end(), '_', '-');
  const auto found = std::find_if(flags.begin(), flags.end(), [&](const Flag* flag) {
    return flag->name == wanted || std::find(flag->aliases.begin(), flag->aliases.end(), wanted) != flag->aliases.end();
  });
  return found == flags.end() ? nullptr : *found;
}

const Flag* flag_lettered(const FlagList& flags, char letter) {
  const auto found = std::find_if(flags.begin(), flags.end(), [&](const Flag* flag) { return flag->letter == letter; });
  return found == flags.end() || letter == 0 ? nullptr : *found;
}

Result<NormalArgv> normalise(const std::vector<std::string>& words, const FlagList& flags) {
  NormalArgv out;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "--") {
      out.dash = true;
      out.after_dash.assign(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
      break;
    }
    if (word.size() < 2 || word[0] != '-') {  // "-" alone is a file name
      out.args.push_back(word);
      continue;
    }
    if (word == "-h" || word == "--help" || word == "--help=true") {
      out.help = true;
      return out;
    }
    if (word == "--help=false") continue;
    if (word[1] == '-') {
      const std::size_t equals = word.find('=');
      const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
      const Flag* flag = flag_named(flags, name);
      if (flag == nullptr) return unknown_flag("--" + name, name, flags);
      if (equals != std::string::npos) {
        put(out.flags, *flag, std::string_view(word).substr(equals + 1));
      } else if (flag->arity == Arity::kValue) {
        if (at + 1 == words.size()) return needs_value(*flag);
        put(out.flags, *flag, words[++at]);
      } else {
        put(out.flags, *flag, flag->arity == Arity::kNone ? "true" : flag->no_value);
      }
      continue;
    }
    // A cluster of letters: "-qv5", "-ojson", "-o=json", "-n", "x".
    for (std::size_t i = 1; i < word.size(); ++i) {
      const char letter = word[i];
      const Flag* flag = flag_lettered(flags, letter);
      if (letter == 'h' && flag == nullptr) {
        out.help = true;
        return out;
      }
      if (flag == nullptr) {
        const std::string inside = word.size() > 2 ? " in " + word : "";
        return unknown_flag(std::string("-") + letter + inside, word.size() > 3 ? std::string_view(word).substr(1) : "", flags);
      }
      const std::string_view rest = std::string_view(word).substr(i + 1);
      if (!rest.empty() && rest.front() == '=') {
        put(out.flags, *flag, rest.substr(1));
        break;
      }
      if (flag->arity != Arity::kValue) {
        put(out.flags, *flag, flag->arity == Arity::kNone ? "true" : flag->no_value);
        continue;
      }
      if (!rest.empty()) {
        put(out.flags, *flag, rest);
      } else {
        if (at + 1 == words.size()) return needs_value(*flag);
        put(out.flags, *flag, words[++at]);
      }
      break;
    }
  }
  return out;
}

}  // namespace fleetadm::cli
