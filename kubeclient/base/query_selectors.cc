#include "kubeclient/base/query_selectors.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace fleetadm {
namespace {

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

const std::string* label(const Labels& labels, const std::string& key) {
  const auto at = std::lower_bound(labels.begin(), labels.end(), key,
                                   [](const auto& entry, const std::string& k) { return entry.first < k; });
  return at == labels.end() || at->first != key ? nullptr : &at->second;
}

}  // namespace

tl::unexpected<Error> bad_selector(std::string message) {
  return fail({.code = 400, .category = Category::kInvalid, .message = std::move(message), .reason = "BadRequest"});
}

Result<LabelSelector> LabelSelector::from_object(const Json* selector) {
  LabelSelector out;
  if (selector == nullptr || selector->is_null()) {
    out.nothing_ = true;
    return out;
  }
  for (const auto& [key, value] : strings_at(*selector, {"matchLabels"})) out.terms_.push_back({key, Op::kIn, {value}});
  for (const Json& one : list_at(*selector, {"matchExpressions"})) {
    Term term{str(one, {"key"}), Op::kIn, string_list_at(one, {"values"})};
    const auto op = str(one, {"operator"});
    if (op == "NotIn") {
      term.op = Op::kNotIn;
    } else if (op == "Exists") {
      term.op = Op::kExists;
    } else if (op == "DoesNotExist") {
      term.op = Op::kAbsent;
    } else if (op != "In") {
      return bad_selector("\"" + op + "\" is not a valid label selector operator");
    }
    out.terms_.push_back(std::move(term));
  }
  return out;
}

bool LabelSelector::matches(const Labels& labels) const {
  if (nothing_) return false;
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
    const std::string* value = label(labels, term.key);
    const auto contained = [&] { return std::find(term.values.begin(), term.values.end(), *value) != term.values.end(); };
    switch (term.op) {
      case Op::kIn: return value != nullptr && contained();
      case Op::kNotIn: return value == nullptr || !contained();
      case Op::kExists: return value != nullptr;
      case Op::kAbsent: return value == nullptr;
      case Op::kGreater:
      case Op::kLess: {
        const auto left = value == nullptr ? std::nullopt : integer(*value);
        const auto right = integer(term.values.front());
        return left && right && (term.op == Op::kGreater ? *left > *right : *left < *right);
      }
    }
    return false;
  });
}

Result<FieldSelector> FieldSelector::parse(std::string_view text) {
  FieldSelector out;
  std::vector<std::string> pieces(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      pieces.back() += text[i];
      pieces.back() += text[++i];
    } else if (text[i] == ',') {
      pieces.emplace_back();
    } else {
      pieces.back() += text[i];
    }
  }
  for (const auto& piece : pieces) {
    if (piece.empty()) continue;
    auto at = piece.find('=');
    if (at == std::string::npos) return bad_selector("invalid selector: '" + piece + "'; can't understand '" + piece + "'");
    Term term;
    term.negated = at > 0 && piece[at - 1] == '!';
    term.path = piece.substr(0, term.negated ? at - 1 : at);
    ++at;
    if (!term.negated && at < piece.size() && piece[at] == '=') ++at;
    for (; at < piece.size(); ++at) {
      if (piece[at] == '\\' && at + 1 < piece.size()) ++at;
      term.value += piece[at];
    }
    out.terms_.push_back(std::move(term));
  }
  return out;
}

std::string FieldSelector::exact(std::string_view path) const {
  for (const auto& term : terms_) {
    if (term.path == path && !term.negated) return term.value;
  }
  return {};
}

std::vector<std::string> FieldSelector::paths() const {
  std::vector<std::string> out;
  for (const auto& term : terms_) out.push_back(term.path);
  return out;
}

std::string FieldSelector::field_of(const Json& object, std::string_view path) {
  if (path == "spec.host") path = "spec.nodeName";
  // What is left out of an object is its zero.
  std::string_view absent;
  if (path == "spec.unschedulable" || path == "spec.hostNetwork") absent = "false";
  if (path == "status.replicas" || path == "status.successful") absent = "0";
  const Json* at = &object;
  while (!path.empty() && at != nullptr) {
    const auto dot = path.find('.');
    at = find(*at, {path.substr(0, dot)});
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  if (at == nullptr || at->is_null()) return std::string(absent);
  if (at->is_string()) return at->get<std::string>();
  if (at->is_object()) return str(*at, {"component"});  // an event's source
  return dump_json(*at);
}

}  // namespace fleetadm
