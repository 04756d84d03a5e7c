#include "core/sandbox/admission/type_check.h"

#include <gtest/gtest.h>

namespace fleetadm::sandbox::admission {
namespace {

Json policy_for(const std::string& group, const std::string& resource, const Json& validations) {
  const Json rule = {{"apiGroups", {group}}, {"apiVersions", {"v1"}}, {"operations", {"CREATE"}}, {"resources", {resource}}};
  return {{"spec", {{"matchConstraints", {{"resourceRules", Json::array({rule})}}}, {"validations", validations}}}};
}

Json warnings_of(const std::string& expression, const std::string& group = "apps", const std::string& resource = "deployments") {
  const KindTable kinds;
  return expression_warnings(kinds, policy_for(group, resource, Json::array({{{"expression", expression}}})));
}

TEST(PolicyTypes, WhatFitsIsNotWarnedOf) {
  for (const char* expression :
       {"object.spec.replicas > 1", "object.metadata.labels.x == 'a'", "has(object.spec.minReadySeconds)",
        "object.spec.strategy.rollingUpdate.maxSurge == 1",
        "request.operation == 'CREATE' && authorizer.group('').resource('x').check('get').allowed()",
        "object.spec.template.spec.containers.all(c, c.image == 'x' && c.resources.limits['cpu'] == '1')",
        "oldObject == null || oldObject.metadata.creationTimestamp < timestamp('2020-01-01T00:00:00Z')"}) {
    EXPECT_EQ(warnings_of(expression), Json::array()) << expression;
  }
}

TEST(PolicyTypes, WhatDoesNotIs) {
  const Json confused = warnings_of("object.spec.replicas > '1'");
  ASSERT_EQ(confused.size(), 1U);
  EXPECT_EQ(str(confused[0], {"fieldRef"}), "spec.validations[0].expression");
  EXPECT_EQ(str(confused[0], {"warning"}),
            "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'\n"
            " | object.spec.replicas > '1'\n"
            " | .....................^\n");
  const Json misspelt = warnings_of("object.spec.replicaz > 1 && object.metadata.nope == ''");
  ASSERT_EQ(misspelt.size(), 1U);
  EXPECT_NE(str(misspelt[0], {"warning"}).find("undefined field 'replicaz'"), std::string::npos);
  EXPECT_NE(str(misspelt[0], {"warning"}).find("undefined field 'nope'"), std::string::npos);
}

TEST(PolicyTypes, MessagesAndVariablesAreCheckedToo) {
  const KindTable kinds;
  Json policy =
      policy_for("apps", "deployments",
                 Json::array({{{"expression", "variables.r > 1"}, {"messageExpression", "'got ' + object.spec.replicas"}}}));
  policy["spec"]["variables"] = Json::array({{{"name", "r"}, {"expression", "object.spec.replicas"}}});
  const Json warnings = expression_warnings(kinds, policy);
  ASSERT_EQ(warnings.size(), 1U) << warnings;
  EXPECT_EQ(str(warnings[0], {"fieldRef"}), "spec.validations[0].messageExpression");
  EXPECT_NE(str(warnings[0], {"warning"}).find("'_+_' applied to '(string, int)'"), std::string::npos);
}

TEST(PolicyTypes, AWildcardNamesNoKind) {
  EXPECT_EQ(warnings_of("object.nope == 1", "*", "deployments"), Json::array());
  EXPECT_EQ(warnings_of("object.nope == 1", "apps", "*"), Json::array());
  EXPECT_EQ(warnings_of("object.nope == 1", "apps", "deployments/scale"), Json::array());
  EXPECT_EQ(warnings_of("object.nope == 1", "apps", "unknowns"), Json::array());
}

}  // namespace
}  // namespace fleetadm::sandbox::admission
