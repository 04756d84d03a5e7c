// Writes whose preconditions are the fields that they change.
#include "kubeclient/rest/modify.h"

#include <gtest/gtest.h>

#include "tests/support/fake_api.h"

namespace fleetadm::kube {
namespace {

using testkit::FakeApi;

const Resource kWidgets{"example.com", "v1", "widgets", "Widget", false};

class ModifyTest : public testing::Test {
 protected:
  Json stored(Json spec, Json status = Json::object()) {
    api->put(kWidgets, Json{{"metadata", {{"name", "w"}}}, {"spec", std::move(spec)}, {"status", std::move(status)}});
    return *api->get(kWidgets, "", "w");
  }
  /// Somebody else's write.
  void write(const std::function<void(Json&)>& change) {
    Json object = *api->get(kWidgets, "", "w");
    change(object);
    api->put(kWidgets, object);
  }
  std::shared_ptr<FakeApi> api = FakeApi::make();
  Client client = api->client();
};

TEST_F(ModifyTest, FieldsSetAddedAndRemovedBesideOthers) {
  const Json known = stored({{"a", 1}, {"gone", "x"}, {"list", {1, 2}}, {"deep", {{"k/1", "v"}, {"k~2", "v"}}}});
  write([](Json& object) { object["spec"]["other"] = "theirs"; });
  Json wanted = known;
  wanted["spec"]["a"] = 2;
  wanted["spec"].erase("gone");
  wanted["spec"]["list"] = {2};
  wanted["spec"]["new"] = {{"x", 1}};
  wanted["spec"]["deep"]["k/1"] = "w";
  wanted["spec"]["deep"].erase("k~2");
  const auto patched = patch_fields(client, kWidgets, known, wanted);
  ASSERT_TRUE(patched) << patched.error().message;
  Json expected = wanted["spec"];
  expected["other"] = "theirs";
  EXPECT_EQ((*patched)["spec"], expected);
  EXPECT_EQ(api->write_count(), 1);
}

TEST_F(ModifyTest, AFieldThatWasChangedRemovedOrAddedMeanwhileIsAConflict) {
  const std::vector<std::function<void(Json&)>> theirs{
      [](Json& object) {
        object["spec"]["list"] = {1, 3};
      },
      [](Json& object) { object["spec"].erase("list"); },
      [](Json& object) { object["spec"]["new"] = 1; },
      [](Json& object) { object["metadata"]["uid"] = "another"; },
  };
  for (const auto& change : theirs) {
    const Json known = stored({{"list", {1, 2}}});
    write(change);
    const Json before = *api->get(kWidgets, "", "w");
    Json wanted = known;
    wanted["spec"]["list"] = {2};
    wanted["spec"]["new"] = 2;
    const auto patched = patch_fields(client, kWidgets, known, wanted);
    ASSERT_FALSE(patched);
    EXPECT_EQ(patched.error().category, Category::kConflict);
    EXPECT_EQ(patched.error().reason, "Conflict");
    EXPECT_EQ((*api->get(kWidgets, "", "w"))["spec"], before["spec"]);
  }
}

TEST_F(ModifyTest, NoDifferenceIsNoRequest) {
  const Json known = stored({{"a", 1}});
  EXPECT_TRUE(patch_fields(client, kWidgets, known, known));
  Json elsewhere = known;
  elsewhere["spec"]["a"] = 2;
  EXPECT_TRUE(patch_fields(client, kWidgets, known, elsewhere, "status"));
  EXPECT_EQ(api->write_count(), 0);
}

TEST_F(ModifyTest, AServerThatWritesAValueDifferentlyIsAskedWithTheVersion) {
  const Json known = stored({{"a", 1}});
  Json misread = known;
  misread["spec"]["a"] = "1";
  Json wanted = misread;
  wanted["spec"]["a"] = "2";
  const auto patched = patch_fields(client, kWidgets, misread, wanted);
  ASSERT_TRUE(patched) << patched.error().message;
  EXPECT_EQ(str(*patched, {"spec", "a"}), "2");
  EXPECT_EQ(api->write_count(), 2);
}

TEST_F(ModifyTest, AChangeOfTheSameFieldIsDecidedAnew) {
  const Json known = stored({}, {{"conditions", {"a"}}});
  write([](Json& object) { object["status"]["conditions"] = {"a", "theirs"}; });
  const auto change = [](Json& object) -> Status {
    object["status"]["conditions"].push_back("ours");
    return {};
  };
  const auto modified = modify_fields(client, kWidgets, known, change, "status");
  ASSERT_TRUE(modified) << modified.error().message;
  EXPECT_EQ((*modified)["status"]["conditions"], Json({"a", "theirs", "ours"}));
}

}  // namespace
}  // namespace fleetadm::kube
