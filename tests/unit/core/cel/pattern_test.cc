// Patterns of the syntax that upstream's regexp takes, on RE2.
#include "core/cel/pattern.h"

#include <gtest/gtest.h>

#include "core/cel/library/environments.h"

namespace fleetadm::cel {
namespace {

bool found(std::string_view pattern, std::string_view text) {
  const auto compiled = compile_pattern(pattern);
  if (!compiled) ADD_FAILURE() << pattern << ": " << compiled.error().message;
  return compiled && matches(**compiled, text);
}

TEST(Pattern, NamedGroupsOfEitherForm) {
  EXPECT_TRUE(found("^(?<a>x)(?P<b>y)$", "xy"));
  EXPECT_TRUE(found("^(?<a>x)(?P<a>y)$", "xy")) << "one name may be of two groups";
  EXPECT_TRUE(found("^[(?<a>]$", "<"));
  EXPECT_FALSE(found("^[(?<a>]$", "P")) << "a class of characters, no group";
  EXPECT_TRUE(found("^[](?<b>]$", "]"));
  EXPECT_FALSE(found("^[^](?<b>]$", "]"));
  EXPECT_FALSE(found("^[](?<b>]$", "P"));
  EXPECT_FALSE(found("^[[:digit:](?<b>]$", "P"));
  EXPECT_TRUE(found("^\\Q(?<a>\\E$", "(?<a>"));
  EXPECT_TRUE(found("^\\[(?<a>x)\\]$", "[x]"));
}

TEST(Pattern, UnicodeClassesByEveryName) {
  for (const char* letter : {"^\\p{L}$", "^\\p{Letter}$", "^\\pL$", "^\\pl$", "^[\\p{lowercase letter}]$", "^\\p{LL}$",
                             "^\\p{Greek}$", "^\\p{GREEK}$", "^\\P{Decimal_Number}$", "^\\P{^Letter}$", "^\\p{any}$"}) {
    EXPECT_TRUE(found(letter, "\u03bb")) << letter;
  }
  EXPECT_FALSE(found("^\\p{^Letter}$", "\u03bb"));
}

TEST(Pattern, WhatIsNone) {
  for (const char* bad : {"\\C", "[\\C]", "(?<a", "(?<a>", "(?<>x)", "\\p{Nothing}", "\\p{}", "\\p{L", "\\p", "(?=x)", "(?<=x)",
                          "(?<!x)", "(a", "[a", "a{1001}", "\\"}) {
    EXPECT_FALSE(compile_pattern(bad).has_value()) << bad;
  }
}

TEST(Pattern, HostileOnesEndSoon) {
  std::string open;
  std::string classes;
  for (int i = 0; i < 100'000; ++i) open += "[:";
  for (int i = 0; i < 2'000; ++i) classes += "\\p{Letter}";
  EXPECT_FALSE(compile_pattern("[" + open).has_value());
  EXPECT_FALSE(compile_pattern(classes).has_value()) << "too large";
}

TEST(Pattern, FindTakesWhatMatchesTakes) {
  const auto env = condition_environment(false);
  ASSERT_TRUE(env.has_value());
  const Json object;
  const auto text = [&](const char* expression) {
    const auto program = env->compile(expression);
    if (!program) return program.error().render();
    return std::string(program->evaluate({{"object", Value::view(object)}}).value.text());
  };
  EXPECT_EQ(text("'key=value'.find('(?<k>[a-z]+)=')"), "key=");
  EXPECT_EQ(text("'key=value'.find('(?' + '<k>[a-z]+)=')"), "key=");
  EXPECT_EQ(text("'a1b2'.findAll('(?<d>[0-9])').join()"), "12");
  EXPECT_EQ(text("'a1b2'.findAll('(?' + '<d>[0-9])', 1).join()"), "1");
}

TEST(RuleResult, IsTakenAsUpstreamTakesIt) {
  EXPECT_TRUE(taken_as(Value::optional_of(Value::boolean(true))).is_true());
  EXPECT_TRUE(taken_as(Value::optional_of(Value::optional_of(Value::boolean(true)))).is_true());
  EXPECT_TRUE(taken_as(Value::optional_none()).is(Kind::kNull));
  EXPECT_EQ(taken_as(Value::type(Type::integer())).text(), "int");
  EXPECT_EQ(taken_as(Value::integer(7)).as_int(), 7);
}

}  // namespace
}  // namespace fleetadm::cel
