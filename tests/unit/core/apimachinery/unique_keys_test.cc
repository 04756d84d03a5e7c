#include "core/apimachinery/unique_keys.h"

#include <gtest/gtest.h>
#include <string>

namespace fleetadm::apimachinery {
namespace {

TEST(UniqueKeys, AreSeenInObjectsOfAnyDepth) {
  EXPECT_TRUE(has_unique_keys("{}"));
  EXPECT_TRUE(has_unique_keys(R"( {"a": {"a": [1, -2.5e3, true, null, {"a": "b"}, {"a": "b", "c": []}]}, "b" : "x:\"y,"} )"));
  EXPECT_TRUE(has_unique_keys(R"({"b":"a","a":"a"})"));
  EXPECT_TRUE(has_unique_keys("{\"a\":1}\n{\"a\":1}\n"));  // of a stream
}

TEST(UniqueKeys, NoneIsMissedThatComesTwice) {
  EXPECT_FALSE(has_unique_keys(R"({"a":1,"a":1})"));
  EXPECT_FALSE(has_unique_keys(R"({"b":1,"a":{"x":[{"c":1,"d":2,"c":3}]}})"));
  EXPECT_FALSE(has_unique_keys(R"({"a":1,"b":{"a":1},"a":2})"));
  EXPECT_FALSE(has_unique_keys(R"({"a":1,"\u0061":2})"));
}

TEST(UniqueKeys, NothingIsSaidOfWhatIsNoJson) {
  for (const char* text : {"", "a: 1\na: 2\n", "{a: 1, a: 2}", R"({"a", "a"})", R"({"a"})", R"({? "a", ? "a"})", R"("a": 1)",
                           R"(["a"])", R"({"a":1)", R"({"a":"1)", R"({"a":1]})", R"({"a":1} # {"a":1})", R"({"a\)", "{1:2,1:3}",
                           R"({"a":*x,"b":&x 1})", "{'a': 1, 'a': 2}", "-"}) {
    EXPECT_FALSE(has_unique_keys(text)) << text;
  }
  EXPECT_FALSE(has_unique_keys(std::string(100'000, '{')));
  std::string deep = "1";
  for (int i = 0; i < 1000; ++i) deep = R"({"a":)" + deep + "}";
  EXPECT_FALSE(has_unique_keys(deep));
}

}  // namespace
}  // namespace fleetadm::apimachinery
