#include "core/sandbox/admission/policy.h"

#include <gtest/gtest.h>

#include "core/sandbox/admission/authorizer.h"

namespace fleetadm::sandbox::admission {
namespace {

/// Allows what is listed as "user verb group/resource[/sub][/name]", and keeps what it was asked.
struct Rights {
  std::vector<std::string> held;
  std::vector<std::string> asked;

  std::shared_ptr<const Ask> ask() {
    return std::make_shared<const Ask>([this](const serve::User& user, const serve::Attributes& what) {
      std::string question = user.name + " " + what.verb + " ";
      question += what.resource_request ? what.group + "/" + what.resource : what.path;
      for (const auto* part : {&what.subresource, &what.name}) question += part->empty() ? "" : "/" + *part;
      if (!what.ns.empty()) question += " in " + what.ns;
      asked.push_back(question);
      const bool allowed = std::find(held.begin(), held.end(), question) != held.end();
      return Decision{allowed, allowed ? "told so" : ""};
    });
  }
};

serve::User someone(const std::string& name) {
  serve::User user;
  user.name = name;
  return user;
}

struct Case {
  Rights rights;
  Facts facts{{{"data", {{"a", "1"}}}, {"metadata", {{"name", "x"}}}},
              nullptr,
              {{"operation", "CREATE"}, {"userInfo", {{"username", "jane"}, {"groups", {"team"}}}}},
              {{"metadata", {{"name", "apps"}, {"labels", {{"tier", "gold"}}}}}},
              nullptr,
              {},
              {}};

  std::vector<Verdict> judge_spec(const Json& spec) {
    serve::Attributes what;
    what.resource = "configmaps";
    what.ns = "apps";
    what.name = "x";
    facts.authorizer = authorizer_value(someone("jane"), rights.ask());
    facts.request_resource = resource_check_value(someone("jane"), rights.ask(), what);
    return judge(CompiledPolicy::of("p", spec), facts);
  }
  /// The message of the first denial; "" where it is admitted.
  std::string told(const std::string& expression, const Json& more = Json::object()) {
    Json spec = more;
    spec["validations"].push_back({{"expression", expression}});
    const auto verdicts = judge_spec(spec);
    return verdicts.empty() ? "" : verdicts.front().message;
  }
};

TEST(AdmissionPolicy, SeesObjectRequestAndNamespace) {
  Case here;
  EXPECT_EQ(here.told("object.data.a == '1' && oldObject == null && request.operation == 'CREATE'"), "");
  EXPECT_EQ(here.told("request.userInfo.groups == ['team'] && namespaceObject.metadata.labels.tier == 'gold'"), "");
  EXPECT_EQ(here.told("object.data.a == '2'"), "failed expression: object.data.a == '2'");
  EXPECT_EQ(here.told(" object.data.b == '2' "), "expression ' object.data.b == '2' ' resulted in error: no such key: b");
  EXPECT_EQ(here.told("sets.contains(['1', '2'], [object.data.a])"), "");
}

TEST(AdmissionPolicy, KnowsTheFieldsOfARequest) {
  Compiler compiler(false);
  EXPECT_NE(compiler.compile("request.operatoin == 'CREATE'", Yields::kBool, true).error.find("undefined field 'operatoin'"),
            std::string::npos);
  EXPECT_NE(compiler.compile("has(request.userInfo.nmae)", Yields::kBool, true).error.find("undefined field 'nmae'"),
            std::string::npos);
  EXPECT_NE(compiler.compile("request.?absent.orValue(1) == 1", Yields::kBool, true).error.find("undefined field 'absent'"),
            std::string::npos);
  EXPECT_EQ(compiler.compile("has(request.namespace) && request.options.x == 1", Yields::kBool, true).error, "");
  EXPECT_EQ(compiler.compile("request.name", Yields::kBool, true).error, "must evaluate to bool but got string");
  EXPECT_NE(compiler.compile("params == null", Yields::kBool, true).error, "");
  EXPECT_NE(compiler.compile("authorizer.path('/x').check('get').allowed()", Yields::kBool, false).error, "");
}

TEST(AdmissionPolicy, ComputesVariablesOnceAndOnlyWhenNamed) {
  Case here;
  const std::string check = "authorizer.group('').resource('pods').check('list').allowed()";
  const Json variables = {
      {"variables", Json::array({{{"name", "may"}, {"expression", check}},
                                 {{"name", "never"}, {"expression", "authorizer.path('/never').check('get').allowed()"}},
                                 {{"name", "both"}, {"expression", "[variables.may, variables.may]"}}})}};
  EXPECT_EQ(here.told("variables.both == [false, false] && !variables.may", variables), "");
  EXPECT_EQ(here.rights.asked, std::vector<std::string>{"jane list /pods"});
  const Json broken = {{"variables", Json::array({{{"name", "b"}, {"expression", "object.none.at"}}})}};
  EXPECT_EQ(here.told("true || variables.b", broken), "");
  EXPECT_EQ(here.told("variables.b == 1", broken),
            "expression 'variables.b == 1' resulted in error: composited variable \"b\" fails to evaluate: no such key: none");
}

TEST(AdmissionPolicy, VariablesHaveTheTypeOfTheirExpression) {
  Compiler compiler(false);
  EXPECT_EQ(compiler.add_variable("n", "size(object.data)").error, "");
  EXPECT_EQ(compiler.compile("variables.n > 1", Yields::kBool, true).error, "");
  EXPECT_EQ(compiler.compile("variables.n", Yields::kBool, true).error, "must evaluate to bool but got int");
  EXPECT_NE(compiler.compile("variables.m > 1", Yields::kBool, true).error.find("undefined field 'm'"), std::string::npos);
  EXPECT_NE(compiler.compile("variables.n > 1", Yields::kBool, true, false).error, "") << "matchConditions see none";
}

TEST(AdmissionPolicy, AsksTheAuthorizer) {
  Case here;
  here.rights.held = {"jane use example.com/gates/open/left in apps", "jane delete /configmaps/x in apps", "jane get /healthz",
                      "system:serviceaccount:apps:robot get /pods"};
  EXPECT_EQ(here.told("authorizer.group('example.com').resource('gates').subresource('open').namespace('apps').name('left')"
                      ".check('use').allowed()"),
            "");
  EXPECT_EQ(here.told("authorizer.requestResource.check('delete').allowed()"), "");
  EXPECT_NE(here.told("authorizer.requestResource.check('patch').allowed()"), "");
  EXPECT_EQ(here.told("authorizer.path('/healthz').check('get').reason() == 'told so'"), "");
  EXPECT_EQ(here.told("authorizer.serviceAccount('apps', 'robot').group('').resource('pods').check('get').allowed()"), "");
  EXPECT_EQ(here.told("!authorizer.path('/none').check('get').errored() && authorizer.path('/none').check('get').error() == ''"),
            "");
  EXPECT_NE(here.told("authorizer.path('  ').check('get').allowed()").find("path must not be empty"), std::string::npos);
}

TEST(AdmissionPolicy, ConditionsDecideWhetherItApplies) {
  Case here;
  const auto with = [](std::initializer_list<const char*> conditions, const char* failure = "Fail") {
    Json spec = {{"failurePolicy", failure}, {"matchConditions", Json::array()}};
    for (const char* condition : conditions) spec["matchConditions"].push_back({{"name", "c"}, {"expression", condition}});
    return spec;
  };
  EXPECT_EQ(here.told("false", with({"object.data.a == '2'"})), "");
  EXPECT_EQ(here.told("false", with({"object.data.a == '1'"})), "failed expression: false");
  EXPECT_EQ(here.told("false", with({"object.data.b == '1'", "false"})), "") << "false goes before failure";
  EXPECT_EQ(here.told("true", with({"object.data.b == '1'"})),
            "expression 'object.data.b == '1'' resulted in error: no such key: b");
  EXPECT_EQ(here.told("false", with({"object.data.b == '1'"}, "Ignore")), "");
}

TEST(AdmissionPolicy, FailuresFollowThePolicy) {
  Case here;
  EXPECT_EQ(here.told("object.none == 1", {{"failurePolicy", "Ignore"}}), "");
  EXPECT_EQ(here.told("false", {{"failurePolicy", "Ignore"}}), "failed expression: false");
  const auto uncompiled = here.told("1 +");
  EXPECT_TRUE(uncompiled.starts_with("compilation error: compilation failed: ERROR: <input>:1:4: Syntax error")) << uncompiled;
}

TEST(AdmissionPolicy, AnExpressionThatCostsTooMuchEndsIt) {
  Case here;
  Json& list = here.facts.object["data"]["list"] = Json::array();
  for (int i = 0; i < 400; ++i) list.push_back(i);
  const std::string dear = "object.data.list.all(a, object.data.list.all(b, object.data.list.all(c, a + b + c >= 0)))";
  EXPECT_NE(here.told(dear).find("actual cost limit exceeded"), std::string::npos) << here.told(dear);
}

TEST(AdmissionPolicy, MessagesFallBack) {
  Case here;
  const auto message = [&](const Json& validation) { return here.judge_spec({{"validations", Json::array({validation})}}); };
  const auto first = [&](const char* message_expression, const char* text) {
    return message({{"expression", "false"}, {"messageExpression", message_expression}, {"message", text}}).front().message;
  };
  EXPECT_EQ(first("' said by ' + request.userInfo.username", "m"), "said by jane");
  EXPECT_EQ(first("object.data.none", "m "), "m");
  EXPECT_EQ(first("'a\\nb'", ""), "failed expression: false");
  const auto denied = message({{"expression", "false"}, {"reason", "Forbidden"}});
  ASSERT_EQ(denied.size(), 1U);
  EXPECT_EQ(denied.front().reason, "Forbidden");
}

}  // namespace
}  // namespace fleetadm::sandbox::admission
