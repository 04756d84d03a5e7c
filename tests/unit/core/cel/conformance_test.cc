// The conformance cases of the CEL specification (tests/data/README.md says where they are from).
#include <gtest/gtest.h>
#include <set>

#include "core/cel/library/libraries.h"
#include "tests/unit/core/cel/typed.h"

namespace fleetadm::cel::test {
namespace {

/// The types that the cases declare variables with.
Type parse_type(std::string_view& text) {
  std::size_t end = text.find_first_of("(),");
  const std::string name(text.substr(0, end));
  text.remove_prefix(end == std::string_view::npos ? text.size() : end);
  std::vector<Type> params;
  if (text.starts_with('(')) {
    do {
      text.remove_prefix(text.starts_with(", ") ? 2 : 1);
      params.push_back(parse_type(text));
    } while (text.starts_with(','));
    text.remove_prefix(1);
  }
  if (name == "list") return Type::list(params[0]);
  if (name == "map") return Type::map(params[0], params[1]);
  if (name == "type") return params.empty() ? Type::type() : Type::type(params[0]);
  for (const Type& type :
       {Type::boolean(), Type::integer(), Type::unsigned_integer(), Type::real(), Type::string(), Type::bytes(), Type::dyn()}) {
    if (type.name() == name) return type;
  }
  if (name == "null") return Type::null();
  if (name == "timestamp") return Type::timestamp();
  if (name == "duration") return Type::duration();
  return Type::opaque(name, std::move(params));
}

Result<Env> env_of(const Json& line) {
  Library own{.name = "case"};
  for (const Json& variable : list_at(line, {"variables"})) {
    const std::string text = variable[1].get<std::string>();
    std::string_view rest = text;
    own.variables.push_back({variable[0].get<std::string>(), parse_type(rest)});
  }
  return Env::build({standard_library(), optional_library(), strings_library(), own});
}

/// Comparisons of int, uint and double without dyn are a feature that upstream's environments leave off.
bool needs_mixed_comparisons(const CompileFailure& failure) {
  for (const Issue& issue : failure.issues) {
    for (const char* sign : {"'_<_'", "'_<=_'", "'_>_'", "'_>=_'"}) {
      if (issue.message.find(std::string("found no matching overload for ") + sign) != std::string::npos) return true;
    }
  }
  return false;
}

/// Cases upstream's engine answers otherwise than the specification, and so do we: it lets the last of equal keys stay, keeps 0
/// and 0u apart as keys, finds nothing (rather than an error) below an optional of null or of a number, counts all of a
/// duration's milliseconds, types [optional, null] by its null, and finds nothing from beyond a string's end.
bool upstream_differs(const std::string& name) {
  static const std::set<std::string> kNames = {
      "fields/qualified_identifier_resolution/map_value_repeat_key",
      "fields/qualified_identifier_resolution/map_value_repeat_key_heterogeneous",
      "optionals/optionals/map_null_entry_no_such_key",
      "optionals/optionals/map_present_key_invalid_field",
      "string_ext/value_errors/indexof_out_of_range",
      "string_ext/value_errors/lastindexof_out_of_range",
      "timestamps/duration_converters/get_milliseconds",
      "type_deduction/legacy_nullable_types/null_assignable_to_abstract_parameter_candidate",
  };
  return kNames.contains(name);
}

void run(const Json& line, std::size_t& left_out) {
  if (upstream_differs(str(line, {"name"}))) return;
  const auto env = env_of(line);
  ASSERT_TRUE(env) << env.error().message;
  const auto program = env->compile(str(line, {"expr"}));
  const bool wants_error = flag(line, {"error"});
  if (!program) {
    if (needs_mixed_comparisons(program.error())) {
      ++left_out;
      return;
    }
    EXPECT_TRUE(wants_error) << program.error().render();
    return;
  }
  if (const Json* type = find(line, {"type"})) {
    EXPECT_EQ(to_string(program->result_type()), type->get<std::string>());
  }
  const Json* expected = find(line, {"value"});
  if (!wants_error && expected == nullptr) return;
  std::vector<std::string> names;
  std::vector<Value> values;
  for (const auto& [name, value] : object_at(line, {"bindings"}).items()) {
    names.push_back(name);
    values.push_back(from_typed(value));
  }
  std::vector<Binding> bindings;
  for (std::size_t i = 0; i < names.size(); ++i) bindings.push_back({names[i], values[i]});
  const Outcome outcome = program->evaluate(bindings);
  EXPECT_EQ(!outcome.ok(), wants_error) << display(outcome.value);
  if (wants_error || !outcome.ok()) return;
  EXPECT_EQ(dump_json(typed(outcome.value)), dump_json(typed(from_typed(*expected))));
}

TEST(CelConformance, OfTheSpecification) {
  std::size_t left_out = 0;
  const auto cases = read_cases("cel-conformance.jsonl.gz");
  for (const Json& line : cases) {
    SCOPED_TRACE(str(line, {"name"}) + ": " + str(line, {"expr"}));
    run(line, left_out);
  }
  EXPECT_GT(cases.size(), 1000U);
  EXPECT_LT(left_out, 100U);
}

}  // namespace
}  // namespace fleetadm::cel::test
