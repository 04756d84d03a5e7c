// What the conversion webhook answers to an API server.
#include "core/addon/webhook/review.h"

#include <gtest/gtest.h>

#include "kubeclient/base/json.h"

namespace fleetadm::addon {
namespace {

constexpr const char* kStored = "addon.open-cluster-management.io/v1alpha1";
constexpr const char* kServed = "addon.open-cluster-management.io/v1beta1";

Json addon_of(const std::string& cluster, const char* kind = "ManagedClusterAddOn") {
  return {{"apiVersion", kStored},
          {"kind", kind},
          {"metadata", {{"name", "hello"}, {"namespace", cluster}}},
          {"spec", {{"installNamespace", "agents"}}}};
}

Json review_of(Json objects, const std::string& version = "v1", const char* wanted = kServed) {
  return {{"apiVersion", "apiextensions.k8s.io/" + version},
          {"kind", "ConversionReview"},
          {"request", {{"uid", "u-1"}, {"desiredAPIVersion", wanted}, {"objects", std::move(objects)}}}};
}

Json answer_to(const Json& review) {
  const auto text = answer_conversion(dump_json(review));
  EXPECT_TRUE(text) << text.error().message;
  return text ? parse_json(*text).value_or(Json()) : Json();
}

TEST(ConversionReview, ConvertsAllObjectsInTheirOrder) {
  for (const char* version : {"v1", "v1beta1"}) {
    const Json answer = answer_to(review_of(Json::array({addon_of("c1"), addon_of("c2")}), version));
    EXPECT_EQ(str(answer, {"apiVersion"}), "apiextensions.k8s.io/" + std::string(version));
    EXPECT_EQ(str(answer, {"kind"}), "ConversionReview");
    EXPECT_EQ(str(answer, {"response", "uid"}), "u-1");
    EXPECT_EQ(str(answer, {"response", "result", "status"}), "Success");
    const Json& objects = list_at(answer, {"response", "convertedObjects"});
    ASSERT_EQ(objects.size(), 2U);
    EXPECT_EQ(namespace_of(objects[0]), "c1");
    EXPECT_EQ(namespace_of(objects[1]), "c2");
    EXPECT_EQ(str(objects[1], {"apiVersion"}), kServed);
    EXPECT_EQ(annotation_of(objects[1], "addon.open-cluster-management.io/v1alpha1-install-namespace"), "agents");
  }
}

TEST(ConversionReview, NamesTheObjectThatCannotBeConverted) {
  const auto refusal = [](const Json& review) {
    const Json answer = answer_to(review);
    EXPECT_EQ(str(answer, {"response", "uid"}), "u-1");
    EXPECT_EQ(str(answer, {"response", "result", "status"}), "Failure");
    EXPECT_EQ(find(answer, {"response", "convertedObjects"}), nullptr);
    return str(answer, {"response", "result", "message"});
  };
  EXPECT_NE(refusal(review_of(Json::array({addon_of("c1"), addon_of("c2", "Other")}))).find("Other c2/hello"), std::string::npos);
  EXPECT_NE(refusal(review_of(Json::array({addon_of("c1")}), "v1", "addon.open-cluster-management.io/v2")).find("v2"),
            std::string::npos);
  EXPECT_FALSE(refusal(review_of(Json::array({7}))).empty());
}

TEST(ConversionReview, AnswersNothingElse) {
  for (const char* text : {"", "x", "[]", "null", "{}", R"({"kind":"ConversionReview"})"}) {
    const auto answer = answer_conversion(text);
    ASSERT_FALSE(answer) << text;
    EXPECT_EQ(answer.error().category, Category::kInvalid);
  }
  Json without_uid = review_of(Json::array());
  without_uid["request"].erase("uid");
  EXPECT_FALSE(answer_conversion(dump_json(without_uid)));
  EXPECT_FALSE(answer_conversion(dump_json(review_of(Json::array(), "v3"))));
}

}  // namespace
}  // namespace fleetadm::addon
