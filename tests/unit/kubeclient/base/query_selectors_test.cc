#include "kubeclient/base/query_selectors.h"

#include <gtest/gtest.h>

namespace fleetadm {
namespace {

bool matches(std::string_view selector, const Labels& labels) {
  const auto parsed = LabelSelector::parse(selector);
  EXPECT_TRUE(parsed.has_value()) << selector;
  return parsed && parsed->matches(labels);
}

TEST(LabelSelector, KnowsEveryOperator) {
  const Labels labels = {{"a", "1"}, {"b", "x"}};
  for (const char* yes : {"", "a", "a=1", "a==1", "a!=2", "c!=1", "!c", "a in (1,2)", "c notin (1)", "a>0", "a<2", "a=1,b=x",
                          " a = 1 , b in ( x ) "})
    EXPECT_TRUE(matches(yes, labels)) << yes;
  for (const char* no : {"c", "a=2", "a!=1", "!a", "a in (2)", "a notin (1,2)", "a>1", "b>0", "a=1,b=y"})
    EXPECT_FALSE(matches(no, labels)) << no;
}

TEST(LabelSelector, RefusesNonsense) {
  for (const char* bad : {"a b", "a in 1", "a in (1", "=x", "a=b c", "a=-", ",", "a>x", "/x"}) {
    const auto parsed = LabelSelector::parse(bad);
    ASSERT_FALSE(parsed.has_value()) << bad;
    EXPECT_EQ(parsed.error().code, 400);
  }
}

TEST(LabelSelector, SaysWhatItFoundInsteadOfWhat) {
  const std::string requirement = "unable to parse requirement: ";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a b", requirement + "found 'b', expected: in, notin, =, ==, !=, gt, lt"},
      {"a in 1", requirement + "found '1' expected: '('"},
      {"a in (1 2)", requirement + "found '2', expected: ',' or ')'"},
      {"a notin (1,", requirement + "found '', expected: ',', or identifier"},
      {"a in (", requirement + "found '', expected: ',', ')' or identifier"},
      {"!", requirement + "found '', expected: identifier"},
      {"!a=1", "found '=', expected: ',' or 'end of string'"},
      {"a=1,", "found '', expected: identifier after ','"},
      {"(a)", "found '(', expected: !, identifier, or 'end of string'"},
      {"a<1.5", requirement + "values[0]: Invalid value: \"1.5\": for 'Gt', 'Lt' operators, the value must be an integer"}};
  for (const auto& [text, message] : cases) {
    const auto parsed = LabelSelector::parse(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().message, message);
  }
}

TEST(LabelSelector, TakesEmptyValues) {
  for (const char* yes : {"a=", "a==,!b", "a in ()", "a in (,)", "a in (x,)", "a in (,x)", "in notin (x)", "a!=in"})
    EXPECT_TRUE(matches(yes, {{"a", ""}})) << yes;
  for (const char* no : {"a!=", "a notin ()", "a in (x)"}) EXPECT_FALSE(matches(no, {{"a", ""}})) << no;
}

TEST(LabelSelector, OfNothingSelectsNothing) {
  EXPECT_FALSE(LabelSelector::from_object(nullptr)->matches({}));
  const Json empty = Json::object();
  EXPECT_TRUE(LabelSelector::from_object(&empty)->matches({}));
  const Json expressions = {{"matchExpressions", Json::array({{{"key", "a"}, {"operator", "NotIn"}, {"values", {"1"}}}})}};
  EXPECT_FALSE(LabelSelector::from_object(&expressions)->matches({{"a", "1"}}));
  EXPECT_TRUE(LabelSelector::from_object(&expressions)->matches({}));
}

TEST(FieldSelector, ReadsTheObjectOnlyWhereItMust) {
  const auto by_name = FieldSelector::parse("metadata.name=x,metadata.namespace!=n");
  ASSERT_TRUE(by_name.has_value());
  int reads = 0;
  const Json object = {{"spec", {{"nodeName", "n1"}}}};
  const auto read = [&]() -> const Json& {
    ++reads;
    return object;
  };
  EXPECT_TRUE(by_name->matches("m", "x", read));
  EXPECT_FALSE(by_name->matches("n", "x", read));
  EXPECT_EQ(reads, 0);
  EXPECT_TRUE(FieldSelector::parse("spec.nodeName==n1")->matches("", "", read));
  EXPECT_TRUE(FieldSelector::parse("spec.host=n1")->matches("", "", read));
  EXPECT_TRUE(FieldSelector::parse("spec.other=")->matches("", "", read));
  EXPECT_EQ(by_name->exact("metadata.name"), "x");
  EXPECT_EQ(by_name->exact("metadata.namespace"), "");
}

TEST(FieldSelector, TakesOneDemandMore) {
  auto selector = FieldSelector::parse("spec.a=1");
  ASSERT_TRUE(selector.has_value());
  selector->demand("metadata.name", "x");
  const Json object = {{"spec", {{"a", "1"}}}};
  const auto read = [&]() -> const Json& { return object; };
  EXPECT_TRUE(selector->matches("", "x", read));
  EXPECT_FALSE(selector->matches("", "y", read));
}

TEST(FieldSelector, UnescapesValues) {
  const auto parsed = FieldSelector::parse(R"(metadata.name=a\,b\=c)");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->exact("metadata.name"), "a,b=c");
  EXPECT_FALSE(FieldSelector::parse("metadata.name").has_value());
}

}  // namespace
}  // namespace fleetadm
