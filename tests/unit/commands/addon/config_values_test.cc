// What the command line makes of an AddOnDeploymentConfig.
#include "commands/addon/config_values.h"

#include <gtest/gtest.h>

namespace fleetadm::commands {
namespace {

Json set_over(Json spec, const ConfigValues& values) {
  EXPECT_TRUE(validate_config_values(values));
  set_config_values(spec, values);
  return spec;
}

TEST(ConfigValues, VariablesAndRegistriesAreReplacedOneByOne) {
  ConfigValues values;
  values.variables = {"A=1", "B=x=y"};
  values.registries = {"quay.io=mirror"};
  Json spec = set_over(Json::object(), values);
  values.variables = {"B=2", "C="};
  values.registries = {"quay.io=other", "ghcr.io=third"};
  spec = set_over(spec, values);
  EXPECT_EQ(spec.at("customizedVariables"),
            Json::parse(R"([{"name":"A","value":"1"},{"name":"B","value":"2"},{"name":"C","value":""}])"));
  EXPECT_EQ(spec.at("registries"),
            Json::parse(R"([{"source":"quay.io","mirror":"other"},{"source":"ghcr.io","mirror":"third"}])"));
}

TEST(ConfigValues, NodePlacementIsReplacedAsAWhole) {
  ConfigValues values;
  values.node_selector = {"disk=ssd", "zone=a"};
  values.tolerations = {"a", "b=c:NoSchedule"};
  Json spec = set_over(Json::object(), values);
  values.node_selector = {"zone=b"};
  values.tolerations = {};
  spec = set_over(spec, values);
  EXPECT_EQ(spec.at("nodePlacement").at("nodeSelector"), Json::parse(R"({"zone":"b"})"));
  EXPECT_EQ(spec.at("nodePlacement").at("tolerations"), Json::parse(R"([{"key":"a","operator":"Exists"},
                            {"key":"b","operator":"Equal","value":"c","effect":"NoSchedule"}])"));
}

TEST(ConfigValues, WrongWordsAreRefused) {
  const auto refused = [](const ConfigValues& values) {
    const Status status = validate_config_values(values);
    return !status && status.error().category == Category::kUsage;
  };
  for (const char* word : {"A", "1A=x", "A-B=x", "=x"}) EXPECT_TRUE(refused({.variables = {word}})) << word;
  EXPECT_TRUE(refused({.variables = {"A=" + std::string(1025, 'x')}}));
  for (const char* word : {"a", "a b=c", "a=b c"}) EXPECT_TRUE(refused({.node_selector = {word}})) << word;
  for (const char* word : {":NoSchedule", "a:Never"}) EXPECT_TRUE(refused({.tolerations = {word}})) << word;
  for (const char* word : {"quay.io", "quay.io="}) EXPECT_TRUE(refused({.registries = {word}})) << word;
  EXPECT_TRUE(refused({.install_namespace = "A"}));
}

TEST(ConfigValues, UnsetTakesVariablesAndFieldsAway) {
  ConfigValues values;
  values.variables = {"A=1", "B=2"};
  values.http_proxy = "http://proxy";
  values.install_namespace = "agents";
  Json spec = set_over(Json::object(), values);
  EXPECT_EQ(told_config(spec).size(), 4U);
  ASSERT_TRUE(unset_config_values(spec, {"A"}, {"proxy"}));
  EXPECT_EQ(told_config(spec),
            (std::vector<std::pair<std::string, std::string>>{{"variable B", "2"}, {"install-namespace", "agents"}}));
  EXPECT_EQ(unset_config_values(spec, {"A"}, {}).error().category, Category::kNotFound);
  ASSERT_TRUE(unset_config_values(spec, {"B"}, config_fields()));
  EXPECT_EQ(spec, Json::object());
}

}  // namespace
}  // namespace fleetadm::commands
