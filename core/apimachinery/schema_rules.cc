// x-kubernetes-validations. `self` is a value of the object: of scalars the static type is known to the checker, objects are maps
// of strings, so that a misspelt field is found when the rule runs and not when the CRD is created.
#include <algorithm>
#include <re2/re2.h>

#include "core/apimachinery/schema_node.h"
#include "core/cel/library/libraries.h"
#include "core/cel/time.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::apimachinery {
namespace {

cel::Type type_of(const SchemaNode& node) {
  if (node.nullable || node.int_or_string) return cel::Type::dyn();
  if (node.type == "string")
    return node.format == "date-time" || node.format == "date" || node.format == "duration" || node.format == "byte"
               ? cel::Type::dyn()
               : cel::Type::string();
  if (node.type == "integer") return cel::Type::integer();
  if (node.type == "number") return cel::Type::real();
  if (node.type == "boolean") return cel::Type::boolean();
  if (node.type == "array") return cel::Type::list(node.items == nullptr ? cel::Type::dyn() : type_of(*node.items));
  if (node.type == "object" && node.additional != nullptr && node.properties.empty())
    return cel::Type::map(cel::Type::string(), type_of(*node.additional));
  if (node.type == "object") return cel::Type::map(cel::Type::string(), cel::Type::dyn());
  return cel::Type::dyn();
}

Result<cel::Env> environment_of(const SchemaNode& node, bool optional_old) {
  std::vector<cel::Library> libraries;
  libraries.push_back(cel::standard_library());
  libraries.push_back(cel::optional_library());
  libraries.push_back(cel::strings_library());
  libraries.push_back(cel::lists_library());
  libraries.push_back(cel::regex_library());
  libraries.push_back(cel::urls_library());
  libraries.push_back(cel::quantity_library());
  libraries.push_back(cel::ip_library());
  libraries.push_back(cel::cidr_library());
  libraries.push_back(cel::format_library());
  libraries.push_back(cel::semver_library());
  cel::Library variables{.name = "schema rule"};
  const cel::Type self = type_of(node);
  variables.variables.push_back({"self", self});
  variables.variables.push_back({"oldSelf", optional_old ? cel::Type::optional(self) : self});
  libraries.push_back(std::move(variables));
  return cel::Env::build(std::move(libraries));
}

/// The name of a property in rules: what is no identifier, or is a word of the language, is escaped.
std::string escaped(const std::string& name) {
  static constexpr std::string_view kWords[] = {"true",     "false",   "null",      "in",       "as",  "break",  "const",
                                                "continue", "else",    "for",       "function", "if",  "import", "let",
                                                "loop",     "package", "namespace", "return",   "var", "void",   "while"};
  if (std::find(std::begin(kWords), std::end(kWords), name) != std::end(kWords)) return "__" + name + "__";
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.compare(i, 2, "__") == 0) {
      text += "__underscores__";
      ++i;
    } else if (name[i] == '.') {
      text += "__dot__";
    } else if (name[i] == '-') {
      text += "__dash__";
    } else if (name[i] == '/') {
      text += "__slash__";
    } else {
      text += name[i];
    }
  }
  return text;
}

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
      cel::Value name = cel::Value::string(child == nullptr ? key : escaped(key));
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
                           [](const auto& entry) { return entry.second.plain && escaped(entry.first) == entry.first; });
}

void compile_rules(const Json& rules, const std::string& field, SchemaNode& into, Causes& causes) {
  static const RE2 kOldSelf(R"(\boldSelf\b)");
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::string here = field + "[" + std::to_string(i) + "]";
    SchemaRule rule;
    rule.rule = str(rules[i], {"rule"});
    const auto trim = [](std::string text) {
      const auto begin = text.find_first_not_of(" \t\n\r");
      return begin == std::string::npos ? std::string() : text.substr(begin, text.find_last_not_of(" \t\n\r") - begin + 1);
    };
    rule.message = trim(str(rules[i], {"message"}));
    rule.reason = str(rules[i], {"reason"}, "FieldValueInvalid");
    rule.field_path = str(rules[i], {"fieldPath"});
    rule.optional_old = flag(rules[i], {"optionalOldSelf"});
    rule.transition = RE2::PartialMatch(rule.rule, kOldSelf);
    if (trim(rule.rule).empty()) {
      causes.push_back(required(here + ".rule", "rule is not specified"));
      continue;
    }
    auto env = environment_of(into, rule.optional_old);
    if (!env) {
      causes.push_back(invalid_without_value(here + ".rule", env.error().message));
      continue;
    }
    auto program = env->compile(rule.rule);
    if (!program) {
      causes.push_back(bad_value(here + ".rule", rule.rule, "compilation failed: " + program.error().render()));
      continue;
    }
    const cel::Type& result = program->result_type();
    if (result.kind() != cel::TypeKind::kBool && !result.is_dyn()) {
      causes.push_back(bad_value(here + ".rule", rule.rule, "cel expression must evaluate to a bool"));
      continue;
    }
    rule.program = std::move(*program);
    if (const std::string expression = str(rules[i], {"messageExpression"}); !expression.empty()) {
      auto message = env->compile(expression);
      if (!message) {
        causes.push_back(bad_value(here + ".messageExpression", rule.rule,
                                   "messageExpression compilation failed: " + message.error().render()));
        continue;
      }
      if (message->result_type().kind() != cel::TypeKind::kString && !message->result_type().is_dyn()) {
        causes.push_back(bad_value(here + ".messageExpression", rule.rule, "messageExpression must evaluate to a string"));
        continue;
      }
      rule.message_program = std::move(*message);
    }
    into.rules.push_back(std::move(rule));
  }
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
