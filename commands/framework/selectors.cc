#include "commands/framework/selectors.h"

#include <optional>
#include <utility>
#include <vector>

#include "commands/framework/suggest.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/selector.h"

namespace fleetadm::commands {
namespace {

// Splits at commas that are not inside parentheses.
std::vector<std::string_view> terms_of(std::string_view text) {
  std::vector<std::string_view> terms;
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (const std::string_view term = trimmed(text.substr(from, i - from)); !term.empty()) terms.push_back(term);
    from = i + 1;
  }
  return terms;
}

Json expression(std::string_view key, std::string_view op, const std::vector<std::string>& values = {}) {
  Json out{{"key", std::string(trimmed(key))}, {"operator", std::string(op)}};
  if (!values.empty()) out["values"] = values;
  return out;
}

// "key in (a,b)", "key notin (a)"; nullopt where the term is no such thing.
std::optional<Json> set_term(std::string_view term) {
  if (!term.ends_with(')')) return std::nullopt;
  const std::size_t open = term.find('(');
  if (open == std::string_view::npos) return std::nullopt;
  const std::string_view head = trimmed(term.substr(0, open));
  const std::size_t space = head.find_last_of(" \t");
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view op = head.substr(space + 1);
  if (op != "in" && op != "notin") return std::nullopt;
  // As kubectl reads it, nothing between two commas is the empty value; nothing at all between the parentheses is a slip.
  std::vector<std::string> values;
  std::string_view rest = term.substr(open + 1, term.size() - open - 2);
  if (trimmed(rest).empty()) return expression(head.substr(0, space), op == "in" ? "In" : "NotIn");
  for (;;) {
    const std::size_t comma = rest.find(',');
    values.emplace_back(trimmed(rest.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return expression(head.substr(0, space), op == "in" ? "In" : "NotIn", values);
}

}  // namespace

tl::unexpected<Error> bad_value_of(std::string_view flag, std::string_view word, std::string_view why, std::string hint) {
  return fail(Category::kUsage, "--" + std::string(flag) + " \"" + std::string(word) + "\": " + std::string(why),
              std::move(hint));
}

// Every term as an expression, for selectors without matchLabels (claims).
Result<Json> selector_expressions(std::string_view text, std::string_view flag) {
  Json list = Json::array();
  for (const std::string_view term : terms_of(text)) {
    if (auto set = set_term(term)) {
      list.push_back(std::move(*set));
    } else if (const std::size_t unequal = term.find("!="); unequal != std::string_view::npos && unequal > 0) {
      list.push_back(expression(term.substr(0, unequal), "NotIn", {std::string(trimmed(term.substr(unequal + 2)))}));
    } else if (const std::size_t equal = term.find('='); equal != std::string_view::npos) {
      std::string_view value = term.substr(equal + 1);
      if (value.starts_with('=')) value.remove_prefix(1);
      list.push_back(expression(term.substr(0, equal), "In", {std::string(trimmed(value))}));
    } else if (term.starts_with('!')) {
      list.push_back(expression(term.substr(1), "DoesNotExist"));
    } else {
      list.push_back(expression(term, "Exists"));
    }
  }
  if (list.empty()) return bad_value_of(flag, text, "no term", "for example env=prod,tier in (gold,silver),!legacy");
  const auto compiled = Selector::compile({{"matchExpressions", list}});
  if (!compiled.error().empty()) return bad_value_of(flag, text, compiled.error());
  return list;
}

Result<Json> parse_selector(std::string_view text) {
  FLEETADM_TRY(const Json list, selector_expressions(text, "selector"));
  // Plain equalities read better as matchLabels; a key that is asked twice stays an expression.
  Json labels = Json::object();
  Json expressions = Json::array();
  for (const Json& one : list) {
    const std::string key = str(one, {"key"});
    const std::vector<std::string> values = string_list_at(one, {"values"});
    if (str(one, {"operator"}) == "In" && values.size() == 1 && !labels.contains(key)) {
      labels[key] = values.front();
    } else {
      expressions.push_back(one);
    }
  }
  Json selector = Json::object();
  if (!labels.empty()) selector["matchLabels"] = std::move(labels);
  if (!expressions.empty()) selector["matchExpressions"] = std::move(expressions);
  return selector;
}

std::string taint_effect_hint(const std::string& word) {
  return did_you_mean(word, {"NoSelect", "PreferNoSelect", "NoSelectIfNew"},
                      "the effects are NoSelect, PreferNoSelect and NoSelectIfNew");
}

}  // namespace fleetadm::commands
