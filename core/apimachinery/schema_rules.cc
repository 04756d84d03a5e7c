// x-kubernetes-validations: the rules run here; schema_checks.cc compiles them.
#include <algorithm>

#include "core/apimachinery/schema_types.h"
#include "core/cel/time.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::apimachinery {
namespace {

/// The value as the rule sees it: times and durations by their format, whole numbers of a `number` as doubles, names escaped.
cel::Value value_of(const SchemaNode& node, const Json& value) {
  if (node.plain || value.is_null()) return cel::Value::view(value);
  if (node.type == "number" && value.is_number()) return cel::Value::real(value.get<double>());
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (node.format == "date-time" || node.format == "date") {
      const auto at = cel::parse_timestamp(node.format == "date" ? text + "T00:00:00Z" : text);
      if (at) return *at;
    } else if (node.format == "duration") {
      if (const auto length = cel::parse_duration(text)) return cel::Value::duration(*length);
    } else if (node.format == "byte") {
      if (auto bytes = base64_decode(text)) return cel::Value::bytes(std::move(*bytes));
    }
    return cel::Value::view(value);
  }
  if (value.is_array() && node.items != nullptr) {
    std::vector<cel::Value> elements;
    elements.reserve(value.size());
    for (const Json& item : value) elements.push_back(value_of(*node.items, item));
    return cel::Value::list(std::move(elements));
  }
  if (value.is_object()) {
    std::vector<cel::Value::Entry> entries;
    for (const auto& [key, member] : value.items()) {
      const SchemaNode* child = node.property(key);
      cel::Value name = cel::Value::string(child == nullptr ? key : rule_name(key));
      if (child == nullptr) child = node.additional.get();
      entries.emplace_back(std::move(name), child == nullptr ? cel::Value::view(member) : value_of(*child, member));
    }
    return cel::Value::map(std::move(entries));
  }
  return cel::Value::view(value);
}

std::optional<std::string> message_of(const SchemaRule& rule, const std::vector<cel::Binding>& bindings) {
  if (!rule.message_program) return std::nullopt;
  const cel::Outcome outcome = rule.message_program->evaluate(bindings);
  if (!outcome.ok() || !outcome.value.is(cel::Kind::kString)) return std::nullopt;
  std::string text(outcome.value.text());
  const bool fits =
      text.find('\n') == std::string::npos && text.size() <= 5120 && text.find_first_not_of(" \t") != std::string::npos;
  return fits ? std::optional(std::move(text)) : std::nullopt;
}

Cause failure(const SchemaRule& rule, const Json& value, const std::string& path, const std::string& message) {
  const std::string field = rule.field_path.empty()
                                ? (path.empty() ? "<nil>" : path)
                                : below(path, rule.field_path.substr(rule.field_path.starts_with('.') ? 1 : 0));
  if (rule.reason == "FieldValueForbidden") return forbidden_field(field, message);
  if (rule.reason == "FieldValueRequired") return required(field, message);
  if (rule.reason == "FieldValueDuplicate") {
    Cause cause = duplicate(field, value);
    if (value.is_structured()) cause.message = "Duplicate value";
    return cause;
  }
  return value.is_structured() ? invalid_without_value(field, message) : bad_value(field, value, message);
}

void run_rule(const SchemaRule& rule, const SchemaNode& node, const Json& value, const Json* old, const std::string& path,
              std::uint64_t& budget, Causes& causes) {
  if (!rule.program) return;
  if (rule.transition && !rule.optional_old && old == nullptr) return;
  std::vector<cel::Binding> bindings{{"self", value_of(node, value)}};
  if (rule.optional_old) {
    bindings.push_back({"oldSelf", old == nullptr ? cel::Value::optional_none() : cel::Value::optional_of(value_of(node, *old))});
  } else if (old != nullptr) {
    bindings.push_back({"oldSelf", value_of(node, *old)});
  }
  const cel::Outcome outcome = rule.program->evaluate(bindings, {.cost = std::min(budget, cel::kPerCallCostLimit)});
  budget -= std::min(budget, outcome.cost);
  if (outcome.limit_reached) {
    causes.push_back(invalid_without_value(
        path.empty() ? "<nil>" : path,
        budget == 0 ? "validation failed due to running out of cost budget, no further validation rules will be run"
                    : "'" + rule.rule + "': no further validation rules will be run due to call cost exceeds limit for rule"));
    budget = 0;
    return;
  }
  if (outcome.value.is_true()) return;
  if (!outcome.ok()) {
    causes.push_back(failure({.rule = rule.rule,
                              .message = {},
                              .reason = "FieldValueInvalid",
                              .field_path = {},
                              .optional_old = false,
                              .transition = false,
                              .program = {},
                              .message_program = {}},
                             value, path, "rule evaluation error: " + std::string(outcome.value.text())));
    return;
  }
  std::string message = rule.message;
  if (auto computed = message_of(rule, bindings)) message = std::move(*computed);
  if (message.empty()) message = "failed rule: " + rule.rule;
  causes.push_back(failure(rule, value, path, message));
}

}  // namespace

void mark_plain(SchemaNode& node) {
  const bool typed = node.type == "number" || node.format == "date-time" || node.format == "date" || node.format == "duration" ||
                     node.format == "byte";
  node.plain = !typed && (node.items == nullptr || node.items->plain) && (node.additional == nullptr || node.additional->plain) &&
               std::all_of(node.properties.begin(), node.properties.end(),
                           [](const auto& entry) { return entry.second.plain && rule_name(entry.first) == entry.first; });
}

void run_rules(const SchemaNode& node, const Json& value, const Json* old, const std::string& path, std::uint64_t& budget,
               Causes& causes) {
  if (value.is_null()) return;
  const bool unchanged = old != nullptr && *old == value;
  for (const SchemaRule& rule : node.rules) {
    if (budget == 0) return;
    if (unchanged && !path.empty()) continue;
    run_rule(rule, node, value, old, path, budget, causes);
  }
  if (value.is_array() && node.items != nullptr) {
    const OldElements before(node, old);
    for (std::size_t i = 0; i < value.size(); ++i) {
      run_rules(*node.items, value[i], before.find(value[i]), path + "[" + std::to_string(i) + "]", budget, causes);
    }
  }
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.items()) {
    const SchemaNode* child = node.property(key);
    const bool by_name = child != nullptr;
    if (child == nullptr) child = node.additional.get();
    if (child == nullptr) continue;
    run_rules(*child, member, old == nullptr ? nullptr : find(*old, {key}), by_name ? below(path, key) : path + "[" + key + "]",
              budget, causes);
  }
}

}  // namespace fleetadm::apimachinery
