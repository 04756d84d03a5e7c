#include "core/cel/pattern.h"

#include <algorithm>
#include <map>
#include <optional>
#include <re2/re2.h>
#include <string>
#include <utility>

namespace fleetadm::cel {

namespace {

/// Names of Unicode's categories as Go takes them beside the short ones; letters only, in lower case.
constexpr std::pair<std::string_view, std::string_view> kCategories[] = {{"closepunctuation", "Pe"},
                                                                         {"cntrl", "Cc"},
                                                                         {"combiningmark", "M"},
                                                                         {"connectorpunctuation", "Pc"},
                                                                         {"control", "Cc"},
                                                                         {"currencysymbol", "Sc"},
                                                                         {"dashpunctuation", "Pd"},
                                                                         {"decimalnumber", "Nd"},
                                                                         {"digit", "Nd"},
                                                                         {"enclosingmark", "Me"},
                                                                         {"finalpunctuation", "Pf"},
                                                                         {"format", "Cf"},
                                                                         {"initialpunctuation", "Pi"},
                                                                         {"letter", "L"},
                                                                         {"letternumber", "Nl"},
                                                                         {"lineseparator", "Zl"},
                                                                         {"lowercaseletter", "Ll"},
                                                                         {"mark", "M"},
                                                                         {"mathsymbol", "Sm"},
                                                                         {"modifierletter", "Lm"},
                                                                         {"modifiersymbol", "Sk"},
                                                                         {"nonspacingmark", "Mn"},
                                                                         {"number", "N"},
                                                                         {"openpunctuation", "Ps"},
                                                                         {"otherletter", "Lo"},
                                                                         {"othernumber", "No"},
                                                                         {"otherpunctuation", "Po"},
                                                                         {"othersymbol", "So"},
                                                                         {"paragraphseparator", "Zp"},
                                                                         {"privateuse", "Co"},
                                                                         {"punct", "P"},
                                                                         {"punctuation", "P"},
                                                                         {"separator", "Z"},
                                                                         {"spaceseparator", "Zs"},
                                                                         {"spacingmark", "Mc"},
                                                                         {"symbol", "S"},
                                                                         {"titlecaseletter", "Lt"},
                                                                         {"uppercaseletter", "Lu"}};

bool is_class_name(const std::string& name) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  return re2::RE2("\\p{" + name + "}", options).ok();
}

/// The name of a Unicode class as RE2 has it: Go takes categories by long names too, and every name in any case.
std::string class_name(std::string_view given) {
  const std::string_view negation = given.substr(0, given.starts_with('^') ? 1 : 0);
  const std::string name(given.substr(negation.size()));
  if (is_class_name(name)) return std::string(given);
  std::string letters;
  std::string titled;  // "GREEK" as "Greek"
  bool begins = true;
  for (const char c : name) {
    const bool gap = c == ' ' || c == '_' || c == '-';
    const char low = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (!gap) letters += low;
    titled += gap ? '_' : (begins && low >= 'a' && low <= 'z' ? static_cast<char>(low - 'a' + 'A') : low);
    begins = gap;
  }
  for (const auto& [known, category] : kCategories) {
    if (known == letters) titled = category;
  }
  return std::string(negation) + (is_class_name(titled) ? titled : name);
}

/// A pattern of Go's syntax in RE2's. They differ in few things: (?<name>…) is (?P<name>…), Unicode classes have more names, and
/// there is no \C.
class GoPattern {
 public:
  explicit GoPattern(std::string_view pattern) : rest_(pattern) {}

  /// None: it is no pattern of Go's.
  std::optional<std::string> in_re2() {
    while (!rest_.empty()) {
      if (rest_.front() == '\\' && rest_.size() > 1) {
        if (!escape()) return std::nullopt;
      } else if (in_class_) {
        inside_class();
      } else if (rest_.front() == '[') {
        begin_class();
      } else if (rest_.starts_with("(?<") && rest_.size() > 3 && rest_[3] != '=' && rest_[3] != '!') {
        rest_.remove_prefix(3);
        out_ += "(?P<";
      } else {
        take(1);
      }
    }
    return std::move(out_);
  }

 private:
  void take(std::size_t count) {
    out_ += rest_.substr(0, count);
    rest_.remove_prefix(std::min(count, rest_.size()));
  }
  bool escape() {
    const char what = rest_[1];
    if (what == 'C') return false;
    if (what == 'Q' && !in_class_) {
      const std::size_t end = rest_.find("\\E", 2);
      take(end == std::string_view::npos ? rest_.size() : end + 2);
      return true;
    }
    if ((what != 'p' && what != 'P') || rest_.size() < 3) {
      take(2);
      return true;
    }
    const bool braces = rest_[2] == '{';
    const std::size_t end = braces ? rest_.find('}') : 3;
    if (end == std::string_view::npos) {
      take(rest_.size());
      return true;
    }
    const std::size_t from = braces ? 3 : 2;
    const auto [at, fresh] = names_.try_emplace(std::string(rest_.substr(from, end - from)));
    if (fresh) at->second = class_name(at->first);
    take(2);
    out_ += "{" + at->second + "}";
    rest_.remove_prefix(end + (braces ? 1 : 0) - 2);
    return true;
  }
  void begin_class() {
    in_class_ = true;
    take(rest_.starts_with("[^") ? 2 : 1);
    if (rest_.starts_with(']')) take(1);  // the first one is a character
  }
  void inside_class() {
    if (rest_.starts_with("[:") && more_names_) {
      const std::size_t end = rest_.find(":]", 2);
      if (end != std::string_view::npos) return take(end + 2);
      more_names_ = false;  // not looked for again and again
    }
    in_class_ = rest_.front() != ']';
    take(1);
  }

  std::string_view rest_;
  std::string out_;
  std::map<std::string, std::string> names_;  // asked once each: RE2 compiles them
  bool in_class_ = false;
  bool more_names_ = true;  // ":]" may be ahead
};

}  // namespace

Result<std::shared_ptr<const re2::RE2>> compile_pattern(std::string_view pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  const std::optional<std::string> translated = GoPattern(pattern).in_re2();
  if (!translated) return fail(Category::kInvalid, "error parsing regexp: invalid escape sequence: \\C");
  auto compiled = std::make_shared<const re2::RE2>(*translated, options);
  if (!compiled->ok()) return fail(Category::kInvalid, "error parsing regexp: " + compiled->error());
  return std::shared_ptr<const re2::RE2>(std::move(compiled));
}

Result<std::shared_ptr<const re2::RE2>> compile_pattern(std::string_view pattern, Work& work) {
  if (!work.spend(200 + pattern.size() * 20)) return fail(Category::kInvalid, "work limit exceeded");
  auto compiled = compile_pattern(pattern);
  if (compiled && !work.spend(static_cast<std::uint64_t>(std::max(0, (*compiled)->ProgramSize())) * 20)) {
    return fail(Category::kInvalid, "work limit exceeded");
  }
  return compiled;
}

bool matches(const re2::RE2& pattern, std::string_view text) {
  return pattern.Match(re2::StringPiece(text.data(), text.size()), 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0);
}

}  // namespace fleetadm::cel
