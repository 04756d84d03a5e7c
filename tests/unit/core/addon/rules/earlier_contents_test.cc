// Contents that a configuration once had, kept in the object.
#include "core/addon/rules/earlier_contents.h"

#include <gtest/gtest.h>

#include "core/addon/rules/config_hash.h"

namespace fleetadm::addon {
namespace {

Json config_with(const std::string& value) {
  return {{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
          {"kind", "AddOnDeploymentConfig"},
          {"metadata", {{"name", "a"}, {"namespace", "ns"}}},
          {"spec", {{"agentInstallNamespace", value}}}};
}

/// Edited in place, once for each value.
Json edited(const std::vector<std::string>& values) {
  Json object = config_with(values.front());
  for (const std::string& value : values) {
    const Json before = object;
    set_contents(object, contents_of(config_with(value)));
    keep_contents(object, before);
  }
  return object;
}

TEST(EarlierContents, ComeBackByTheirHash) {
  const Json object = edited({"one", "two", "three"});
  for (const char* value : {"one", "two", "three"}) {
    const auto contents = contents_with(object, config_spec_hash(config_with(value)));
    ASSERT_TRUE(contents) << value;
    EXPECT_EQ(*contents, contents_of(config_with(value)));
  }
  EXPECT_FALSE(contents_with(object, config_spec_hash(config_with("four"))));
}

TEST(EarlierContents, AreNoPartOfTheHash) {
  EXPECT_EQ(config_spec_hash(edited({"one", "two"})), config_spec_hash(config_with("two")));
}

TEST(EarlierContents, ABackwardEditKeepsEachOnce) {
  const Json object = edited({"one", "two", "one", "two"});
  const auto list = parse_json(annotation_of(object, kEarlierAnnotation));
  ASSERT_TRUE(list);
  EXPECT_EQ(list->size(), 1U);
}

TEST(EarlierContents, NumberAndSizeAreBounded) {
  std::vector<std::string> values;
  for (int i = 0; i < 20; ++i) values.push_back("v" + std::to_string(i));
  const auto list = parse_json(annotation_of(edited(values), kEarlierAnnotation));
  ASSERT_TRUE(list);
  EXPECT_EQ(list->size(), kEarlierLimit);
  const Json large = edited({std::string(70 << 10, 'a'), std::string(70 << 10, 'b'), "c"});
  EXPECT_LE(annotation_of(large, kEarlierAnnotation).size(), kEarlierBytes);
}

TEST(EarlierContents, AForgedEntryIsNotBelieved) {
  Json object = config_with("one");
  const std::string hash = config_spec_hash(config_with("two"));
  object["metadata"]["annotations"] = {
      {std::string(kEarlierAnnotation),
       dump_json(Json::array({{{"specHash", hash}, {"contents", {{"spec", {{"agentInstallNamespace", "evil"}}}}}}}))}};
  EXPECT_FALSE(contents_with(object, hash));
}

TEST(EarlierContents, MetadataIsNotAmongThem) {
  Json object = config_with("one");
  set_contents(object, {{"metadata", {{"name", "b"}}}, {"kind", "Secret"}, {"spec", Json::object()}});
  EXPECT_EQ(name_of(object), "a");
  EXPECT_EQ(str(object, {"kind"}), "AddOnDeploymentConfig");
}

}  // namespace
}  // namespace fleetadm::addon
