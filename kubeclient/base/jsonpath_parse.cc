#include "kubeclient/base/jsonpath_parse.h"

#include <charconv>

#include "kubeclient/base/ascii.h"

namespace fleetadm {
namespace {

using PathNode = JsonPath::Node;
using Kind = PathNode::Kind;

constexpr int kMaxTemplateDepth = 32;  // of nested filters, unions and ranges
constexpr std::string_view kNameEnds = " \t\r\n.,[]$@{}()=<>!";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

void append_utf8(std::string& out, std::uint32_t code) {
  auto put = [&out](std::uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | (code >> 6U));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xE0U | (code >> 12U));
    put(0x80U | ((code >> 6U) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<PathNode>> whole() {
    FLEETADM_TRY(std::vector<PathNode> nodes, pieces(false, 0));
    return nodes;
  }

 private:
  bool done() const { return at_ >= text_.size(); }
  char peek() const { return done() ? '\0' : text_[at_]; }
  bool take(char c) {
    if (done() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void spaces() {
    while (!done() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  }
  tl::unexpected<Error> wrong(const std::string& what) const {
    return fail(Category::kUsage,
                "jsonpath: " + what + " at position " + std::to_string(at_ + 1) + " of \"" + std::string(text_) + "\"");
  }

  // Text and {expressions}, up to the end of the template or (inside a range) up to {end}.
  Result<std::vector<PathNode>> pieces(bool in_range, int depth) {
    std::vector<PathNode> nodes;
    if (depth > kMaxTemplateDepth) return wrong("nested too deeply");
    while (!done()) {
      const std::size_t brace = std::min(text_.find('{', at_), text_.size());
      if (brace > at_) {
        PathNode node;
        node.kind = Kind::kText;
        node.text = text_.substr(at_, brace - at_);
        nodes.push_back(std::move(node));
        at_ = brace;
      }
      if (!take('{')) break;
      spaces();
      if (word("end")) {
        spaces();
        if (!take('}')) return wrong("expected } after end");
        if (!in_range) return wrong("{end} without {range}");
        closed_ = true;
        return nodes;
      }
      if (word("range")) {
        PathNode range;
        range.kind = Kind::kRange;
        FLEETADM_TRY(PathNode list, action(depth + 1));
        range.parts.push_back(std::move(list));
        closed_ = false;
        FLEETADM_TRY(range.body, pieces(true, depth + 1));
        if (!closed_) return wrong("{range} without {end}");
        closed_ = false;
        nodes.push_back(std::move(range));
        continue;
      }
      FLEETADM_TRY(PathNode list, action(depth + 1));
      nodes.push_back(std::move(list));
    }
    return nodes;
  }

  bool word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return false;
    const std::size_t next = at_ + expected.size();
    if (next < text_.size() && (is_letter(text_[next]) || is_digit(text_[next]))) return false;
    at_ = next;
    return true;
  }

  // What stands between { and }.
  Result<PathNode> action(int depth) {
    FLEETADM_TRY(PathNode list, steps("}", depth));
    if (!take('}')) return wrong("expected }");
    return list;
  }

  // Steps of one path until one of `enders` (not taken). Spaces between steps are skipped.
  Result<PathNode> steps(std::string_view enders, int depth) {
    PathNode list;
    list.kind = Kind::kList;
    if (depth > kMaxTemplateDepth) return wrong("nested too deeply");
    while (true) {
      spaces();
      if (done()) return wrong("unclosed expression");
      const char c = peek();
      if (enders.find(c) != std::string_view::npos) return list;
      if (c == '@' || c == '$') {
        ++at_;
      } else if (c == '.') {
        field(list);
      } else if (c == '[') {
        ++at_;
        FLEETADM_CHECK(bracket(list, depth));
      } else if (c == '"' || c == '\'') {
        FLEETADM_TRY(std::string value, quoted());
        constant(list, Json(std::move(value)));
      } else if (is_digit(c) || c == '-' || c == '+') {
        FLEETADM_CHECK(number(list));
      } else if (word("true")) {
        constant(list, Json(true));
      } else if (word("false")) {
        constant(list, Json(false));
      } else if (is_letter(c)) {
        return wrong("unknown word (a field needs a dot before it)");
      } else {
        return wrong(std::string("unexpected \"") + c + "\"");
      }
    }
  }

  static void constant(PathNode& list, Json value) {
    PathNode node;
    node.kind = Kind::kConstant;
    node.constant = std::move(value);
    list.parts.push_back(std::move(node));
  }

  Status number(PathNode& list) {
    const std::size_t from = at_;
    if (peek() == '-' || peek() == '+') ++at_;
    while (!done() && (is_digit(peek()) || peek() == '.' || peek() == 'e' || peek() == 'E')) ++at_;
    std::string_view digits = text_.substr(from, at_ - from);
    if (digits.front() == '+') digits.remove_prefix(1);
    std::int64_t integer = 0;
    if (auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), integer);
        error == std::errc{} && stop == digits.data() + digits.size()) {
      constant(list, Json(integer));
      return {};
    }
    double real = 0;
    if (auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), real);
        error != std::errc{} || stop != digits.data() + digits.size())
      return wrong("bad number");
    constant(list, Json(real));
    return {};
  }

  // After a dot: a key, "*", or a second dot (recursive descent, whose key follows).
  void field(PathNode& list) {
    ++at_;
    if (take('.')) {
      PathNode node;
      node.kind = Kind::kRecursive;
      list.parts.push_back(std::move(node));
    }
    PathNode node;
    if (take('*')) {
      node.kind = Kind::kWildcard;
      list.parts.push_back(std::move(node));
      return;
    }
    node.kind = Kind::kField;
    while (!done()) {
      const char c = peek();
      if (c == '\\' && at_ + 1 < text_.size()) {
        node.text += text_[at_ + 1];
        at_ += 2;
        continue;
      }
      if (kNameEnds.find(c) != std::string_view::npos) break;
      node.text += c;
      ++at_;
    }
    if (!node.text.empty()) list.parts.push_back(std::move(node));  // "{.}" is the root itself
  }

  Result<std::string> quoted() {
    const char quote = text_[at_++];
    const std::size_t from = at_;
    while (!done() && text_[at_] != quote) at_ += text_[at_] == '\\' ? 2 : 1;
    if (done()) return wrong("unclosed quote");
    Result<std::string> value = unescape_jsonpath(text_.substr(from, at_ - from));
    if (!value) return wrong(value.error().message);
    ++at_;
    return value;
  }

  // After "[": *, an index, a slice, quoted keys, a union, or a filter. Takes the "]".
  Status bracket(PathNode& list, int depth) {
    spaces();
    if (take('?')) return filter(list, depth);
    std::vector<PathNode> members;
    while (true) {
      spaces();
      PathNode member;
      if (take('*')) {
        member.kind = Kind::kWildcard;
      } else if (peek() == '\'' || peek() == '"') {
        member.kind = Kind::kField;
        FLEETADM_TRY(member.text, quoted());
      } else if (is_digit(peek()) || peek() == '-' || peek() == ':') {
        FLEETADM_CHECK(slice(member));
      } else if (peek() == '.' || peek() == '@' || peek() == '$') {
        FLEETADM_TRY(member, steps(",]", depth + 1));
      } else {
        return wrong("expected an index, a slice, a quoted key, * or a filter");
      }
      members.push_back(std::move(member));
      spaces();
      if (take(']')) break;
      if (!take(',')) return wrong("expected ] or ,");
    }
    if (members.size() == 1) {
      list.parts.push_back(std::move(members.front()));
      return {};
    }
    PathNode all;
    all.kind = Kind::kUnion;
    all.parts = std::move(members);
    list.parts.push_back(std::move(all));
    return {};
  }

  Status slice(PathNode& node) {
    auto integer = [this]() -> Result<std::optional<std::int64_t>> {
      spaces();
      const std::size_t from = at_;
      if (peek() == '-') ++at_;
      while (is_digit(peek())) ++at_;
      if (at_ == from) return std::optional<std::int64_t>{};
      std::int64_t value = 0;
      const auto [stop, error] = std::from_chars(text_.data() + from, text_.data() + at_, value);
      if (error != std::errc{} || stop != text_.data() + at_) return wrong("bad index");
      spaces();
      return std::optional<std::int64_t>{value};
    };
    FLEETADM_TRY(node.start, integer());
    node.kind = Kind::kIndex;
    if (!take(':')) return {};
    node.kind = Kind::kSlice;
    FLEETADM_TRY(node.end, integer());
    if (!take(':')) return {};
    FLEETADM_TRY(node.step, integer());
    if (node.step && *node.step <= 0) return wrong("a slice's step must be positive");
    return {};
  }

  // After "[?": (left [op right])].
  Status filter(PathNode& list, int depth) {
    spaces();
    if (!take('(')) return wrong("expected ( after ?");
    PathNode node;
    node.kind = Kind::kFilter;
    node.text = "exists";
    FLEETADM_TRY(PathNode left, steps(")=!<>&|", depth + 1));
    node.parts.push_back(std::move(left));
    for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (text_.substr(at_, op.size()) != op) continue;
      node.text = op;
      at_ += op.size();
      FLEETADM_TRY(PathNode right, steps(")=!<>&|", depth + 1));
      node.parts.push_back(std::move(right));
      break;
    }
    if (peek() == '&' || peek() == '|') return wrong("&& and || are not supported in a filter");
    if (!take(')')) return wrong("expected ) after a filter");
    spaces();
    if (!take(']')) return wrong("expected ] after a filter");
    list.parts.push_back(std::move(node));
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool closed_ = false;
};

}  // namespace

Result<std::string> unescape_jsonpath(std::string_view text) {
  static constexpr std::string_view kLetters = "abfnrtv";
  static constexpr std::string_view kMeant = "\a\b\f\n\r\t\v";
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      out += text[at];
      continue;
    }
    if (++at >= text.size()) return fail(Category::kInvalid, "unclosed quote");
    const char escape = text[at];
    if (const auto letter = kLetters.find(escape); letter != std::string_view::npos) {
      out += kMeant[letter];
    } else if (escape == 'x' || escape == 'u') {
      const std::size_t digits = escape == 'x' ? 2 : 4;
      const std::string_view hex = text.substr(at + 1, digits);
      std::uint32_t code = 0;
      const auto [stop, error] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
      if (hex.size() != digits || error != std::errc{} || stop != hex.data() + hex.size())
        return fail(Category::kInvalid, "bad escape");
      append_utf8(out, code);
      at += digits;
    } else {
      out += escape;
    }
  }
  return out;
}

Result<std::vector<JsonPath::Node>> parse_jsonpath(std::string_view text) { return Parser(text).whole(); }

}  // namespace fleetadm
