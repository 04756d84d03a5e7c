// The text form of label selectors. A client is shown the complaint as it is, so its words are the wire's.
#include <algorithm>
#include <charconv>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/names.h"
#include "kubeclient/base/query_selectors.h"

namespace fleetadm {
namespace {

constexpr std::string_view kSigns = "=!(),<>";
constexpr std::string_view kNoOperator = "', expected: in, notin, =, ==, !=, gt, lt";

/// A sign ("!=", "("), a word, or nothing at the end of the text.
struct SelectorToken {
  std::string text;
  bool word = false;
  bool end() const { return text.empty(); }
  bool is(std::string_view sign) const { return !word && text == sign; }
};

class SelectorTokens {
 public:
  explicit SelectorTokens(std::string_view text) : text_(text) { advance(); }
  const SelectorToken& next() const { return next_; }
  SelectorToken take() {
    auto out = std::move(next_);
    advance();
    return out;
  }
  bool take_if(std::string_view sign) {
    const bool is = next_.is(sign);
    if (is) advance();
    return is;
  }

 private:
  void advance() {
    while (!text_.empty() && is_space(text_.front())) text_.remove_prefix(1);
    next_ = {};
    if (text_.empty()) return;
    std::size_t size = 1;
    if (kSigns.find(text_.front()) != std::string_view::npos) {
      if (text_.starts_with("==") || text_.starts_with("!=")) size = 2;
    } else {
      next_.word = true;
      size = std::min(text_.find_first_of(" \t\r\n=!(),<>"), text_.size());
    }
    next_.text = text_.substr(0, size);
    text_.remove_prefix(size);
  }
  std::string_view text_;
  SelectorToken next_;
};

tl::unexpected<Error> refuse_requirement(const std::string& why) { return bad_selector("unable to parse requirement: " + why); }

std::string field_complaint(const std::string& field, const std::string& value, const std::vector<std::string>& problems) {
  std::string why;
  for (const auto& problem : problems) why += (why.empty() ? "" : "; ") + problem;
  return field + ": Invalid value: " + dump_json(Json(value)) + ": " + why;
}

bool is_integer(std::string_view text) {
  std::int64_t value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// The values of "in (a,b)", from the parenthesis on. An empty place is the empty value.
Result<std::vector<std::string>> read_value_set(SelectorTokens& tokens) {
  if (const auto open = tokens.take(); !open.is("(")) return refuse_requirement("found '" + open.text + "' expected: '('");
  std::vector<std::string> out;
  if (tokens.take_if(")")) return std::vector<std::string>{""};
  if (!tokens.next().word && !tokens.next().is(","))
    return refuse_requirement("found '" + tokens.next().text + "', expected: ',', ')' or identifier");
  while (true) {
    if (tokens.next().word) {
      out.push_back(tokens.take().text);
    } else if (tokens.next().is(",") || tokens.next().is(")")) {
      out.emplace_back();
    } else {
      return refuse_requirement("found '" + tokens.next().text + "', expected: ',', or identifier");
    }
    if (tokens.take_if(")")) return out;
    if (!tokens.take_if(",")) return refuse_requirement("found '" + tokens.next().text + "', expected: ',' or ')'");
  }
}

}  // namespace

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  LabelSelector out;
  SelectorTokens tokens(text);
  while (!tokens.next().end()) {
    if (!tokens.next().word && !tokens.next().is("!"))
      return bad_selector("found '" + tokens.next().text + "', expected: !, identifier, or 'end of string'");
    Term term;
    const bool negated = tokens.take_if("!");
    const auto key = tokens.take();
    if (!key.word) return refuse_requirement("found '" + key.text + "', expected: identifier");
    term.key = key.text;
    if (const auto problems = label_key_problems(term.key); !problems.empty())
      return refuse_requirement(field_complaint("<nil>", term.key, problems));
    if (negated) {
      term.op = Op::kAbsent;
    } else if (tokens.next().end() || tokens.next().is(",")) {
      term.op = Op::kExists;
    } else {
      const auto op = tokens.take();
      const bool set = op.word && (op.text == "in" || op.text == "notin");
      const bool order = op.is("<") || op.is(">");
      if (!set && !order && !op.is("=") && !op.is("==") && !op.is("!="))
        return refuse_requirement("found '" + op.text + std::string(kNoOperator));
      term.op = op.is("<") ? Op::kLess : op.is(">") ? Op::kGreater : op.text == "notin" || op.text == "!=" ? Op::kNotIn : Op::kIn;
      if (set) {
        FLEETADM_TRY(term.values, read_value_set(tokens));
      } else if (tokens.next().end() || tokens.next().is(",")) {
        term.values = {""};
      } else if (const auto value = tokens.take(); value.word) {
        term.values = {value.text};
      } else {
        return refuse_requirement("found '" + value.text + "', expected: identifier");
      }
      std::sort(term.values.begin(), term.values.end());
      if (order && !is_integer(term.values.front())) {
        return refuse_requirement(
            field_complaint("values[0]", term.values.front(), {"for 'Gt', 'Lt' operators, the value must be an integer"}));
      }
      for (std::size_t i = 0; i < term.values.size(); ++i) {
        if (const auto problems = label_value_problems(term.values[i]); !problems.empty())
          return refuse_requirement(
              field_complaint("values[" + std::to_string(i) + "][" + term.key + "]", term.values[i], problems));
      }
    }
    out.terms_.push_back(std::move(term));
    if (tokens.next().end()) return out;
    if (const auto comma = tokens.take(); !comma.is(","))
      return bad_selector("found '" + comma.text + "', expected: ',' or 'end of string'");
    if (!tokens.next().word && !tokens.next().is("!"))
      return bad_selector("found '" + tokens.next().text + "', expected: identifier after ','");
  }
  return out;
}

}  // namespace fleetadm
