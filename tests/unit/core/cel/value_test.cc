#include "core/cel/value.h"

#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <utility>

#include "tests/unit/core/cel/typed.h"

namespace fleetadm::cel::test {
namespace {

bool same(const Value& a, const Value& b) {
  Work work(1000);
  return equal(a, b, work);
}

class Point final : public OpaqueOf<Point> {
 public:
  explicit Point(int x) : x_(x) {}
  Type type() const override { return Type::opaque("test.Point"); }
  bool equals(const Opaque& other) const override {
    const auto* point = other.as<Point>();
    return point != nullptr && point->x_ == x_;
  }
  std::uint64_t size() const override { return 7; }

 private:
  int x_;
};

TEST(CelValue, ViewsJsonWithoutCopying) {
  const Json json = *parse_json(R"({"a":[1,"x",1.5,null,true],"big":9223372036854775807,"beyond":9223372036854775808})");
  const Value value = Value::view(json);
  const auto list = value.find("a");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->size(), 5U);
  EXPECT_EQ(list->at(1).text().data(), json["a"][1].get_ref<const std::string&>().data());
  EXPECT_TRUE(value.find("big")->is(Kind::kInt));
  EXPECT_TRUE(value.find("beyond")->is(Kind::kDouble));
  EXPECT_FALSE(value.find("absent"));
  EXPECT_FALSE(value.find(Value::integer(1)));
  EXPECT_TRUE(list->at(9).is_error());
}

TEST(CelValue, CopiesBorrowNothing) {
  Value copy;
  {
    const Json json = *parse_json(R"({"a":{"b":["text"]}})");
    copy = Value::copy_of(json);
  }
  EXPECT_EQ(copy.find("a")->find("b")->at(0).text(), "text");
}

TEST(CelValue, SurvivesAssignmentOfItsOwnParts) {
  Value value = Value::list({Value::list({Value::string("deep")})});
  value = value.at(0);
  value = value.at(0);
  EXPECT_EQ(value.text(), "deep");
  Value& alias = value;
  value = alias;
  value = std::move(alias);
  EXPECT_EQ(value.text(), "deep");
}

TEST(CelValue, FindsNumericKeysAcrossTypes) {
  const Value map = Value::map({{Value::integer(1), Value::string("int")},
                                {Value::unsigned_integer(2), Value::string("uint")},
                                {Value::real(2.5), Value::string("double")},
                                {Value::boolean(true), Value::string("bool")}});
  EXPECT_EQ(map.find(Value::unsigned_integer(1))->text(), "int");
  EXPECT_EQ(map.find(Value::real(1.0))->text(), "int");
  EXPECT_EQ(map.find(Value::integer(2))->text(), "uint");
  EXPECT_EQ(map.find(Value::real(2.5))->text(), "double");
  EXPECT_EQ(map.find(Value::boolean(true))->text(), "bool");
  EXPECT_FALSE(map.find(Value::integer(-1)));
  EXPECT_FALSE(map.find(Value::real(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_FALSE(map.find(Value::list({})));
}

TEST(CelValue, KeepsTheLastOfEqualKeys) {
  const Value map = Value::map({{Value::string("a"), Value::integer(1)},
                                {Value::string("b"), Value::integer(2)},
                                {Value::string("a"), Value::integer(3)}});
  EXPECT_EQ(map.size(), 2U);
  EXPECT_EQ(map.find("a")->as_int(), 3);
  EXPECT_EQ(map.find("b")->as_int(), 2);
}

TEST(CelValue, EqualsAcrossNumbersAndByContent) {
  EXPECT_TRUE(same(Value::integer(1), Value::real(1.0)));
  EXPECT_TRUE(same(Value::unsigned_integer(1), Value::integer(1)));
  EXPECT_FALSE(same(Value::integer(-1), Value::unsigned_integer(std::numeric_limits<std::uint64_t>::max())));
  const Value nan = Value::real(std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(same(nan, nan));
  EXPECT_FALSE(same(Value::string("a"), Value::bytes("a")));
  EXPECT_TRUE(same(Value::optional_of(Value::integer(1)), Value::optional_of(Value::real(1))));
  EXPECT_FALSE(same(Value::optional_none(), Value::null()));
  EXPECT_TRUE(same(Value::opaque(std::make_unique<Point>(1)), Value::opaque(std::make_unique<Point>(1))));
  EXPECT_FALSE(same(Value::opaque(std::make_unique<Point>(1)), Value::opaque(std::make_unique<Point>(2))));
  EXPECT_EQ(cost_size(Value::opaque(std::make_unique<Point>(1))), 7U);
  const Json json = *parse_json(R"({"k":[1,{"x":"y"}]})");
  EXPECT_TRUE(same(Value::view(json), Value::copy_of(json)));
}

TEST(CelValue, JoinsListsInConstantTime) {
  Value list = Value::list({Value::integer(1), Value::integer(2)});
  for (int i = 0; i < 18; ++i) list = concat(list, list);
  EXPECT_EQ(list.size(), std::size_t{1} << 19U);
  EXPECT_EQ(list.at(262'143).as_int(), 2);
  EXPECT_TRUE(concat(concat(list, list), list).is_error());
  Work little(1000);
  EXPECT_FALSE(equal(list, list, little));
  EXPECT_TRUE(little.exhausted());
  EXPECT_TRUE(concat(list, Value::integer(1)).is_error());
}

TEST(CelValue, RefusesWhatIsTooLarge) {
  EXPECT_TRUE(Value::string(std::string(kMaxStringBytes + 1, 'a')).is_error());
  EXPECT_TRUE(Value::list(std::vector<Value>(kMaxListSize + 1)).is_error());
  const Value part = Value::list(std::vector<Value>(1000, Value::integer(1)));
  EXPECT_FALSE(to_json(Value::list(std::vector<Value>(10, part)), 5000));
  EXPECT_TRUE(to_json(Value::list(std::vector<Value>(4, part)), 5000));
  EXPECT_LT(display(Value::list(std::vector<Value>(1000, part)), 100).size(), 200U);
}

TEST(CelValue, WritesJson) {
  const Value value = Value::map({{Value::string("bytes"), Value::bytes("\x01\x02")},
                                  {Value::string("time"), Value::timestamp(0, 500'000'000, 120)},
                                  {Value::string("span"), Value::duration(1'500'000'000)},
                                  {Value::string("none"), Value::optional_none()},
                                  {Value::integer(7), Value::type(Type::integer())}});
  const auto json = to_json(value);
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(dump_json(*json), R"({"7":"int","bytes":"AQI=","none":null,"span":"1.5s","time":"1970-01-01T02:00:00.5+02:00"})");
  EXPECT_FALSE(to_json(Value::error("no")));
}

}  // namespace
}  // namespace fleetadm::cel::test
