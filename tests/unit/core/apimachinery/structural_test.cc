#include "core/apimachinery/structural.h"

#include <gtest/gtest.h>
#include <set>

#include "core/apimachinery/decode.h"
#include "core/apimachinery/defaults.h"
#include "tests/unit/core/apimachinery/recorded.h"

namespace fleetadm::apimachinery {
namespace {

std::set<std::string> lines(const Json& causes) {
  std::set<std::string> found;
  for (const Json& cause : causes)
    found.insert(str(cause, {"field"}) + " " + str(cause, {"reason"}) + " " + str(cause, {"message"}));
  return found;
}

// What kube-apiserver 1.35.4 answered to the same objects (recorded).
TEST(Structural, AnswersAsARealServer) {
  const Json record = recorded("structural");
  const auto schema = Structural::compile(object_at(record, {"schema"}), "schema");
  ASSERT_TRUE(schema) << dump_json(to_json(schema.error()));
  ASSERT_GT(list_at(record, {"cases"}).size(), 40U);
  for (const Json& c : list_at(record, {"cases"})) {
    Json object = {{"apiVersion", "rec.example.com/v1"},
                   {"kind", "Thing"},
                   {"metadata", {{"name", "x"}}},
                   {"spec", c.value("spec", Json())}};
    const std::string text = dump_json(object["spec"]);
    std::vector<std::string> unknown;
    const Status pruned = (*schema)->prune(object, unknown);
    if (c.contains("warn_message")) {
      ASSERT_FALSE(pruned) << text;
      EXPECT_NE(str(c, {"warn_message"}).find(pruned.error().message), std::string::npos) << pruned.error().message;
      continue;
    }
    ASSERT_TRUE(pruned) << text << ": " << pruned.error().message;
    if (num(c, {"code"}) == 400) {
      EXPECT_EQ(strict_message("Thing", "v1", field_complaints(unknown, {})), str(c, {"message"})) << text;
    } else {
      EXPECT_TRUE(unknown.empty()) << text;
    }
    (*schema)->default_values(object);
    const Causes causes = (*schema)->validate(object, nullptr);
    if (c.contains("result")) {
      EXPECT_TRUE(causes.empty()) << text << dump_json(to_json(causes));
      const Json* spec = find(object, {"spec"});
      EXPECT_EQ(dump_json(spec == nullptr ? Json() : *spec), dump_json(c.value("result", Json()))) << text;
    } else {
      EXPECT_EQ(lines(to_json(causes)), lines(list_at(c, {"causes"}))) << text;
    }
  }
}

TEST(Structural, TransitionRulesNeedAnOldValueThatCorrelates) {
  const Json record = recorded("structural");
  const auto schema = Structural::compile(object_at(record, {"schema"}), "schema").value();
  const auto thing = [](std::string_view spec) {
    return Json({{"metadata", {{"name", "x"}}}, {"spec", parse_json(spec).value()}});
  };
  const Json old = thing(R"({"name":"ab","cel":{"im":"a","opt":"a"}})");
  const auto causes = [&](std::string_view spec) { return schema->validate(thing(spec), &old); };
  EXPECT_EQ(causes(R"({"name":"ab","cel":{"im":"b","opt":"a"}})"),
            (Causes{{"FieldValueInvalid", "Invalid value: \"b\": immutable", "spec.cel.im"}}));
  EXPECT_EQ(causes(R"({"name":"ab","cel":{"im":"a","opt":"b"}})"),
            (Causes{{"FieldValueInvalid", "Invalid value: \"b\": opt", "spec.cel.opt"}}));
  EXPECT_TRUE(causes(R"({"name":"ab"})").empty());
}

TEST(Structural, UnchangedInvalidValuesAreTolerated) {
  const Json record = recorded("structural");
  const auto schema = Structural::compile(object_at(record, {"schema"}), "schema").value();
  const Json old = {{"spec", {{"name", "ab"}, {"size", 0}}}};
  const Json updated = {{"spec", {{"name", "abc"}, {"size", 0}}}};
  EXPECT_TRUE(schema->validate(updated, &old).empty());
  EXPECT_EQ(schema->validate(updated, nullptr).size(), 1U);
}

TEST(Structural, RefusesTheSchemasThatARealServerRefuses) {
  for (const Json& c : recorded("refused-schemas")) {
    const Causes causes = structural_violations(c.value("schema", Json()), "spec.validation.openAPIV3Schema");
    const std::string text = dump_json(c.value("schema", Json()));
    if (num(c, {"code"}) == 201) {
      EXPECT_TRUE(causes.empty()) << text << dump_json(to_json(causes));
      continue;
    }
    const Json& wanted = list_at(c, {"causes"});
    // The static estimate of a rule's cost is not made.
    if (str(wanted.front(), {"message"}).find("estimated rule cost") != std::string::npos) continue;
    ASSERT_FALSE(causes.empty()) << text;
    std::set<std::string> fields;
    for (const Cause& cause : causes) fields.insert(cause.field + " " + cause.reason);
    // A cause at the root is the definition's own (what it allows beside a status subresource): not the schema's.
    const auto at = std::find_if(wanted.begin(), wanted.end(),
                                 [](const Json& cause) { return str(cause, {"field"}) != "spec.validation.openAPIV3Schema"; });
    ASSERT_NE(at, wanted.end()) << text;
    EXPECT_TRUE(fields.contains(str(*at, {"field"}) + " " + str(*at, {"reason"})))
        << text << dump_json(to_json(causes)) << " wanted " << str(wanted.front(), {"field"}) << " "
        << str(wanted.front(), {"message"});
  }
}

// Bodies with fieldValidation=Strict, and what kube-apiserver 1.35.4 made of them.
TEST(Decode, AnswersAsARealServer) {
  for (const Json& c : recorded("decode")) {
    const std::string body = str(c, {"body"});
    auto object = parse_json(body);
    ASSERT_TRUE(object) << body;
    const std::string kind = str(*object, {"kind"});
    std::vector<std::string> unknown;
    const Status decoded = decode_builtin(*object, *find_kind(str(*object, {"apiVersion"}), kind), unknown);
    const auto complaints = complaints_in_order(body, unknown);
    std::string message;
    if (!decoded) {
      message = kind + " in version \"v1\" cannot be handled as a " + kind + ": " + decoded.error().message;
    } else if (!complaints.empty()) {
      message = strict_message(kind, "v1", complaints);
    }
    EXPECT_EQ(message, str(c, {"message"})) << body;
    if (num(c, {"code"}) != 201 || !message.empty()) continue;
    apply_defaults(*object);
    EXPECT_EQ(Json::diff(*object, object_at(c, {"result"})), Json::array()) << body;
  }
}

TEST(Decode, UnknownAndDuplicateFieldsHavePaths) {
  const std::string text =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","name":"b","foo":1},"data":{"x":"1","x":"2"},"q":[{"a":1,"a":2}]})";
  Json object = parse_json(text).value();
  std::vector<std::string> unknown;
  ASSERT_TRUE(decode_builtin(object, *find_kind("v1", "ConfigMap"), unknown));
  EXPECT_EQ(unknown, (std::vector<std::string>{"metadata.foo", "q"}));
  EXPECT_EQ(duplicate_fields(text), (std::vector<std::string>{"metadata.name", "data.x", "q[0].a"}));
  EXPECT_EQ(strict_message("ConfigMap", "v1", field_complaints({"q"}, {"data.x"})),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: duplicate field \"data.x\", "
            "unknown field \"q\"");
}

TEST(Decode, WrongTypesAreTheDecodersErrors) {
  const auto error = [](std::string_view text) {
    Json object = parse_json(text).value();
    std::vector<std::string> unknown;
    const Status status = decode_builtin(object, *find_kind("apps/v1", "Deployment"), unknown);
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(error(R"({"spec":{"replicas":"x"}})"),
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32");
  EXPECT_EQ(error(R"({"spec":{"replicas":3000000000}})").find("json: cannot unmarshal number 3000000000"), 0U);
  EXPECT_EQ(error(R"({"metadata":{"labels":{"a":1}}})"),
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string");
  EXPECT_NE(error(R"({"spec":{"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}}})")
                .find("quantities must match"),
            std::string::npos);
}

}  // namespace
}  // namespace fleetadm::apimachinery
