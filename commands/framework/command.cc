#include "commands/framework/command.h"

#include <algorithm>
#include <charconv>

#include "kubeclient/base/clock.h"

namespace fleetadm::commands {
namespace {

// Go's strconv.ParseBool: what kubectl's users write.
Result<bool> parse_bool(std::string_view text) {
  static constexpr std::string_view kYes[] = {"true", "1", "t", "T", "TRUE", "True"};
  static constexpr std::string_view kNo[] = {"false", "0", "f", "F", "FALSE", "False"};
  if (std::find(std::begin(kYes), std::end(kYes), text) != std::end(kYes)) return true;
  if (std::find(std::begin(kNo), std::end(kNo), text) != std::end(kNo)) return false;
  return fail(Category::kUsage, "not true or false");
}

Result<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || text.empty()) return fail(Category::kUsage, "not a whole number");
  return value;
}

Result<Duration> parse_flag_duration(std::string_view text) {
  const bool bare = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!bare) {
    auto value = parse_duration(text);
    if (!value) return fail(Category::kUsage, "not a duration like 30s, 5m or 1h30m");
    if (*value < Duration::zero()) return fail(Category::kUsage, "must not be negative");
    return *value;
  }
  FLEETADM_TRY(const std::int64_t seconds, parse_integer(text));
  if (seconds > 100LL * 365 * 24 * 3600) return fail(Category::kUsage, "too long");
  return std::chrono::seconds(seconds);
}

// Every flag's help begins alike, whoever wrote it.
std::string sentence(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

}  // namespace

Flag& FlagSet::text(std::string* into, std::string name, std::string help, char letter) {
  Flag flag;
  flag.name = std::move(name);
  flag.letter = letter;
  flag.value_name = "TEXT";
  flag.help = sentence(std::move(help));
  if (into != nullptr) flag.default_text = *into;
  flag.set = [into](std::string_view value) -> Status {
    if (into != nullptr) *into = value;
    return {};
  };
  return flags_.emplace_back(std::move(flag));
}

Flag& FlagSet::texts(std::vector<std::string>* into, std::string name, std::string help, char letter) {
  Flag flag;
  flag.name = std::move(name);
  flag.letter = letter;
  flag.value_name = "TEXT";
  flag.help = sentence(std::move(help));
  flag.repeated = true;
  flag.set = [into](std::string_view value) -> Status {
    into->emplace_back(value);
    return {};
  };
  return flags_.emplace_back(std::move(flag));
}

Flag& FlagSet::comma_texts(std::vector<std::string>* into, std::string name, std::string help, char letter) {
  Flag& flag = texts(into, std::move(name), std::move(help), letter);
  flag.set = [into](std::string_view value) -> Status {
    while (!value.empty()) {
      const std::size_t comma = std::min(value.find(','), value.size());
      if (comma > 0) into->emplace_back(value.substr(0, comma));
      value.remove_prefix(std::min(comma + 1, value.size()));
    }
    return {};
  };
  return flag;
}

Flag& FlagSet::boolean(bool* into, std::string name, std::string help, char letter) {
  Flag flag;
  flag.name = std::move(name);
  flag.letter = letter;
  flag.arity = Arity::kOptionalValue;
  flag.help = sentence(std::move(help));
  flag.default_text = *into ? "true" : "";
  flag.no_value = "true";
  flag.set = [into](std::string_view value) -> Status {
    FLEETADM_TRY(*into, parse_bool(value));
    return {};
  };
  return flags_.emplace_back(std::move(flag));
}

Flag& FlagSet::integer(std::int64_t* into, std::string name, std::string help, char letter) {
  Flag flag;
  flag.name = std::move(name);
  flag.letter = letter;
  flag.value_name = "N";
  flag.help = sentence(std::move(help));
  flag.default_text = *into != 0 ? std::to_string(*into) : "";
  flag.set = [into](std::string_view value) -> Status {
    FLEETADM_TRY(*into, parse_integer(value));
    return {};
  };
  return flags_.emplace_back(std::move(flag));
}

Flag& FlagSet::duration(Duration* into, std::string name, std::string help, char letter) {
  Flag flag;
  flag.name = std::move(name);
  flag.letter = letter;
  flag.value_name = "DURATION";
  flag.help = sentence(std::move(help));
  flag.default_text = *into != Duration::zero() ? format_duration(*into) : "";
  flag.set = [into](std::string_view value) -> Status {
    FLEETADM_TRY(*into, parse_flag_duration(value));
    return {};
  };
  return flags_.emplace_back(std::move(flag));
}

Flag& FlagSet::choice(std::string* into, std::string name, std::vector<std::string> values, std::string help, char letter) {
  Flag& flag = text(into, std::move(name), std::move(help), letter);
  flag.values = std::move(values);
  flag.complete = Complete::kValues;
  flag.value_name.clear();
  for (const std::string& value : flag.values) flag.value_name += (flag.value_name.empty() ? "" : "|") + value;
  return flag;
}

Flag* FlagSet::find(std::string_view name) {
  const auto flag = std::find_if(flags_.begin(), flags_.end(), [&](const Flag& one) { return one.name == name; });
  return flag == flags_.end() ? nullptr : &*flag;
}

const Command* Registry::find(std::string_view path) const {
  const auto command = std::find_if(commands_.begin(), commands_.end(), [&](const Command& one) {
    return one.path == path || std::find(one.aliases.begin(), one.aliases.end(), path) != one.aliases.end();
  });
  return command == commands_.end() ? nullptr : &*command;
}

}  // namespace fleetadm::commands
