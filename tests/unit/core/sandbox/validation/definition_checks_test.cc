#include "core/sandbox/validation/definition_checks.h"

#include <gtest/gtest.h>

namespace fleetadm::sandbox {
namespace {

Json definition(int versions) {
  Json out = {{"metadata", {{"name", "things.example.com"}}},
              {"spec",
               {{"group", "example.com"},
                {"scope", "Cluster"},
                {"conversion", {{"strategy", "None"}}},
                {"names", {{"plural", "things"}, {"singular", "thing"}, {"kind", "Thing"}, {"listKind", "ThingList"}}},
                {"versions", Json::array()}}}};
  for (int i = 1; i <= versions; ++i) {
    const Json size = {{"type", "integer"}};
    const Json schema = {{"type", "object"}, {"properties", {{"size", size}}}};
    out["spec"]["versions"].push_back(
        {{"name", "v" + std::to_string(i)}, {"served", true}, {"storage", i == 1}, {"schema", {{"openAPIV3Schema", schema}}}});
  }
  return out;
}

std::vector<std::string> fields_of(const Json& crd) {
  std::vector<std::string> out;
  for (const auto& cause : definition_problems(crd)) out.push_back(cause.field);
  return out;
}
using Fields = std::vector<std::string>;

TEST(DefinitionChecks, FindNothingInAGoodOne) {
  EXPECT_EQ(fields_of(definition(1)), Fields());
  EXPECT_EQ(fields_of(definition(2)), Fields());
}

TEST(DefinitionChecks, NameWhatVersionsShareOnce) {
  Json crd = definition(2);
  for (Json& version : crd["spec"]["versions"]) version["schema"]["openAPIV3Schema"].erase("type");
  EXPECT_EQ(fields_of(crd), Fields{"spec.validation.openAPIV3Schema.type"});
  crd = definition(2);
  crd["spec"]["versions"][1]["schema"]["openAPIV3Schema"].erase("type");
  EXPECT_EQ(fields_of(crd), Fields{"spec.versions[1].schema.openAPIV3Schema.type"});
  crd = definition(2);
  crd["spec"]["versions"][1].erase("schema");
  EXPECT_EQ(fields_of(crd), Fields{"spec.versions[1].schema.openAPIV3Schema"});
  crd = definition(2);
  crd["spec"]["versions"][0]["additionalPrinterColumns"] = Json::array({{{"name", "A"}, {"type", "odd"}, {"jsonPath", ".a"}}});
  EXPECT_EQ(fields_of(crd), Fields{"spec.versions[0].additionalPrinterColumns[0].type"});
}

TEST(DefinitionChecks, CountStorageVersions) {
  Json crd = definition(2);
  crd["spec"]["versions"][1]["storage"] = true;
  EXPECT_EQ(fields_of(crd), Fields{"spec.versions"});
  crd["spec"]["versions"] = Json::array();
  EXPECT_EQ(fields_of(crd), Fields{"spec.versions"});
}

TEST(DefinitionChecks, WantApprovalOfKubernetesOwnGroups) {
  const auto approved = [](const char* by) {
    Json crd = definition(1);
    crd["metadata"]["name"] = "things.x.k8s.io";
    crd["spec"]["group"] = "x.k8s.io";
    if (by != nullptr) crd["metadata"]["annotations"]["api-approved.kubernetes.io"] = by;
    return definition_problems(crd);
  };
  EXPECT_TRUE(approved("https://example.com/approval").empty());
  EXPECT_TRUE(approved("unapproved, an experiment").empty());
  ASSERT_EQ(approved(nullptr).size(), 1U);
  EXPECT_EQ(approved(nullptr)[0].reason, "FieldValueRequired");
  ASSERT_EQ(approved("yes").size(), 1U);
  EXPECT_EQ(approved("yes")[0].reason, "FieldValueInvalid");
  EXPECT_EQ(approved("yes")[0].field, "metadata.annotations[api-approved.kubernetes.io]");
}

TEST(DefinitionChecks, FollowSelectableFieldsIntoTheSchema) {
  const auto select = [](const char* path) {
    Json crd = definition(1);
    crd["spec"]["versions"][0]["selectableFields"] = Json::array({{{"jsonPath", path}}});
    return fields_of(crd);
  };
  EXPECT_EQ(select(".size"), Fields());
  for (const char* bad : {"", ".", "size", ".size.", ".size.x", ".other", ".metadata.name", ".size[0]"})
    EXPECT_EQ(select(bad), Fields{"spec.selectableFields[0].jsonPath"}) << bad;
}

}  // namespace
}  // namespace fleetadm::sandbox
