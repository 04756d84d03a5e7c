#include <gtest/gtest.h>

#include "commands/framework/files.h"
#include "commands/framework/listing.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::commands {
namespace {

TEST(FlagSetTest, DefaultsAreShown) {
  FlagSet flags;
  std::string text = "abc", choice = "b";
  std::int64_t number = 3;
  Duration duration = std::chrono::seconds(90);
  bool yes = true, no = false;
  EXPECT_EQ(flags.text(&text, "t", "").default_text, "abc");
  EXPECT_EQ(flags.integer(&number, "i", "").default_text, "3");
  EXPECT_EQ(flags.duration(&duration, "d", "").default_text, "1m30s");
  EXPECT_EQ(flags.boolean(&yes, "y", "").default_text, "true");
  EXPECT_EQ(flags.boolean(&no, "n", "").default_text, "");
  Flag& flag = flags.choice(&choice, "c", {"a", "b"}, "");
  EXPECT_EQ(flag.default_text, "b");
  EXPECT_EQ(flag.value_name, "a|b");
  EXPECT_EQ(flag.complete, Complete::kValues);
}

TEST(FlagSetTest, HelpBeginsAlikeWhoeverWroteIt) {
  FlagSet flags;
  std::string text;
  bool on = false;
  EXPECT_EQ(flags.text(&text, "t", "only these").help, "Only these");
  EXPECT_EQ(flags.boolean(&on, "b", "Only these").help, "Only these");
  EXPECT_EQ(flags.choice(&text, "c", {"a"}, "$HOME is one").help, "$HOME is one");
}

TEST(FlagSetTest, CommaTextsSkipEmptyParts) {
  FlagSet flags;
  std::vector<std::string> into;
  Flag& flag = flags.comma_texts(&into, "x", "");
  EXPECT_TRUE(flag.repeated);
  ASSERT_TRUE(flag.set(",a,,b,"));
  ASSERT_TRUE(flag.set(""));
  ASSERT_TRUE(flag.set("c"));
  EXPECT_EQ(into, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(FlagSetTest, DurationsAreNeverNegative) {
  FlagSet flags;
  Duration duration{};
  Flag& flag = flags.duration(&duration, "timeout", "");
  for (const char* wrong : {"-1s", "-5", "-1h30m", "soon", "", "99999999h"}) EXPECT_FALSE(flag.set(wrong)) << wrong;
  EXPECT_EQ(flag.set("-1s").error().message, "must not be negative");
  ASSERT_TRUE(flag.set("90"));
  EXPECT_EQ(duration, std::chrono::seconds(90));
  ASSERT_TRUE(flag.set("0s"));
  EXPECT_EQ(duration, Duration::zero());
}

TEST(FilesTest, WhatCannotBeReadIsNamedWithItsReason) {
  const testkit::TemporaryFolder folder("files");
  const std::string text = folder.write("text", "abc");
  EXPECT_EQ(*read_whole_file(text, 3), "abc");
  EXPECT_NE(read_whole_file(text, 2).error().message.find("larger"), std::string::npos);
  EXPECT_NE(read_whole_file("/dev/zero", 1U << 20U).error().message.find("larger than 1 MiB"), std::string::npos);
  const auto folder_read = read_whole_file("/", 3);
  ASSERT_FALSE(folder_read);
  EXPECT_EQ(folder_read.error().category, Category::kUsage);
  EXPECT_EQ(folder_read.error().message, "cannot read \"/\": Is a directory");
  EXPECT_EQ(read_whole_file("/nonexistent", 3).error().message, "cannot read \"/nonexistent\": No such file or directory");
}

TEST(InvocationTest, ValidationComesBeforeRunAndOptionsAreNew) {
  struct Options {
    bool bad = false;
  };
  int runs = 0;
  const auto make = invocation<Options>([](FlagSet& flags, Options& options) { flags.boolean(&options.bad, "bad", ""); },
                                        [](const Options& options, const std::vector<std::string>&) -> Status {
                                          if (options.bad) return fail(Category::kUsage, "bad");
                                          return {};
                                        },
                                        [&runs](Context&, const Options&, const std::vector<std::string>&) -> Result<Report> {
                                          ++runs;
                                          return Report{};
                                        });
  const auto api = testkit::FakeApi::make();
  testkit::FakeContext context(api->client());
  {
    Invocation call = make();
    ASSERT_TRUE(call.flags.flags().front().set("true"));
    EXPECT_FALSE(call.run(context, {}));
    EXPECT_EQ(runs, 0);
  }
  EXPECT_TRUE(make().run(context, {}));
  EXPECT_EQ(runs, 1);
}

TEST(ListingTest, ObjectsAreKeptOnlyWhereTheyArePrinted) {
  GlobalOptions options;
  for (const char* output : {"", "table", "wide", "name"}) {
    options.output = output;
    EXPECT_FALSE(wants_objects(options)) << output;
  }
  for (const char* output : {"json", "yaml", "jsonpath={.a}", "custom-columns=A:.a"}) {
    options.output = output;
    EXPECT_TRUE(wants_objects(options)) << output;
  }
  options.output = "";
  options.sort_by = ".a";
  EXPECT_TRUE(wants_objects(options));
}

TEST(ListingTest, Cells) {
  const Json object = *parse_json(R"({"metadata":{"creationTimestamp":"2026-01-01T00:00:00Z"},
    "status":{"conditions":[{"type":"A","status":"True"},{"type":"B"},7,{"type":3}]}})");
  EXPECT_EQ(condition_cell(object, "A"), "True");
  EXPECT_EQ(condition_cell(object, "B"), "<none>");
  EXPECT_EQ(condition_cell(object, "C"), "<none>");
  EXPECT_EQ(condition_cell(Json(), "A"), "<none>");
  EXPECT_EQ(age_cell(object, *parse_time("2026-01-01T00:00:42Z")), "42s");
  EXPECT_EQ(age_cell(Json::object(), Instant{}), "<unknown>");
}

}  // namespace
}  // namespace fleetadm::commands
