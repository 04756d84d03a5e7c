#include "templates/templates.h"

#include <gtest/gtest.h>

#include "kubeclient/base/yaml.h"

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

TEST(Templates, UnknownFilesAreADefect) {
  EXPECT_TRUE(text("nothing.yaml").empty());
  EXPECT_EQ(render("nothing.yaml", {}).error().category, Category::kInternal);
  EXPECT_TRUE(list("nothing/").empty());
}

}  // namespace
}  // namespace fleetadm::templates
