// What kube-apiserver 1.35.4 says of rules when their definition is created: of their types, and of what they may cost.
#include <gtest/gtest.h>

#include "core/apimachinery/structural.h"
#include "tests/unit/core/apimachinery/recorded.h"

namespace fleetadm::apimachinery {
namespace {

constexpr const char* kField = "spec.validation.openAPIV3Schema";

Json schema_with(const Json& properties, const std::string& rule, const std::string& at) {
  Json spec = {{"type", "object"}, {"properties", properties}, {"x-kubernetes-validations", Json::array({{{"rule", rule}}})}};
  if (at != "spec") {
    Json list = {{"type", "array"}, {"items", spec}};
    if (at == "nested10") list["maxItems"] = 10;
    spec = {{"type", "object"}, {"properties", {{"in", list}}}};
  }
  return {{"type", "object"}, {"properties", {{"spec", spec}}}};
}

std::vector<std::string> refusals(const Json& schema) {
  std::vector<std::string> out;
  for (const Cause& cause : structural_violations(schema, kField)) {
    out.push_back(cause.field + ": " + cause.message.substr(0, cause.message.find('\n')));
  }
  return out;
}

TEST(RuleCosts, AreThoseOfARealServer) {
  const Json record = recorded("rule-costs");
  ASSERT_GE(list_at(record, {"cases"}).size(), 99U);
  for (const Json& one : list_at(record, {"cases"})) {
    const std::string rule = str(one, {"rule"});
    const std::string at = str(one, {"at"});
    EXPECT_EQ(refusals(schema_with(object_at(record, {"properties"}), rule, at)), string_list_at(one, {"causes"}))
        << rule << " at " << at;
  }
}

std::string refusal(const Json& spec, const std::string& rule) {
  const auto all = refusals(
      {{"type", "object"},
       {"properties",
        {{"spec", {{"type", "object"}, {"properties", spec}, {"x-kubernetes-validations", Json::array({{{"rule", rule}}})}}}}}});
  if (all.empty()) return {};
  const auto error = all.front().find("ERROR: <input>:");
  return error == std::string::npos ? all.front().substr(all.front().rfind(": ") + 2) : all.front().substr(error + 15);
}

TEST(RuleTypes, NameWhatTheSchemaDeclares) {
  const Json text = {{"type", "string"}};
  const Json spec = {
      {"num", {{"type", "integer"}}},
      {"nullable", {{"type", "integer"}, {"nullable", true}}},
      {"either", {{"x-kubernetes-int-or-string", true}}},
      {"untyped", {{"x-kubernetes-preserve-unknown-fields", true}}},
      {"open", {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}},
      {"embedded",
       {{"type", "object"}, {"x-kubernetes-embedded-resource", true}, {"x-kubernetes-preserve-unknown-fields", true}}},
      {"day", {{"type", "string"}, {"format", "date"}}},
      {"bytes", {{"type", "string"}, {"format", "byte"}, {"maxLength", 10}}},
      {"few", {{"type", "array"}, {"maxItems", 5}, {"items", {{"type", "object"}, {"properties", {{"x", text}}}}}}},
      {"a-b", text},
      {"a b", text}};
  for (const char* rule : {"self.either == 5", "self.day > timestamp('2020-01-01T00:00:00Z')", "self.bytes == b'a'",
                           "self.a__dash__b == ''", "self.embedded.kind == 'a'", "self.embedded.metadata.name == 'a'",
                           "has(self.nullable) && self.nullable > 1", "self.few.all(z, z.x == 'a')"}) {
    EXPECT_EQ(refusal(spec, rule), "") << rule;
  }
  EXPECT_EQ(refusal(spec, "self.nope > 1"), "1:5: undefined field 'nope'");
  EXPECT_EQ(refusal(spec, "has(self.nope)"), "1:4: undefined field 'nope'");
  EXPECT_EQ(refusal(spec, "self.?nope.hasValue()"), "1:5: undefined field 'nope'");
  EXPECT_EQ(refusal(spec, "oldSelf.nope == 1"), "1:8: undefined field 'nope'");
  EXPECT_EQ(refusal(spec, "self.untyped.x == 1"), "1:5: undefined field 'untyped'");
  EXPECT_EQ(refusal(spec, "self.open.x == 1"), "1:10: undefined field 'x'");
  EXPECT_EQ(refusal(spec, "self.embedded.metadata.labels.x == 'a'"), "1:23: undefined field 'labels'");
  EXPECT_EQ(refusal(spec, "self.few.map(z, z.nope).size() == 0"), "1:18: undefined field 'nope'");
  EXPECT_EQ(refusal(spec, "self.num == 'a'"), "1:10: found no matching overload for '_==_' applied to '(int, string)'");
  EXPECT_EQ(refusal(spec, "self.nullable == null"), "1:15: found no matching overload for '_==_' applied to '(int, null)'");
  EXPECT_EQ(refusal(spec, "self.num"), "cel expression must evaluate to a bool");
}

}  // namespace
}  // namespace fleetadm::apimachinery
