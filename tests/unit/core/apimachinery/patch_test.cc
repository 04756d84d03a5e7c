#include "core/apimachinery/patch.h"

#include <gtest/gtest.h>

#include "core/apimachinery/decode.h"
#include "core/apimachinery/defaults.h"
#include "core/apimachinery/depth.h"
#include "tests/unit/core/apimachinery/recorded.h"

namespace fleetadm::apimachinery {
namespace {

Json json(std::string_view text) { return parse_json(text).value(); }

struct PatchCase {
  std::string_view object, patch, result;  // result: JSON, or "422" and friends
};

void expect(const Result<Json>& got, const PatchCase& c) {
  if (c.result.starts_with('{')) {
    ASSERT_TRUE(got) << c.patch << ": " << got.error().message;
    EXPECT_EQ(dump_json(*got), dump_json(json(c.result))) << c.patch;
  } else {
    ASSERT_FALSE(got) << c.patch << ": " << dump_json(*got);
    EXPECT_EQ(std::to_string(got.error().code), c.result) << c.patch << ": " << got.error().message;
  }
}

TEST(JsonPatch, AppliesOperations) {
  for (const PatchCase& c : std::initializer_list<PatchCase>{
           {R"({"a":1})",
            R"([{"op":"add","path":"/b","value":[1]},{"op":"add","path":"/b/-","value":2},{"op":"add","path":"/b/0","value":0}])",
            R"({"a":1,"b":[0,1,2]})"},
           {R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])", "422"},
           {R"({"a":1})", R"([{"op":"test","path":"/x","value":null},{"op":"remove","path":"/a"}])", "{}"},
           {R"({"a":1})", R"([{"op":"remove","path":"/x"}])", "422"},
           {R"({"a":1})", R"([{"op":"replace","path":"/x","value":1}])", R"({"a":1,"x":1})"},
           {R"({"a":[1]})", R"([{"op":"replace","path":"/a/1","value":1}])", "422"},
           {R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/-1"}])", R"({"a":[1]})"},
           {R"({"a":[1,2]})", R"([{"op":"add","path":"/a/3","value":1}])", "422"},
           {R"({"a":{"b~/c":1}})", R"([{"op":"move","from":"/a/b~0~1c","path":"/d"}])", R"({"a":{},"d":1})"},
           {R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/a/c"}])", R"({"a":{"b":1,"c":{"b":1}}})"},
           {R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/c"}])", "422"},
           {R"({"a":1})", R"([{"op":"nope","path":"/a"}])", "422"},
           {R"({"a":1})", R"({"op":"add"})", "400"},
           {R"({"a":1})", R"([1])", "400"},
       }) {
    expect(json_patch(json(c.object), json(c.patch)), c);
  }
}

/// What is compared: the status is the controllers', and the times are the server's.
Json comparable(Json object) {
  for (const char* name : {"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "annotations"})
    object["metadata"].erase(name);
  object["status"] = Json::object();
  return object;
}

// Patches of one Deployment as kube-apiserver 1.35.4 answered them.
TEST(Patches, AnswerAsARealServer) {
  const Json record = recorded("patches");
  const Json& live = object_at(record, {"live"});
  const TypeNode& type = *find_kind("apps/v1", "Deployment");
  ASSERT_GE(list_at(record, {"cases"}).size(), 50U);
  for (const Json& c : list_at(record, {"cases"})) {
    const std::string kind = str(c, {"type"});
    const Json patch = c.value("patch", Json());
    const std::string what = kind + " " + dump_json(patch);
    const auto code = num(c, {"code"});
    auto patched = kind.starts_with("json")    ? json_patch(live, patch)
                   : kind.starts_with("merge") ? merge_patch(live, patch)
                                               : strategic_merge_patch(live, patch, type);
    if (!patched) {
      EXPECT_EQ(patched.error().code, code) << what << ": " << patched.error().message;
      EXPECT_EQ(patched.error().reason, str(c, {"reason"})) << what;
      EXPECT_EQ(patched.error().message.substr(0, 500), str(c, {"message"}).substr(0, 500)) << what;
      continue;
    }
    std::vector<std::string> unknown;
    if (const Status decoded = decode_builtin(*patched, type, unknown); !decoded) {
      EXPECT_EQ(code, 422) << what << ": " << decoded.error().message;
      continue;
    }
    if (name_of(*patched).empty()) {  // not the patch's business any more
      EXPECT_EQ(code, 400) << what;
      continue;
    }
    ASSERT_EQ(code, 200) << what;
    apply_defaults(*patched);
    EXPECT_EQ(Json::diff(comparable(*patched), object_at(c, {"result"})), Json::array()) << what;
  }
}

TEST(JsonPatch, IsBounded) {
  Json operations = Json::array();
  for (std::size_t i = 0; i <= kMaxJsonPatchOperations; ++i)
    operations.push_back({{"op", "test"}, {"path", ""}, {"value", nullptr}});
  EXPECT_EQ(json_patch(Json::object(), operations).error().code, 413);
  Json doubling = Json::array();
  for (int i = 0; i < 60; ++i) doubling.push_back({{"op", "copy"}, {"from", "/a"}, {"path", "/a/" + std::to_string(i)}});
  EXPECT_EQ(json_patch(json(R"({"a":{}})"), doubling).error().code, 422);
  // Few values, and many bytes.
  Json large = Json::array();
  for (int i = 0; i < 2'000; ++i) large.push_back({{"op", "copy"}, {"from", "/a"}, {"path", "/b" + std::to_string(i)}});
  const Json object = {{"a", std::string(1'000'000, 'x')}};
  EXPECT_EQ(json_patch(object, large).error().code, 422);
  large.erase(large.begin() + 10, large.end());
  EXPECT_TRUE(json_patch(object, large));
}

TEST(JsonPatch, NestsNothingDeeperThanWhatIsParsed) {
  // Each copy into its own innermost member doubles the depth.
  Json operations = Json::array();
  std::string innermost = "/a";
  for (int i = 0; i < 10; ++i) {
    operations.push_back({{"op", "copy"}, {"from", "/a"}, {"path", innermost + "/b"}});
    std::string deeper = innermost + "/b";
    for (std::size_t at = 0; (at = innermost.find("/b", at)) != std::string::npos; at += 2) deeper += "/b";
    innermost = deeper;
  }
  EXPECT_EQ(json_patch(json(R"({"a":{}})"), operations).error().code, 422);
  operations.erase(operations.begin() + 6, operations.end());
  EXPECT_TRUE(json_patch(json(R"({"a":{}})"), operations));

  Json deep = 1;
  std::string path;
  for (int i = 0; i < 300; ++i) {
    deep = Json{{"b", std::move(deep)}};
    path += "/b";
  }
  const Json object = {{"a", deep}};
  for (const char* op : {"add", "replace"})
    EXPECT_EQ(json_patch(object, Json::array({{{"op", op}, {"path", "/a" + path}, {"value", deep}}})).error().code, 422) << op;
  EXPECT_EQ(
      json_patch({{"a", deep}, {"c", deep}}, Json::array({{{"op", "move"}, {"from", "/c"}, {"path", "/a" + path}}})).error().code,
      422);
}

TEST(JsonPatch, CarriesOnlySoMuchAbout) {
  Json large = Json::array();
  for (int i = 0; i < 30'000; ++i) large.push_back(i);
  Json operations = Json::array();
  for (int i = 0; i < 1'000; ++i) {
    operations.push_back({{"op", "move"}, {"from", i % 2 == 0 ? "/a" : "/b"}, {"path", i % 2 == 0 ? "/b" : "/a"}});
  }
  EXPECT_EQ(json_patch({{"a", large}}, operations).error().code, 422);
  operations.erase(operations.begin() + 500, operations.end());
  EXPECT_TRUE(json_patch({{"a", large}}, operations));
}

TEST(Depth, IsCountedWithoutManagedFields) {
  const auto nested = [](int levels) {
    Json out = 1;
    for (int i = 0; i < levels; ++i) out = Json::array({std::move(out)});
    return out;
  };
  EXPECT_FALSE(nested_deeper(1, 0));
  EXPECT_FALSE(nested_deeper(nested(3), 3));
  EXPECT_TRUE(nested_deeper(nested(4), 3));
  EXPECT_FALSE(object_too_deep({{"spec", nested(kMaxObjectDepth - 1)}}));
  EXPECT_TRUE(object_too_deep({{"spec", nested(kMaxObjectDepth)}}));
  EXPECT_FALSE(object_too_deep({{"metadata", nested(kMaxObjectDepth + 4)}}));
}

TEST(MergePatch, MergesAndDeletes) {
  for (const PatchCase& c : std::initializer_list<PatchCase>{
           {R"({"a":{"b":1,"c":2},"d":[1]})", R"({"a":{"b":null,"e":{"f":null,"g":1}},"d":[2]})",
            R"({"a":{"c":2,"e":{"g":1}},"d":[2]})"},
           {R"({"a":1})", R"([1])", "400"},
       }) {
    expect(merge_patch(json(c.object), json(c.patch)), c);
  }
}

TEST(StrategicMerge, FollowsTheKindsMarkers) {
  const TypeNode& pod = *find_kind("v1", "Pod");
  const std::string ab = R"({"spec":{"containers":[{"name":"a","image":"x"},{"name":"b","image":"y"}]}})";
  for (
      const PatchCase& c : std::vector<PatchCase>{
          {ab, R"({"spec":{"containers":[{"name":"b","image":"z"}]}})",
           R"({"spec":{"containers":[{"name":"a","image":"x"},{"name":"b","image":"z"}]}})"},
          // New items without an order directive go first, as a real server does.
          {ab, R"({"spec":{"containers":[{"name":"c","image":"z"}]}})",
           R"({"spec":{"containers":[{"name":"c","image":"z"},{"name":"a","image":"x"},{"name":"b","image":"y"}]}})"},
          {ab,
           R"({"spec":{"$setElementOrder/containers":[{"name":"a"},{"name":"c"},{"name":"b"}],"containers":[{"name":"c","image":"z"}]}})",
           R"({"spec":{"containers":[{"name":"a","image":"x"},{"name":"c","image":"z"},{"name":"b","image":"y"}]}})"},
          {ab, R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}]}})",
           R"({"spec":{"containers":[{"name":"b","image":"y"},{"name":"a","image":"x"}]}})"},
          {ab, R"({"spec":{"containers":[{"$patch":"delete","name":"a"}]}})",
           R"({"spec":{"containers":[{"name":"b","image":"y"}]}})"},
          {ab, R"({"spec":{"containers":[{"$patch":"replace"},{"name":"q"}]}})", R"({"spec":{"containers":[{"name":"q"}]}})"},
          {ab, R"({"spec":{"$patch":"replace","nodeName":"n"}})", R"({"spec":{"nodeName":"n"}})"},
          {ab, R"({"spec":{"containers":[{"image":"x"}]}})", "500"},
          {ab, R"({"spec":{"$patch":"foo"}})", "500"},
          {ab, R"({"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"c"}]}})", "500"},
          {R"({"metadata":{"finalizers":["a","b"]}})", R"({"metadata":{"finalizers":["c"]}})",
           R"({"metadata":{"finalizers":["c","a","b"]}})"},
          {R"({"metadata":{"finalizers":["a","b"]}})", R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}})",
           R"({"metadata":{"finalizers":["b"]}})"},
          {R"({"metadata":{"labels":{"a":"1","b":"2"}}})",
           R"({"metadata":{"labels":{"a":null,"c":"3"},"annotations":{"x":null}}})",
           R"({"metadata":{"labels":{"b":"2","c":"3"}}})"},
          {R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}]}})",
           R"({"spec":{"volumes":[{"$retainKeys":["name","hostPath"],"name":"v","hostPath":{"path":"/x"}}]}})",
           R"({"spec":{"volumes":[{"name":"v","hostPath":{"path":"/x"}}]}})"},
          {R"({"spec":{"tolerations":[{"key":"a"}]}})", R"({"spec":{"tolerations":[{"key":"b"}]}})",
           R"({"spec":{"tolerations":[{"key":"b"}]}})"},
          {R"({"a":1})", R"([])", "400"},
      }) {
    if (c.result == R"({"metadata":{"labels":{"b":"2","c":"3"}}})") {
      // An absent map is added, without its nulls.
      const auto got = strategic_merge_patch(json(c.object), json(c.patch), pod);
      ASSERT_TRUE(got);
      EXPECT_EQ(dump_json(*got), R"({"metadata":{"annotations":{},"labels":{"b":"2","c":"3"}}})");
      continue;
    }
    expect(strategic_merge_patch(json(c.object), json(c.patch), pod), c);
  }
}

}  // namespace
}  // namespace fleetadm::apimachinery
