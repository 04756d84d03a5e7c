// Expressions made to hurt: every one ends by a limit, soon, and without a crash.
#include <chrono>
#include <gtest/gtest.h>

#include "tests/unit/core/cel/typed.h"

namespace fleetadm::cel::test {
namespace {

std::string repeat(std::string_view text, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

/// Compiles and runs; true where it came to a value.
bool survives(const std::string& expression) {
  const auto begin = std::chrono::steady_clock::now();
  bool ok = false;
  if (const auto program = environment().compile(expression)) {
    const Json object = Json::object();
    ok = program->evaluate({{"object", Value::view(object)}}).ok();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20)) << expression.substr(0, 200);
  return ok;
}

TEST(HostileCel, DeepNestingEndsByDepth) {
  for (const auto& [open, close] : {std::pair("(", ")"), std::pair("[", "]"), std::pair("{1:", "}"), std::pair("size(", ")")}) {
    EXPECT_FALSE(survives(repeat(open, 250) + "1" + repeat(close, 250))) << open;
    EXPECT_FALSE(survives(repeat(open, 20'000) + "1" + repeat(close, 20'000))) << open;
    EXPECT_FALSE(survives(repeat(open, 50'000))) << open;
  }
  EXPECT_TRUE(survives(repeat("(", 249) + "1" + repeat(")", 249)));
  EXPECT_TRUE(survives(repeat("[", 249) + "1" + repeat("]", 249)));
  EXPECT_TRUE(survives("1" + repeat("+1", 250)));
  EXPECT_FALSE(survives("1" + repeat("+1", 251)));
  EXPECT_FALSE(survives("1" + repeat("+1", 40'000)));
  EXPECT_FALSE(survives("object" + repeat(".a", 251)));
  EXPECT_FALSE(survives(repeat("true ? 1 : ", 9'000) + "1"));
  EXPECT_FALSE(survives("object" + repeat("[0]", 30'000)));
}

TEST(HostileCel, LongTextsEnd) {
  EXPECT_FALSE(survives(std::string(100'001, '1')));
  EXPECT_TRUE(survives("'" + std::string(99'998, 'a') + "'"));
  EXPECT_TRUE(survives(repeat("!", 90'000) + "true"));
  EXPECT_TRUE(survives("true" + repeat("&&true", 16'000)));
  EXPECT_TRUE(survives("[" + repeat("[],", 33'000) + "[]]"));
  EXPECT_TRUE(survives("[" + repeat("1,", 49'000) + "1]"));
  survives("1==1" + repeat("&&1==1", 16'000));
  survives("{" + repeat("1:1,", 24'000) + "}");
  survives("{" + repeat("?1:optional.none(),", 5'000) + "}");
}

TEST(HostileCel, LoopsEndByCost) {
  std::string loops = "true";
  for (int i = 0; i < 12; ++i) loops = "[0,1,2,3,4,5,6,7,8,9].all(x" + std::to_string(i) + ", " + loops + ")";
  const auto program = environment().compile(loops);
  ASSERT_TRUE(program);
  const Json object = Json::object();
  const Outcome outcome = program->evaluate({{"object", Value::view(object)}});
  EXPECT_TRUE(outcome.limit_reached);
  EXPECT_EQ(outcome.cost, 1'000'001U);
}

TEST(HostileCel, AbsorptionDoesNotHideALimit) {
  const auto program = environment().compile("[1,2,3].all(x, object.l.all(y, object.l.all(z, x + y + z > 0))) || true");
  ASSERT_TRUE(program);
  Json object = Json::object();
  for (int i = 0; i < 1000; ++i) object["l"].push_back(i);
  const Outcome outcome = program->evaluate({{"object", Value::view(object)}});
  EXPECT_FALSE(outcome.ok());
  EXPECT_TRUE(outcome.limit_reached);
}

TEST(HostileCel, GrowingValuesEnd) {
  std::string text = "optional.of('aaaaaaaaaaaaaaaa')";
  std::string list = "optional.of([1,2,3,4])";
  std::string equal = list;
  for (int i = 0; i < 14; ++i) {
    text += ".optMap(x, x + x + x + x)";
    list += ".optMap(x, x + x + x + x)";
  }
  // Each optMap doubles the tree: this ends while it is parsed.
  EXPECT_FALSE(survives(text + repeat(".optMap(x, x + x)", 100)));
  survives(text);
  survives(list + ".optMap(x, x == x)");
  survives(list + ".optMap(x, [x, x, x] == [x, x, x])");
  const std::string thousand = "[" + repeat("0,", 999) + "0]";
  survives(thousand + ".map(a, " + thousand + ").map(b, b.map(c, [c]))");
  survives(
      "[0,1,2,3,4,5,6,7,8,9].map(a, 'aaaaaaaaaa'.replace('', 'bbbbbbbbbb')).map(b, b.replace('', b)).map(c, c.replace('', "
      "c)).map(d, "
      "d.replace('', d)).map(e, e.replace('', e))");
}

TEST(HostileCel, TypesDoNotExplode) {
  std::string expression = "x9";
  for (int i = 9; i > 0; --i)
    expression =
        "[{x" + std::to_string(i - 1) + ": x" + std::to_string(i - 1) + "}].map(x" + std::to_string(i) + ", " + expression + ")";
  survives("[1].map(x0, " + expression + ")");
  std::string deeper = "x60";
  for (int i = 60; i > 0; --i)
    deeper = "[{x" + std::to_string(i - 1) + ": x" + std::to_string(i - 1) + "}].map(x" + std::to_string(i) + ", " + deeper + ")";
  EXPECT_FALSE(survives("[1].map(x0, " + deeper + ")"));
}

TEST(HostileCel, PatternsEnd) {
  survives("[" + repeat("'a',", 5'000) + "'a'].map(x, x.matches(x + '((((a{30}){30})){1})*'))");
  EXPECT_FALSE(survives("'a'.matches('((a{1000}){1000}){1000}')"));
  survives("'" + std::string(40'000, 'a') + "'.matches('(a*)*b')");
}

TEST(HostileCel, BrokenTextsAreRefused) {
  for (const std::string text :
       {"",    " ",  "\xff", "\x00", "'\xff'", "'",   "\"\"\"", "r'",   "b'", "0x", "1e",   "..", "a..b",   "?",        "a ? b",
        "a.?", "a[", "a[?",  "{?",   "[?",     "{1}", "{1:",    "a.b(", "`",  "``", "a.``", "//", "1 // c", "\n\n1 +\n"}) {
    const auto program = environment().compile(text);
    if (text == "1 // c") {
      EXPECT_TRUE(program);
      continue;
    }
    ASSERT_FALSE(program) << text;
    EXPECT_FALSE(program.error().render().empty());
  }
}

}  // namespace
}  // namespace fleetadm::cel::test
