#include "tests/support/fake_selectors.h"

#include <algorithm>
#include <string>
#include <vector>

namespace fleetadm::testkit {

namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Splits at commas outside of parentheses.
std::vector<std::string_view> terms(std::string_view selector) {
  std::vector<std::string_view> out;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= selector.size(); ++i) {
    if (i == selector.size() || (selector[i] == ',' && depth == 0)) {
      if (const auto term = trim(selector.substr(begin, i - begin)); !term.empty()) out.push_back(term);
      begin = i + 1;
    } else if (selector[i] == '(') {
      ++depth;
    } else if (selector[i] == ')') {
      --depth;
    }
  }
  return out;
}

struct Equality {
  std::string_view key;
  std::string_view value;
  bool negated = false;
  bool found = false;
};

Equality equality_of(std::string_view term) {
  Equality out;
  const auto at = term.find('=');
  if (at == std::string_view::npos) return out;
  out.found = true;
  out.negated = at > 0 && term[at - 1] == '!';
  out.key = trim(term.substr(0, out.negated ? at - 1 : at));
  auto value = term.substr(at + 1);
  if (!value.empty() && value.front() == '=') value.remove_prefix(1);
  out.value = trim(value);
  return out;
}

bool in_set(std::string_view value, std::string_view list) {
  const auto all = terms(list);
  return std::find(all.begin(), all.end(), value) != all.end();
}

bool matches_label_term(const std::map<std::string, std::string>& labels, std::string_view term) {
  const auto value_of = [&](std::string_view key) { return labels.find(std::string(key)); };
  if (const auto open = term.find('('); open != std::string_view::npos) {
    const auto list = term.substr(open + 1, term.rfind(')') - open - 1);
    auto head = trim(term.substr(0, open));
    const bool negated = head.ends_with(" notin");
    head = trim(head.substr(0, head.rfind(' ')));
    const auto value = value_of(head);
    return negated ? value == labels.end() || !in_set(value->second, list) : value != labels.end() && in_set(value->second, list);
  }
  if (const auto equal = equality_of(term); equal.found) {
    const auto value = value_of(equal.key);
    const bool same = value != labels.end() && value->second == equal.value;
    return equal.negated ? !same : same;
  }
  if (term.front() == '!') return value_of(trim(term.substr(1))) == labels.end();
  return value_of(term) != labels.end();
}

std::string field_of(const Json& object, std::string_view path) {
  const Json* at = &object;
  while (!path.empty()) {
    const auto dot = path.find('.');
    at = find(*at, {path.substr(0, dot)});
    if (at == nullptr) return {};
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return at->is_string() ? at->get<std::string>() : dump_json(*at);
}

}  // namespace

bool matches_labels(const Json& object, std::string_view selector) {
  const auto labels = strings_at(object, {"metadata", "labels"});
  const auto all = terms(selector);
  return std::all_of(all.begin(), all.end(), [&](std::string_view term) { return matches_label_term(labels, term); });
}

bool matches_fields(const Json& object, std::string_view selector) {
  const auto all = terms(selector);
  return std::all_of(all.begin(), all.end(), [&](std::string_view term) {
    const auto equal = equality_of(term);
    return equal.found && (field_of(object, equal.key) == equal.value) != equal.negated;
  });
}

}  // namespace fleetadm::testkit
