// The paths of rules and columns, one without braces each, by the grammar of Kubernetes' own parser: narrower than that of
// templates in some places (keys in brackets have single quotes), and wider in others ("[]" is the first element).
#include <charconv>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/jsonpath_parse.h"

namespace fleetadm {
namespace {

using PathNode = JsonPath::Node;
using Kind = PathNode::Kind;

constexpr int kMaxBareDepth = 32;  // of filters and unions
constexpr std::string_view kWordEnds = " \t\r\n.,[]$@{}";
constexpr std::string_view kComparison = "!<>=";

tl::unexpected<Error> wrong_path(std::string what) { return fail(Category::kInvalid, std::move(what)); }

bool in_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || byte >= 0x80;
}

PathNode node_of(Kind kind, std::string text = {}) {
  PathNode node;
  node.kind = kind;
  node.text = std::move(text);
  return node;
}

std::string without_backslashes(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != '\\') out += c;
  return out;
}

/// "-12" → -12; nothing where it is no number of 64 bits.
std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

class BareParser {
 public:
  BareParser(std::string_view text, int depth) : text_(text), depth_(depth) {}

  Result<PathNode> parse() {
    if (depth_ > kMaxBareDepth) return wrong_path("the path is nested too deeply");
    list_.kind = Kind::kList;
    while (!rest().empty()) FLEETADM_CHECK(step());
    return std::move(list_);
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }
  void add(PathNode node) { list_.parts.push_back(std::move(node)); }

  Status step() {
    if (rest().starts_with("[?(")) return filter();
    if (rest().starts_with("..")) return recursive();
    const char c = rest().front();
    if (c == ' ' || c == '@' || c == '$') {
      ++at_;
      return {};
    }
    if (c == '[') return bracket();
    if (c == '"' || c == '\'') return quote(c);
    if (c == '.') {
      ++at_;
      return field();
    }
    if (c == '+' || c == '-' || is_digit(c)) return number();
    if (in_word(c)) {
      word();
      return {};
    }
    return wrong_path(std::string("unrecognized character in the path: ") + c);
  }

  std::string_view take_word() {
    const std::size_t from = at_;
    while (at_ < text_.size() && kWordEnds.find(text_[at_]) == std::string_view::npos) at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_, text_.size());
    return text_.substr(from, at_ - from);
  }

  Status field() {
    const std::string_view name = take_word();
    if (name.ends_with('\\') && !name.ends_with("\\\\")) return wrong_path("unclosed action");
    add(name == "*" ? node_of(Kind::kWildcard) : node_of(Kind::kField, without_backslashes(name)));
    return {};
  }

  Status recursive() {
    if (!list_.parts.empty() && list_.parts.back().kind == Kind::kRecursive)
      return wrong_path("invalid multiple recursive descent");
    at_ += 2;
    add(node_of(Kind::kRecursive));
    if (!rest().empty() && in_word(rest().front())) return field();
    return {};
  }

  /// A word without a dot before it: wrong once something is looked for by it, not before.
  void word() {
    const std::string name(take_word());
    if (name == "true" || name == "false") {
      add_constant(name == "true");
    } else {
      add(node_of(Kind::kIdentifier, name));
    }
  }

  void add_constant(Json value) {
    PathNode node = node_of(Kind::kConstant);
    node.constant = std::move(value);
    add(std::move(node));
  }

  Status number() {
    const std::size_t from = at_++;
    while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) ++at_;
    std::string_view digits = text_.substr(from, at_ - from);
    if (digits.front() == '+') digits.remove_prefix(1);
    if (const auto integer = integer_of(digits)) {
      add_constant(*integer);
      return {};
    }
    double real = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), real);
    if (error != std::errc{} || stop != digits.data() + digits.size())
      return wrong_path("cannot parse number " + std::string(digits));
    add_constant(real);
    return {};
  }

  Status quote(char with) {
    const std::size_t from = ++at_;
    while (at_ < text_.size() && (text_[at_] != with || text_[at_ - 1] == '\\')) ++at_;
    if (at_ >= text_.size()) return wrong_path("unterminated quoted string");
    FLEETADM_TRY(std::string value, unescape_jsonpath(text_.substr(from, at_ - from)));
    ++at_;
    add_constant(std::move(value));
    return {};
  }

  // What stands between "[" and the next "]": a slice, an index, a key in single quotes, "*", or several of them.
  Status bracket() {
    const std::size_t end = text_.find(']', at_);
    if (end == std::string_view::npos) return wrong_path("unterminated array");
    std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    if (inside.find(',') != std::string_view::npos) return union_of(inside);
    if (inside == "*") inside = ":";
    if (inside.size() >= 2 && inside.front() == '\'' && inside.find('\'', 1) == inside.size() - 1) {
      // As after a dot: a dot in the key has to be escaped.
      const std::string key = "." + std::string(inside.substr(1, inside.size() - 2));
      FLEETADM_TRY(PathNode steps, BareParser(key, depth_ + 1).parse());
      for (PathNode& one : steps.parts) add(std::move(one));
      return {};
    }
    return slice(inside);
  }

  Status union_of(std::string_view inside) {
    PathNode all = node_of(Kind::kUnion);
    while (true) {
      const std::size_t comma = inside.find(',');
      const std::string member = "[" + std::string(trimmed(inside.substr(0, comma))) + "]";
      FLEETADM_TRY(PathNode steps, BareParser(member, depth_ + 1).parse());
      all.parts.push_back(std::move(steps));
      if (comma == std::string_view::npos) break;
      inside.remove_prefix(comma + 1);
    }
    add(std::move(all));
    return {};
  }

  Status slice(std::string_view text) {
    PathNode node = node_of(Kind::kIndex);
    std::string_view left = text;
    const auto take = [&left]() -> Result<std::optional<std::int64_t>> {
      const std::size_t end = std::min(left.find(':'), left.size());
      const std::string_view digits = left.substr(0, end);
      left.remove_prefix(end);
      if (digits.empty()) return std::optional<std::int64_t>();
      const auto value = integer_of(digits);
      if (!value) return wrong_path("");
      return value;
    };
    const auto begin = take();
    bool good = begin.has_value();
    if (good) node.start = *begin;
    for (auto* part : {&node.end, &node.step}) {
      if (!good || left.empty()) break;
      left.remove_prefix(1);
      node.kind = Kind::kSlice;
      const auto value = take();
      good = value.has_value();
      if (good) *part = *value;
    }
    if (!good || !left.empty()) return wrong_path("invalid array index " + std::string(text));
    add(std::move(node));
    return {};
  }

  // "[?(" to ")]": the text between may have one pair of quotes, in which anything may stand.
  Status filter() {
    const std::size_t from = at_ += 3;
    bool quoted = false;
    bool closed = false;
    char pair = 0;
    for (;; ++at_) {
      if (at_ >= text_.size()) return wrong_path("unterminated filter");
      const char c = text_[at_];
      if (c == ')' && quoted == closed) break;
      if (c != '"' && c != '\'') continue;
      if (!quoted) {
        quoted = true;
        pair = c;
      } else if (c == pair && text_[at_ - 1] != '\\') {
        closed = true;
      }
    }
    const std::string_view inside = text_.substr(from, at_ - from);
    if (!text_.substr(++at_).starts_with(']')) return wrong_path("unclosed array expect ]");
    ++at_;
    PathNode node = node_of(Kind::kFilter, "exists");
    std::string_view left = inside;
    const std::size_t sign = inside.find_first_of(kComparison);
    const std::size_t after = std::min(inside.find_first_not_of(kComparison, sign), inside.size());
    const bool compares = sign != std::string_view::npos && sign > 0 && after < inside.size();
    if (compares) {
      left = inside.substr(0, sign);
      node.text = inside.substr(sign, after - sign);
    }
    FLEETADM_TRY(PathNode side, BareParser(left, depth_ + 1).parse());
    node.parts.push_back(std::move(side));
    if (compares) {
      FLEETADM_TRY(side, BareParser(inside.substr(after), depth_ + 1).parse());
      node.parts.push_back(std::move(side));
    }
    add(std::move(node));
    return {};
  }

  std::string_view text_;
  int depth_;
  std::size_t at_ = 0;
  PathNode list_;
};

}  // namespace

Result<JsonPath::Node> parse_bare_path(std::string_view text) { return BareParser(text, 0).parse(); }

}  // namespace fleetadm
