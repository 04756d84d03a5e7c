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

class Normalizer {
 public:
  Normalizer(const std::vector<std::string>& words, const FlagList& flags) : words_(words), flags_(flags) {}

  Result<NormalArgv> run() {
    for (; at_ < words_.size() && !out_.help && !out_.dash; ++at_) {
      FLEETADM_CHECK(take(words_[at_]));
    }
    return std::move(out_);
  }

 private:
  Status take(const std::string& word) {
    if (word == "--") {
      out_.dash = true;
      out_.after_dash.assign(words_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, words_.end());
    } else if (word.size() < 2 || word[0] != '-') {  // "-" alone is a file name
      out_.args.push_back(word);
    } else if (word == "-h" || word == "--help" || word == "--help=true") {
      out_.help = true;
    } else if (word != "--help=false") {
      return word[1] == '-' ? take_long(word) : take_letters(word);
    }
    return {};
  }

  Status take_long(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    const Flag* flag = flag_named(flags_, name);
    if (flag == nullptr) return unknown_flag("--" + name, name, flags_);
    if (equals != std::string::npos) {
      put(out_.flags, *flag, std::string_view(word).substr(equals + 1));
      return {};
    }
    return flag->arity == Arity::kValue ? take_next(*flag) : take_alone(*flag);
  }

  /// A cluster of letters: "-qv5", "-ojson", "-o=json", "-n", "x".
  Status take_letters(const std::string& word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const Flag* flag = flag_lettered(flags_, word[i]);
      if (word[i] == 'h' && flag == nullptr) {
        out_.help = true;
        return {};
      }
      if (flag == nullptr) {
        const std::string inside = word.size() > 2 ? " in " + word : "";
        return unknown_flag(std::string("-") + word[i] + inside, word.size() > 3 ? std::string_view(word).substr(1) : "", flags_);
      }
      const std::string_view rest = std::string_view(word).substr(i + 1);
      if (rest.starts_with('=')) {
        put(out_.flags, *flag, rest.substr(1));
        return {};
      }
      if (flag->arity == Arity::kValue) {
        if (rest.empty()) return take_next(*flag);
        put(out_.flags, *flag, rest);
        return {};
      }
      FLEETADM_CHECK(take_alone(*flag));
    }
    return {};
  }

  /// The flag's value is the next word.
  Status take_next(const Flag& flag) {
    if (at_ + 1 == words_.size()) return needs_value(flag);
    put(out_.flags, flag, words_[++at_]);
    return {};
  }

  Status take_alone(const Flag& flag) {
    put(out_.flags, flag, flag.arity == Arity::kNone ? "true" : flag.no_value);
    return {};
  }

  const std::vector<std::string>& words_;
  const FlagList& flags_;
  std::size_t at_ = 0;
  NormalArgv out_;
};

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
  return Normalizer(words, flags).run();
}

}  // namespace fleetadm::cli
