#include "core/cel/env.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "core/cel/ast.h"
#include "tests/unit/core/cel/typed.h"

namespace fleetadm::cel::test {
namespace {

Library variables() {
  return {.name = "variables", .variables = {{"x", Type::integer()}, {"text", Type::string()}, {"any", Type::dyn()}}};
}

Result<Env> env_with(Library own) { return Env::build({standard_library(), optional_library(), variables(), std::move(own)}); }

/// "phase line:column message" of the first issue.
std::string first_issue(std::string_view expression) {
  const auto env = env_with({});
  const auto program = env->compile(expression);
  if (program) return "compiles";
  const Issue& issue = program.error().issues.front();
  constexpr const char* kPhases[] = {"syntax", "check", "plan"};
  return std::string(kPhases[static_cast<int>(program.error().phase)]) + " " + std::to_string(issue.line) + ":" +
         std::to_string(issue.column) + " " + issue.message;
}

TEST(CelEnv, SaysWhereAndWhy) {
  const std::pair<const char*, const char*> kCases[] = {
      {"1 +", "syntax 1:4 Syntax error: unexpected end of the expression"},
      {"1 +\n  )", "syntax 2:3 Syntax error: unexpected ')'"},
      {"'\xC3\xA9' + #", "syntax 1:7 Syntax error: unexpected character"},
      {"'abc", "syntax 1:5 Syntax error: unterminated string"},
      {"f(1, 2", "syntax 1:7 Syntax error: unexpected end of the expression, wanted ',' or ')'"},
      {"a ? b", "syntax 1:6 Syntax error: unexpected end of the expression, wanted ':'"},
      {"if", "syntax 1:1 reserved identifier: if"},
      {"9223372036854775808", "syntax 1:1 invalid int literal"},
      {"[1].all(1, true)", "syntax 1:9 argument must be a simple name"},
      {"has(x)", "syntax 1:5 invalid argument to has() macro"},
      {"unknown", "check 1:1 undeclared reference to 'unknown'"},
      {"text.nope()", "check 1:10 undeclared reference to 'nope'"},
      {"x + text", "check 1:3 found no matching overload for '_+_' applied to '(int, string)'"},
      {"1 == 1.0", "check 1:3 found no matching overload for '_==_' applied to '(int, double)'"},
      {"text.size(1)", "check 1:10 found no matching overload for 'size' applied to 'string.(int)'"},
      {"x.field", "check 1:2 type 'int' does not support field selection"},
      {"x && true", "check 1:1 expected type 'bool' but found 'int'"},
      {"x.all(y, true)", "check 1:1 expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"},
      {"{null: 1}[null]", "plan 1:10 invalid qualifier type: null_type"},
  };
  for (const auto& [expression, expected] : kCases) EXPECT_EQ(first_issue(expression), expected) << expression;
}

TEST(CelEnv, DrawsACaretBelowTheColumn) {
  const auto program = env_with({})->compile("x +\n  text");
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().render(),
            "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n | x +\n | ..^");
}

TEST(CelEnv, ReportsEveryIssueInOrder) {
  const auto program = env_with({})->compile("[a, x + text, b]");
  ASSERT_FALSE(program);
  ASSERT_EQ(program.error().issues.size(), 3U);
  EXPECT_EQ(program.error().issues[1].column, 7);
}

TEST(CelEnv, DeducesTheTypeOfTheResult) {
  const std::pair<const char*, const char*> kCases[] = {
      {"x", "int"},
      {"[x]", "list(int)"},
      {"[x, text]", "list(dyn)"},
      {"[]", "list(dyn)"},
      {"{'a': 1}", "map(string, int)"},
      {"any.b", "dyn"},
      {"any.?b", "optional_type(dyn)"},
      {"x == 1", "bool"},
      {"[1].map(i, text)", "list(string)"},
      {"type(x)", "type(int)"},
      {"true ? x : any", "dyn"},
      {"optional.of(x).orValue(3)", "int"},
      {"[1][?0]", "optional_type(int)"},
      {"timestamp(0) - timestamp(0)", "duration"},
  };
  const auto env = env_with({});
  for (const auto& [expression, type] : kCases) {
    const auto program = env->compile(expression);
    ASSERT_TRUE(program) << program.error().render();
    EXPECT_EQ(to_string(program->result_type()), type) << expression;
  }
}

TEST(CelEnv, RefusesLibrariesThatContradict) {
  EXPECT_FALSE(env_with({.variables = {{"x", Type::string()}}}));
  EXPECT_TRUE(env_with({.variables = {{"x", Type::integer()}}}));
  const auto nothing = [](CallContext&, std::span<const Value>) { return Value(); };
  EXPECT_FALSE(env_with({.functions = {{.name = "f", .overloads = {global("add_int64", {}, Type::null(), nothing)}}}}));
  EXPECT_FALSE(
      env_with({.functions = {{.name = "has", .overloads = {global("has_own", {Type::dyn()}, Type::null(), nothing)}}}}));
}

TEST(CelEnv, UnboundVariablesFailWhereTheyAreRead) {
  const auto env = env_with({});
  const auto reads = env->compile("x > 1");
  const auto spares = env->compile("true || x > 1");
  EXPECT_FALSE(reads->evaluate({}).ok());
  EXPECT_TRUE(spares->evaluate({}).value.is_true());
  EXPECT_TRUE(reads->evaluate({{"x", Value::integer(2)}, {"other", Value::integer(1)}}).value.is_true());
}

class Numbers final : public Host {
 public:
  std::int64_t number = 0;
};

TEST(CelEnv, FunctionsSeeHostAndWork) {
  Library own;
  own.functions.push_back(
      {.name = "number",
       .overloads = {global("number_of_host", {}, Type::integer(), [](CallContext& context, std::span<const Value>) {
         const auto* host = dynamic_cast<const Numbers*>(context.host);
         return host == nullptr ? Value::error("no host") : Value::integer(host->number);
       })}});
  own.functions.push_back(
      {.name = "burn", .overloads = {global("burn_work", {}, Type::boolean(), [](CallContext& context, std::span<const Value>) {
                         return Value::boolean(context.work.spend(100'000'000'000));
                       })}});
  own.functions.push_back({.name = "stop",
                           .overloads = {global("stop_all", {}, Type::boolean(),
                                                [](CallContext&, std::span<const Value>) { return Value::abort("stopped"); })}});
  own.functions.push_back(
      {.name = "dear",
       .overloads = {global(
           "dear_call", {Type::integer()}, Type::integer(), [](CallContext&, std::span<const Value> args) { return args[0]; },
           [](std::span<const Value> args, const Value&) {
             return std::optional(static_cast<std::uint64_t>(args[0].as_int()));
           })}});
  const auto env = env_with(std::move(own));
  ASSERT_TRUE(env) << env.error().message;
  Numbers host;
  host.number = 42;
  EXPECT_EQ(env->compile("number()")->evaluate({}, {}, &host).value.as_int(), 42);
  EXPECT_FALSE(env->compile("number() == 1")->evaluate({}).ok());
  const Outcome burnt = env->compile("burn() || true")->evaluate({});
  EXPECT_TRUE(burnt.limit_reached);
  EXPECT_FALSE(burnt.ok());
  const Outcome stopped = env->compile("stop() || true")->evaluate({});
  EXPECT_FALSE(stopped.limit_reached);
  EXPECT_EQ(stopped.value.text(), "stopped");
  EXPECT_EQ(env->compile("dear(500)")->evaluate({}).cost, 500U);
  EXPECT_TRUE(env->compile("dear(2000000) == 1 || true")->evaluate({}).limit_reached);
}

TEST(CelEnv, LiteralArgumentsMayRefuseTheirProgram) {
  Overload checked =
      global("checked_call", {Type::string()}, Type::string(), [](CallContext&, std::span<const Value> args) { return args[0]; });
  checked.specialise = [](std::span<const std::optional<Value>> literals) -> Result<Implementation> {
    if (!literals[0]) return Implementation();
    if (literals[0]->text() == "bad") return fail(Category::kInvalid, "bad literal");
    return Implementation([](CallContext&, std::span<const Value>) { return Value::string("special"); });
  };
  const auto env = env_with({.functions = {{.name = "checked", .overloads = {checked}}}});
  const auto refused = env->compile("checked('bad')");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().phase, CompileFailure::Phase::kPlan);
  EXPECT_EQ(env->compile("checked('good')")->evaluate({}).value.text(), "special");
  EXPECT_EQ(env->compile("checked(text)")->evaluate({{"text", Value::string("plain")}}).value.text(), "plain");
}

TEST(CelEnv, ProgramsServeManyThreads) {
  const auto env = env_with({});
  const auto program = env->compile("[x, x + 1].map(i, {'k': string(i) + text}).exists(m, m.k == '2abc')");
  ASSERT_TRUE(program);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 300; ++i) {
          const Outcome outcome = program->evaluate({{"x", Value::integer(t)}, {"text", Value::borrowed("abc")}});
          if (!outcome.ok() || outcome.value.as_bool() != (t == 1 || t == 2)) ++wrong;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(CelEnv, OutcomesLiveAsLongAsTheirProgram) {
  const auto env = env_with({});
  const auto program = env->compile("'a literal'");
  const Outcome outcome = program->evaluate({});
  EXPECT_EQ(outcome.value.text(), "a literal");
}

}  // namespace
}  // namespace fleetadm::cel::test
