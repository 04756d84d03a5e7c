#include "templates/templates.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>

#include "kubeclient/base/yaml.h"
#include "tests/support/source_folder.h"

namespace fleetadm::templates {
namespace {

TEST(Templates, EveryEmbeddedFileParsesAndHoldsObjects) {
  const auto names = list("");
  ASSERT_FALSE(names.empty());
  for (const auto name : names) {
    const auto documents = parse_yaml_documents(text(name));
    ASSERT_TRUE(documents) << name << ": " << documents.error().message;
    EXPECT_FALSE(documents->empty()) << name;
    for (const auto& document : *documents) {
      EXPECT_FALSE(str(document.value, {"apiVersion"}).empty()) << name << ":" << document.line;
      EXPECT_FALSE(str(document.value, {"kind"}).empty()) << name << ":" << document.line;
    }
  }
}

TEST(Templates, EveryTextIsThatOfItsFile) {
  auto names = list("");
  names.push_back("sandbox/types.facts");
  for (const auto name : names) {
    std::ifstream in(testkit::source_folder() + "/templates/" + std::string(name), std::ios::binary);
    ASSERT_TRUE(in) << name;
    EXPECT_EQ(text(name), std::string(std::istreambuf_iterator<char>(in), {})) << name;
    EXPECT_EQ(text(name).data(), text(name).data()) << name;  // kept: views of it stay valid
  }
  EXPECT_EQ(api_types().data(), text("sandbox/types.facts").data());
}

TEST(Templates, CrdsAreNamedByPluralAndGroup) {
  const auto names = list("crds/");
  ASSERT_GE(names.size(), 10U);
  for (const auto name : names) {
    const auto objects = render(name, {});
    ASSERT_TRUE(objects) << name << ": " << objects.error().message;
    for (const Json& object : *objects) {
      EXPECT_EQ(name_of(object), str(object, {"spec", "names", "plural"}) + "." + str(object, {"spec", "group"})) << name;
    }
  }
}

// Whoever holds the bootstrap token can act as this role: each cluster that joins does.
TEST(Templates, TheBootstrapRoleReadsAndJoinsNoMoreThanAFirstContactNeeds) {
  const auto objects = render("hub/bootstrap.yaml", {});
  ASSERT_TRUE(objects) << objects.error().message;
  std::map<std::string, Json> rules;
  for (const Json& object : *objects) {
    for (const Json& rule : list_at(object, {"rules"})) {
      for (const std::string& resource : string_list_at(rule, {"resources"})) rules[resource] = rule;
    }
  }
  EXPECT_EQ(string_list_at(rules["configmaps"], {"resourceNames"}),
            (std::vector<std::string>{"cluster-info", "kube-root-ca.crt"}));
  EXPECT_EQ(string_list_at(rules["configmaps"], {"verbs"}), std::vector<std::string>{"get"});
  EXPECT_EQ(string_list_at(rules["managedclustersets/join"], {"resourceNames"}), std::vector<std::string>{"default"});
  for (const auto& [resource, rule] : rules) {
    for (const std::string& verb : string_list_at(rule, {"verbs"})) {
      EXPECT_TRUE(verb == "get" || verb == "list" || verb == "watch" || verb == "create") << verb << " " << resource;
    }
  }
  EXPECT_EQ(rules.size(), 4U);
}

TEST(Templates, UnknownFilesAreADefect) {
  EXPECT_TRUE(text("nothing.yaml").empty());
  EXPECT_EQ(render("nothing.yaml", {}).error().category, Category::kInternal);
  EXPECT_TRUE(list("nothing/").empty());
}

}  // namespace
}  // namespace fleetadm::templates
