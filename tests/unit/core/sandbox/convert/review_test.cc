// What a conversion webhook is asked, and which of its answers are believed.
#include "core/sandbox/convert/review.h"

#include <functional>
#include <gtest/gtest.h>

namespace fleetadm::sandbox::convert {
namespace {

const Review kReview = {"v1", "u-1", "example.com/v2"};

Json thing(const std::string& name, const std::string& version = "v1") {
  return {{"apiVersion", "example.com/" + version},
          {"kind", "Thing"},
          {"metadata", {{"name", name}, {"namespace", "n"}, {"uid", "id-" + name}, {"labels", {{"a", "b"}}}, {"generation", 3}}},
          {"spec", {{"x", 1}}}};
}

std::string answer_with(const Json& converted) {
  return dump_json({{"apiVersion", "apiextensions.k8s.io/v1"},
                    {"kind", "ConversionReview"},
                    {"response", {{"uid", "u-1"}, {"result", {{"status", "Success"}}}, {"convertedObjects", converted}}}});
}

/// Why an answer about these objects is refused, without the subject; empty where it is not.
std::string refusal(const std::vector<Json>& sent, const std::string& answer, const Review& review = kReview) {
  const auto read = read_review(review, sent, answer);
  if (read) return {};
  const std::string subject = "conversion webhook for example.com/v1, Kind=Thing";
  EXPECT_TRUE(read.error().message.starts_with(subject)) << read.error().message;
  return read.error().message.substr(subject.size());
}

TEST(ConversionReview, AsksForAllObjectsAtOnce) {
  const auto asked = parse_json(review_request(kReview, {thing("a"), thing("b")}));
  ASSERT_TRUE(asked);
  EXPECT_EQ(str(*asked, {"apiVersion"}), "apiextensions.k8s.io/v1");
  EXPECT_EQ(str(*asked, {"request", "uid"}), "u-1");
  EXPECT_EQ(str(*asked, {"request", "desiredAPIVersion"}), "example.com/v2");
  EXPECT_EQ(list_at(*asked, {"request", "objects"}), (Json{thing("a"), thing("b")}));
  EXPECT_EQ(review_version({"v7", "v1beta1", "v1"}), "v1beta1");
  EXPECT_EQ(review_version({"v7"}), "");
}

TEST(ConversionReview, TakesLabelsAndContent) {
  Json other = thing("a", "v2");
  other["spec"] = {{"y", 2}};
  other["metadata"]["labels"] = {{"c", "d"}};
  other["metadata"]["annotations"] = nullptr;
  other["metadata"]["generation"] = 9;
  other["metadata"]["ownerReferences"] = Json::array({{{"name", "mine"}}});
  const auto read = read_review(kReview, {thing("a")}, answer_with(Json::array({other})));
  ASSERT_TRUE(read) << read.error().message;
  Json wanted = thing("a", "v2");
  wanted["spec"] = {{"y", 2}};
  wanted["metadata"]["labels"] = {{"c", "d"}};
  EXPECT_EQ(read->front(), wanted);
}

TEST(ConversionReview, RefusesWhatItWasNotAskedFor) {
  const auto changed = [](const std::function<void(Json&)>& change) {
    Json object = thing("a", "v2");
    change(object);
    return answer_with(Json::array({object}));
  };
  const std::vector<Json> sent = {thing("a")};
  EXPECT_EQ(refusal(sent, changed([](Json&) {})), "");
  EXPECT_EQ(refusal(sent, ""), " failed: 0-length response with status code: 200 and content type: application/json");
  EXPECT_TRUE(refusal(sent, "{").starts_with(" failed: couldn't get version/kind; json parse error: "));
  EXPECT_EQ(refusal(sent, "{}"),
            " failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=");
  EXPECT_EQ(refusal(sent, R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"})"),
            " failed: no response provided");
  EXPECT_EQ(refusal(sent, R"({"kind":"Status","status":"Failure","message":"go away"})"), " failed: go away");
  EXPECT_EQ(refusal(sent, R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"u-1"}})"),
            " failed: response.result.status was '', not 'Success'");
  EXPECT_EQ(refusal(sent, answer_with(Json::array())), " returned 0 objects, expected 1");
  EXPECT_EQ(refusal(sent, answer_with({thing("a", "v2"), thing("a", "v2")})), " returned 2 objects, expected 1");
  EXPECT_EQ(refusal(sent, answer_with(Json::array({7}))), " returned invalid object at index 0: Object 'Kind' is missing in '7'");
  EXPECT_EQ(refusal(sent, changed([](Json& object) { object["kind"] = "Other"; })),
            " returned invalid object at index 0: invalid kind (expected Thing, received Other)");
  EXPECT_EQ(refusal(sent, changed([](Json& object) { object["metadata"]["uid"] = "x"; })),
            " returned invalid object: must have the same UID: id-a != x");
  EXPECT_EQ(refusal(sent, changed([](Json& object) { object["metadata"]["namespace"] = "m"; })),
            " returned invalid object: must have the same namespace: n != m");
  EXPECT_EQ(refusal(sent, changed([](Json& object) { object["metadata"]["labels"] = "none"; })),
            " returned invalid metadata: invalid metadata.labels of type string in converted object");
  EXPECT_TRUE(refusal(sent, changed([](Json& object) {
                        object["metadata"]["labels"] = {{"no way", "x"}};
                      }))
                  .starts_with(" returned invalid metadata: metadata.labels: Invalid value: \"no way\": "));
}

TEST(ConversionReview, NamesTheObjectOfSeveral) {
  EXPECT_EQ(refusal({thing("a"), thing("b")}, answer_with({thing("a", "v2"), thing("c", "v2")})),
            " returned invalid converted object at index 1: must have the same name: b != c");
}

TEST(ConversionReview, TheOlderReviewIsNotAskedForItsUid) {
  const Review older = {"v1beta1", "u-2", "example.com/v2"};
  Json answer = {{"response", {{"result", {{"status", "Success"}}}, {"convertedObjects", Json::array({thing("a", "v2")})}}}};
  EXPECT_EQ(refusal({thing("a")}, dump_json(answer), older), "");
}

}  // namespace
}  // namespace fleetadm::sandbox::convert
