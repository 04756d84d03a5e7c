#include "kubeclient/base/selector.h"

#include <algorithm>
#include <cstdio>

#include "kubeclient/base/joined.h"
#include "kubeclient/base/names.h"

namespace fleetadm {
void normalize_labels(Labels& labels) {
  std::stable_sort(labels.begin(), labels.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Labels unique;
  for (auto& label : labels) {
    if (!unique.empty() && unique.back().first == label.first) {
      unique.back() = std::move(label);
    } else {
      unique.push_back(std::move(label));
    }
  }
  labels = std::move(unique);
}

const std::string* label_value(const Labels& labels, std::string_view key) {
  const auto at =
      std::lower_bound(labels.begin(), labels.end(), key, [](const auto& label, std::string_view k) { return label.first < k; });
  return at != labels.end() && at->first == key ? &at->second : nullptr;
}

std::string go_quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\a': out += "\\a"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      case '\v': out += "\\v"; break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          char hex[8];
          std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned>(byte));
          out += hex;
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

void Selector::add(std::string_view key, std::string_view op, std::vector<std::string> values) {
  if (!error_.empty()) return;  // the first requirement that cannot be built is the one told
  Requirement requirement{std::string(key), Op::kIn, {}};
  if (op == "In") {
    requirement.op = Op::kIn;
  } else if (op == "NotIn") {
    requirement.op = Op::kNotIn;
  } else if (op == "Exists") {
    requirement.op = Op::kExists;
  } else if (op == "DoesNotExist") {
    requirement.op = Op::kDoesNotExist;
  } else {
    error_ = go_quote(op) + " is not a valid label selector operator";
    return;
  }
  std::vector<std::string> errors;
  if (const auto bad = qualified_name_problems(key); !bad.empty()) {
    errors.push_back("key: Invalid value: " + go_quote(key) + ": " + joined(bad, "; "));
  }
  const bool takes_values = requirement.op == Op::kIn || requirement.op == Op::kNotIn;
  if (takes_values && values.empty()) {
    errors.emplace_back("values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty");
  }
  if (!takes_values && !values.empty()) {
    errors.push_back("values: Invalid value: " + dump_json(Json(values)) +
                     ": values set must be empty for exists and does not exist");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (const auto bad = label_value_problems(values[i]); !bad.empty()) {
      errors.push_back("values[" + std::to_string(i) + "][" + std::string(key) + "]: Invalid value: " + go_quote(values[i]) +
                       ": " + joined(bad, "; "));
    }
  }
  if (!errors.empty()) {
    // Several complaints about one requirement become one bracketed list, each said once.
    std::vector<std::string> unique;
    for (auto& error : errors) {
      if (std::find(unique.begin(), unique.end(), error) == unique.end()) unique.push_back(std::move(error));
    }
    error_ = unique.size() == 1 ? unique.front() : "[" + joined(unique, ", ") + "]";
    return;
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  requirement.values = std::move(values);
  requirements_.push_back(std::move(requirement));
}

Selector Selector::compile(const Json& label_selector) {
  Selector selector;
  for (const auto& [key, value] : strings_at(label_selector, {"matchLabels"})) selector.add(key, "In", {value});
  for (const Json& expression : list_at(label_selector, {"matchExpressions"})) {
    selector.add(str(expression, {"key"}), str(expression, {"operator"}), string_list_at(expression, {"values"}));
  }
  return selector;
}

bool Selector::matches(const Labels& labels) const {
  if (!error_.empty()) return false;
  for (const Requirement& requirement : requirements_) {
    const std::string* value = label_value(labels, requirement.key);
    const auto listed = [&] { return std::binary_search(requirement.values.begin(), requirement.values.end(), *value); };
    switch (requirement.op) {
      case Op::kIn:
        if (value == nullptr || !listed()) return false;
        break;
      case Op::kNotIn:
        if (value != nullptr && listed()) return false;
        break;
      case Op::kExists:
        if (value == nullptr) return false;
        break;
      case Op::kDoesNotExist:
        if (value != nullptr) return false;
        break;
    }
  }
  return true;
}

std::string Selector::text() const {
  std::vector<std::string> parts;
  for (const Requirement& requirement : requirements_) {
    switch (requirement.op) {
      case Op::kIn:
        parts.push_back(requirement.values.size() == 1 ? requirement.key + "=" + requirement.values.front()
                                                       : requirement.key + " in (" + joined(requirement.values, ",") + ")");
        break;
      case Op::kNotIn:
        parts.push_back(requirement.values.size() == 1 && requirement.values.front().empty()
                            ? requirement.key + "!="
                            : requirement.key + " notin (" + joined(requirement.values, ",") + ")");
        break;
      case Op::kExists: parts.push_back(requirement.key); break;
      case Op::kDoesNotExist: parts.push_back("!" + requirement.key); break;
    }
  }
  return joined(parts, ",");
}

}  // namespace fleetadm
