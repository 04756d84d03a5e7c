// The types that init and join install are structurally those of upstream: same fields, types, defaults, validation, list-map
// keys, printer columns and short names (texts for people apart). Compared with the recorded structures.
#include <gtest/gtest.h>

#include "templates/templates.h"
#include "tests/support/vectors.h"

namespace fleetadm::templates {
namespace {

void drop_descriptions(Json& node) {
  if (node.is_object()) {
    // A property may itself be called "description": only a text is one.
    for (const char* text : {"description", "deprecationWarning"}) {
      if (const auto found = node.find(text); found != node.end() && found->is_string()) node.erase(found);
    }
  }
  if (node.is_structured()) {
    for (auto& child : node) drop_descriptions(child);
  }
}

std::vector<std::string_view> all_crds() {
  auto names = list("crds/hub/");
  for (const char* folder : {"crds/spoke/", "crds/addons/", "crds/profiles/"}) {
    const auto more = list(folder);
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

class Crds : public ::testing::TestWithParam<std::string_view> {};

// The recording leaves the conversion out: its webhook is a service of upstream's.
TEST_P(Crds, IsStructurallyUpstreams) {
  const auto rendered = render(GetParam(), {});
  ASSERT_TRUE(rendered) << rendered.error().message;
  ASSERT_EQ(rendered->size(), 1U);
  Json ours = rendered->front();
  drop_descriptions(ours);
  erase_at(ours, {"spec", "conversion"});
  Json theirs;
  const Status read = test::for_each_vector("crds.jsonl.gz", [&](const Json& line) {
    if (name_of(line) == name_of(ours)) theirs = line;
  });
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(theirs.is_object()) << "no recorded structure of " << name_of(ours);
  EXPECT_EQ(ours, theirs) << dump_json(Json::diff(theirs, ours));
}

// Two versions with different members are converted by the hub; equal ones by their apiVersion alone.
TEST(CrdConversion, IsTheHubsWhereTheVersionsDiffer) {
  int converted = 0;
  for (const std::string_view file : all_crds()) {
    const auto crd = render(file, {})->front();
    const Json& versions = list_at(crd, {"spec", "versions"});
    bool differ = false;
    for (const Json& version : versions) {
      Json shape = object_at(version, {"schema"});
      Json first = object_at(versions.front(), {"schema"});
      drop_descriptions(shape);
      drop_descriptions(first);
      differ = differ || shape != first;
    }
    EXPECT_EQ(str(crd, {"spec", "conversion", "strategy"}, "None"), differ ? "Webhook" : "None") << file;
    if (!differ) continue;
    ++converted;
    const Json& service = object_at(crd, {"spec", "conversion", "webhook", "clientConfig", "service"});
    EXPECT_EQ(str(service, {"namespace"}), "open-cluster-management-hub");
    EXPECT_EQ(str(service, {"path"}), "/convert");
  }
  EXPECT_EQ(converted, 2);
}

std::string test_name(const ::testing::TestParamInfo<std::string_view>& info) {
  std::string name;
  for (const char c : info.param) name += (c >= 'a' && c <= 'z') ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Crds, ::testing::ValuesIn(all_crds()), test_name);

TEST(Templates, EveryFileIsYamlWithNamedObjects) {
  const std::map<std::string, Json> values{{"image", "fleetadm:test"},
                                           {"replicas", 1},
                                           {"gateway_replicas", 1},
                                           {"args", Json::array({"x"})},
                                           {"gateway_args", Json::array({"x"})},
                                           {"secrets", Json::array({"bootstrap"})},
                                           {"hub_secret", "hub"},
                                           {"namespace", "agents"},
                                           {"cluster", "c1"},
                                           {"hub", "x"},
                                           {"user", "x"},
                                           {"proxy_namespace", "proxy"},
                                           {"proxy_secrets", Json::array({"x"})}};
  ASSERT_FALSE(list("").empty());
  for (const auto path : list("")) {
    const auto rendered = render(path, values);
    ASSERT_TRUE(rendered) << path << ": " << rendered.error().message;
    for (const Json& object : *rendered) {
      EXPECT_FALSE(str(object, {"apiVersion"}).empty()) << path;
      EXPECT_FALSE(str(object, {"kind"}).empty()) << path;
      EXPECT_FALSE(name_of(object).empty()) << path;
    }
  }
}

TEST(Templates, ValuesReplaceTextAfterParsing) {
  const std::map<std::string, Json> values{{"image", "x\"\nkind: Evil"}, {"args", Json::array({"a: b", "- c"})}};
  const auto rendered = render("agent/deployment.yaml", values);
  ASSERT_TRUE(rendered) << rendered.error().message;
  const Json& container = list_at(rendered->front(), {"spec", "template", "spec", "containers"}).front();
  EXPECT_EQ(str(container, {"image"}), "x\"\nkind: Evil");
  EXPECT_EQ(list_at(container, {"args"}), Json::array({"a: b", "- c"}));
  EXPECT_EQ(str(rendered->front(), {"kind"}), "Deployment");
}

TEST(Templates, UnknownNamesAndFilesAreErrors) {
  EXPECT_FALSE(render("agent/deployment.yaml", {}));
  EXPECT_FALSE(render("no/such.yaml", {}));
  EXPECT_TRUE(text("no/such.yaml").empty());
}

}  // namespace
}  // namespace fleetadm::templates
