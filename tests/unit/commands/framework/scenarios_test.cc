#include "commands/framework/scenarios.h"

#include <gtest/gtest.h>

#include "commands/framework/suggest.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

class Scenarios : public testing::Test {
 protected:
  Result<Report> answer(const std::string& input) {
    context.screen.input = input;
    context.screen.input_read = false;
    context.screen.output.clear();
    return answer_scenarios(context, "-", [](const Json& line) -> Result<Json> {
      if (flag(line, {"bad"})) return fail(Category::kInvalid, "bad case");
      return Json{{"twice", 2 * num(line, {"n"})}};
    });
  }
  std::shared_ptr<testkit::FakeApi> api = testkit::FakeApi::make();
  testkit::FakeContext context{api->client()};
};

TEST_F(Scenarios, AnswersKeepTheOrderOfManyCases) {
  std::string input;
  std::string expected;
  for (int i = 0; i < 20'000; ++i) {
    input += "{\"id\":" + std::to_string(i) + ",\"n\":" + std::to_string(i) + "}\n";
    if (i % 7 == 0) input += " \r\n";
    expected += "{\"id\":" + std::to_string(i) + ",\"twice\":" + std::to_string(2 * i) + "}\n";
  }
  const auto report = answer(input);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_TRUE(context.screen.output == expected);
  EXPECT_TRUE(report->failures.empty());
}

TEST_F(Scenarios, TheLastLineNeedsNoNewline) {
  ASSERT_TRUE(answer("{\"id\":{\"a\":[1]},\"n\":1}\n{\"n\":2}").has_value());
  EXPECT_EQ(context.screen.output, "{\"id\":{\"a\":[1]},\"twice\":2}\n{\"twice\":4}\n");
  ASSERT_TRUE(answer("").has_value());
  EXPECT_EQ(context.screen.output, "");
}

TEST_F(Scenarios, AnErrorIsAnAnswer) {
  const auto report = answer("{\"id\":\"a\",\"bad\":true}\n{\"id\":\"b\",\"n\":1}\n");
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(context.screen.output, "{\"error\":\"bad case\",\"id\":\"a\"}\n{\"id\":\"b\",\"twice\":2}\n");
  ASSERT_EQ(report->failures.size(), 1U);
  EXPECT_EQ(report->failures.front().message, "1 case was answered with an error");
}

TEST_F(Scenarios, WhatIsNoCaseIsAnsweredWithItsLine) {
  for (const char* broken : {"{\"n\":", "[1]", "7", "{\"n\":1} x", "{\"n\":1e400}", "{\"n\":\"\xff\"}", "\xff", "null"}) {
    const auto report = answer(std::string("{\"n\":1}\n\n") + broken + "\n{\"n\":3}\n");
    ASSERT_TRUE(report.has_value()) << broken;
    ASSERT_EQ(report->failures.size(), 1U) << broken;
    EXPECT_EQ(report->failures.front().category, Category::kPartial);
    const std::string& out = context.screen.output;
    EXPECT_TRUE(out.starts_with("{\"twice\":2}\n{\"error\":\"line 3 is not a valid case: ")) << out;
    EXPECT_TRUE(out.ends_with("\"}\n{\"twice\":6}\n")) << out;
  }
}

// A co-process that writes a case and waits: a case of any length, and lines as other systems end them.
TEST_F(Scenarios, LongLinesAndCarriageReturns) {
  const std::string filler(3U << 20U, 'x');
  const auto report = answer("{\"id\":1,\"n\":1,\"filler\":\"" + filler + "\"}\r\n\t\r\n{\"id\":2,\"n\":2}\r\n");
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(context.screen.output, "{\"id\":1,\"twice\":2}\n{\"id\":2,\"twice\":4}\n");
}

TEST_F(Scenarios, MissingFileAndOtherFormats) {
  const auto any = [](const Json&) -> Result<Json> { return Json::object(); };
  EXPECT_EQ(answer_scenarios(context, "/nonexistent/cases", any).error().category, Category::kUsage);
  context.globals.output = "yaml";
  EXPECT_EQ(answer("{}\n").error().category, Category::kUsage);
  context.globals.output = "json";
  EXPECT_TRUE(answer("{}\n").has_value());
  context.stopper.request_stop();
  EXPECT_EQ(answer("{}\n").error().category, Category::kCancelled);
}

TEST(Suggest, DidYouMean) {
  EXPECT_EQ(did_you_mean("wbe", {"web", "api"}), "did you mean \"web\"?");
  EXPECT_EQ(did_you_mean("c9", {"c1", "c2", "x"}), "did you mean \"c1\" or \"c2\"?");
  EXPECT_EQ(did_you_mean("zzz", {"web"}, "list them"), "list them");
}

}  // namespace
}  // namespace fleetadm::commands
