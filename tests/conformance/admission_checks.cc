// V: ValidatingAdmissionPolicies. Each check's policy matches only the check's own namespace, and waits until it is enforced.
#include <gtest/gtest.h>

#include "tests/conformance/lab.h"

namespace fleetadm::conformance {
namespace {

const std::string kAdmissionApi = "/apis/admissionregistration.k8s.io/v1/";
const std::string kPolicies = kAdmissionApi + "validatingadmissionpolicies";
const std::string kBindings = kAdmissionApi + "validatingadmissionpolicybindings";

Json rule(const std::string& resource = "configmaps", const std::vector<std::string>& operations = {"CREATE", "UPDATE"},
          const std::string& group = {}) {
  return {{"apiGroups", {group}}, {"apiVersions", {"*"}}, {"operations", operations}, {"resources", {resource}}};
}
Json validation(const std::string& expression, const std::string& message = {}) {
  Json out = {{"expression", expression}};
  if (!message.empty()) out["message"] = message;
  return out;
}
Json policy(Lab& lab, const Json& validations, const Json& rules = Json::array({rule()})) {
  return {{"apiVersion", "admissionregistration.k8s.io/v1"},
          {"kind", "ValidatingAdmissionPolicy"},
          {"metadata", {{"name", lab.ns()}}},
          {"spec",
           {{"matchConstraints",
             {{"resourceRules", rules}, {"namespaceSelector", {{"matchLabels", {{"kubernetes.io/metadata.name", lab.ns()}}}}}}},
            {"validations", validations}}}};
}
Json policy_binding(Lab& lab, const std::string& name = {}, const std::vector<std::string>& actions = {"Deny"}) {
  return {{"apiVersion", "admissionregistration.k8s.io/v1"},
          {"kind", "ValidatingAdmissionPolicyBinding"},
          {"metadata", {{"name", name.empty() ? lab.ns() : name}}},
          {"spec", {{"policyName", lab.ns()}, {"validationActions", actions}}}};
}

/// Removes what a check has made: policies outlive namespaces.
class Policy {
 public:
  Policy(Lab& lab, Json policy, Json bound = nullptr) : lab_(lab) {
    // What is always refused tells that the policy is enforced.
    policy["spec"]["validations"].push_back(validation("object == null || object.metadata.name != 'probe'", "probed"));
    if (bound.is_null()) bound = policy_binding(lab);
    name_ = str(bound, {"metadata", "name"});
    const auto made = lab.post(kPolicies, policy);
    expect(made, 201);
    expect(lab.post(kBindings, bound), 201);
  }
  ~Policy() {
    lab_.remove(kBindings + "/" + name_);
    lab_.remove(kPolicies + "/" + lab_.ns());
  }
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;

  void until_enforced() const {
    EXPECT_TRUE(lab_.eventually([&] {
      return lab_.post(lab_.maps() + "?dryRun=All", lab_.config_map("probe")).message().find("probed") != std::string::npos;
    }));
  }

 private:
  Lab& lab_;
  std::string name_;
};

std::string denial(Lab& lab, const std::string& name, const std::string& message, const std::string& resource = "configmaps") {
  return resource + " \"" + name + "\" is forbidden: ValidatingAdmissionPolicy '" + lab.ns() + "' with binding '" + lab.ns() +
         "' denied request: " + message;
}
Answer make_map(Lab& lab, const std::string& name, const Json& data = {{"a", "1"}}) {
  return lab.post(lab.maps(), lab.config_map(name, data));
}
void expect_denied(Lab& lab, const Answer& answer, const std::string& name, const std::string& message, int status = 422,
                   const std::string& reason = "Invalid") {
  expect(answer, status, reason);
  EXPECT_EQ(answer.message(), denial(lab, name, message));
}
Json causes_of(const Answer& answer) { return list_at(answer.json(), {"details", "causes"}); }
std::string cause(const Answer& answer, const std::string& field) {
  for (const Json& one : causes_of(answer)) {
    if (str(one, {"field"}) == field) return str(one, {"message"});
  }
  return {};
}

void v01(Lab& lab) {
  const Policy enforced(lab, policy(lab, Json::array({validation("object.data.a != '2'")})));
  enforced.until_enforced();
  expect(make_map(lab, "good"), 201);
  const auto answer = make_map(lab, "bad", {{"a", "2"}});
  expect_denied(lab, answer, "bad", "failed expression: object.data.a != '2'");
  const Json status = answer.json();
  EXPECT_EQ(object_at(status, {"details"}),
            Json({{"name", "bad"},
                  {"kind", "configmaps"},
                  {"causes", Json::array({{{"message", answer.message().substr(answer.message().find("Validating"))}}})}}));
  expect_denied(lab, lab.merge(lab.maps() + "/good", {{"data", {{"a", "2"}}}}), "good",
                "failed expression: object.data.a != '2'");
  expect(lab.get(lab.maps() + "/bad"), 404);
}

void v02(Lab& lab) {  // messages and reasons
  Json first = validation("!has(object.data.m)", " a message ");
  Json second = validation("!has(object.data.e)", "not this");
  second["messageExpression"] = "'no ' + object.data.e + ' by ' + request.userInfo.username";
  second["reason"] = "Forbidden";
  Json third = validation("!has(object.data.f)", "instead");
  third["messageExpression"] = "object.data.absent + '!'";
  Json fourth = validation("!has(object.data.n)");
  fourth["messageExpression"] = "'two' + '\\n' + 'lines'";
  fourth["reason"] = "RequestEntityTooLarge";
  const Policy enforced(lab, policy(lab, Json::array({first, second, third, fourth})));
  enforced.until_enforced();
  expect_denied(lab, make_map(lab, "x", {{"m", "1"}}), "x", "a message");
  expect_denied(lab, make_map(lab, "x", {{"e", "1"}}), "x", "no 1 by conformance", 403, "Forbidden");
  expect_denied(lab, make_map(lab, "x", {{"f", "1"}}), "x", "instead");
  expect_denied(lab, make_map(lab, "x", {{"n", "1"}}), "x", "failed expression: !has(object.data.n)", 413,
                "RequestEntityTooLarge");
  expect_denied(lab, make_map(lab, "x", {{"e", "1"}, {"m", "1"}}), "x", "a message");
}

void v03(Lab& lab) {  // variables
  Json made = policy(lab, Json::array({validation("variables.twice != 'bb' && variables.size < 3")}));
  made["spec"]["variables"] = Json::array({{{"name", "value"}, {"expression", "object.data.a"}},
                                           {{"name", "twice"}, {"expression", "variables.value + variables.value"}},
                                           {{"name", "size"}, {"expression", "size(object.data)"}},
                                           {{"name", "broken"}, {"expression", "object.spec.absent"}}});
  made["spec"]["validations"].push_back(validation("object.data.a != 'c' || variables.broken == 1"));
  const Policy enforced(lab, made);
  enforced.until_enforced();
  expect(make_map(lab, "ok", {{"a", "a"}}), 201);
  expect_denied(lab, make_map(lab, "x", {{"a", "b"}}), "x", "failed expression: variables.twice != 'bb' && variables.size < 3");
  const auto broken = make_map(lab, "x", {{"a", "c"}});
  expect_denied(
      lab, broken, "x",
      "expression 'object.data.a != 'c' || variables.broken == 1' resulted in error: composited variable \"broken\" fails "
      "to evaluate: no such key: spec");
}

void v04(Lab& lab) {  // operations, oldObject, request
  Json made = policy(lab,
                     Json::array({validation("request.operation != 'DELETE' || oldObject.data.a != 'keep'", "kept"),
                                  validation("request.operation != 'UPDATE' || object.data.a != oldObject.data.a || "
                                             "request.name != 'same'",
                                             "unchanged"),
                                  validation("object != null || request.operation == 'DELETE'"),
                                  validation("request.namespace == namespaceObject.metadata.name && "
                                             "request.resource.resource == 'configmaps' && request.kind.kind == 'ConfigMap' && "
                                             "request.requestKind.version == 'v1' && !has(request.subResource)",
                                             "names")}),
                     Json::array({rule("configmaps", {"*"})}));
  const Policy enforced(lab, made);
  enforced.until_enforced();
  expect(make_map(lab, "held", {{"a", "keep"}}), 201);
  expect_denied(lab, lab.remove(lab.maps() + "/held"), "held", "kept");
  expect(make_map(lab, "same"), 201);
  expect_denied(lab, lab.merge(lab.maps() + "/same", {{"metadata", {{"labels", {{"x", "y"}}}}}}), "same", "unchanged");
  expect(lab.merge(lab.maps() + "/same", {{"data", {{"a", "2"}}}}), 200);
  expect(lab.remove(lab.maps() + "/same"), 200);
}

void v05(Lab& lab) {  // matchConditions
  Json made = policy(lab, Json::array({validation("false", "never")}));
  made["spec"]["matchConditions"] = Json::array(
      {{{"name", "marked"}, {"expression", "object.?data.?mark.orValue('') == 'yes' || object.metadata.name == 'probe'"}},
       {{"name", "fails"}, {"expression", "!has(object.data.bad) || object.data.absent == '1'"}}});
  const Policy enforced(lab, made);
  EXPECT_TRUE(lab.eventually(
      [&] { return lab.post(lab.maps() + "?dryRun=All", lab.config_map("probe")).message() == denial(lab, "probe", "never"); }));
  expect(make_map(lab, "free"), 201);
  expect_denied(lab, make_map(lab, "x", {{"mark", "yes"}}), "x", "never");
  expect_denied(lab, make_map(lab, "x", {{"mark", "yes"}, {"bad", "1"}}), "x",
                "expression '!has(object.data.bad) || object.data.absent == '1'' resulted in error: no such key: absent");
  expect(make_map(lab, "unmarked", {{"bad", "1"}}), 201);
}

void v06(Lab& lab) {  // failurePolicy
  const Json failing = Json::array({validation("object.data.a == '1'")});
  {
    const Policy enforced(lab, policy(lab, failing));
    enforced.until_enforced();
    expect_denied(lab, make_map(lab, "x", {{"b", "1"}}), "x",
                  "expression 'object.data.a == '1'' resulted in error: no such key: a");
  }
  EXPECT_TRUE(lab.eventually([&] { return make_map(lab, "gone", {{"b", "1"}}).status == 201; }));
  Json ignoring = policy(lab, failing);
  ignoring["spec"]["failurePolicy"] = "Ignore";
  const Policy enforced(lab, ignoring);
  enforced.until_enforced();
  expect(make_map(lab, "y", {{"b", "1"}}), 201);
  expect_denied(lab, make_map(lab, "x", {{"a", "2"}}), "x", "failed expression: object.data.a == '1'");
}

void v07(Lab& lab) {  // Warn and Audit
  const Policy warned(lab, policy(lab, Json::array({validation("false", "mind this")})),
                      policy_binding(lab, {}, {"Warn", "Audit"}));
  EXPECT_TRUE(lab.eventually([&] {
    const auto answer = lab.post(lab.maps() + "?dryRun=All", lab.config_map("one"));
    return answer.status == 201 && answer.headers.contains("warning");
  }));
  // One policy has one violation for this name, so that there is one header.
  const auto answer = make_map(lab, "one");
  expect(answer, 201);
  const auto header = answer.headers.find("warning");
  ASSERT_NE(header, answer.headers.end());
  EXPECT_EQ(header->second, "299 - \"Validation failed for ValidatingAdmissionPolicy '" + lab.ns() + "' with binding '" +
                                lab.ns() + "': mind this\"");
}

void v08(Lab& lab) {  // selectors and excluded rules
  Json made = policy(lab, Json::array({validation("false", "no")}), Json::array({rule("*", {"CREATE"})}));
  made["spec"]["matchConstraints"]["objectSelector"] = {
      {"matchExpressions", Json::array({{{"key", "guarded"}, {"operator", "Exists"}}})}};
  made["spec"]["matchConstraints"]["excludeResourceRules"] = Json::array({rule("secrets", {"*"})});
  Json named = rule("configmaps", {"CREATE"});
  named["resourceNames"] = {"spared"};
  made["spec"]["matchConstraints"]["excludeResourceRules"].push_back(named);
  const Policy enforced(lab, made);
  const auto guarded = [&](const std::string& kind, const std::string& name) {
    return Json{{"apiVersion", "v1"}, {"kind", kind}, {"metadata", {{"name", name}, {"labels", {{"guarded", ""}}}}}};
  };
  EXPECT_TRUE(lab.eventually([&] { return lab.post(lab.maps() + "?dryRun=All", guarded("ConfigMap", "probe")).status == 422; }));
  expect(make_map(lab, "plain"), 201);
  expect(lab.post(lab.maps(), guarded("ConfigMap", "spared")), 201);
  expect(lab.post(lab.core("secrets"), guarded("Secret", "s")), 201);
  const auto answer = lab.post(lab.core("serviceaccounts"), guarded("ServiceAccount", "s"));
  expect(answer, 422, "Invalid");
  EXPECT_EQ(answer.message(), denial(lab, "s", "no", "serviceaccounts"));
}

void v09(Lab& lab) {  // parameters by name
  Json made = policy(lab, Json::array({validation("params == null || object.data.a != params.data.banned", "banned")}));
  made["spec"]["paramKind"] = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}};
  Json bound = policy_binding(lab);
  bound["spec"]["paramRef"] = {{"name", "params"}, {"parameterNotFoundAction", "Deny"}};
  const Policy enforced(lab, made, bound);
  EXPECT_TRUE(lab.eventually([&] {
    return lab.post(lab.maps() + "?dryRun=All", lab.config_map("x")).message() ==
           denial(lab, "x",
                  "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction");
  }));
  bound["spec"]["paramRef"]["parameterNotFoundAction"] = "Allow";
  Json stored = lab.get(kBindings + "/" + lab.ns()).json();
  stored["spec"] = bound["spec"];
  expect(lab.put(kBindings + "/" + lab.ns(), stored), 200);
  EXPECT_TRUE(lab.eventually([&] { return make_map(lab, "params", {{"banned", "9"}}).status == 201; }));
  EXPECT_TRUE(lab.eventually([&] {
    return lab.post(lab.maps() + "?dryRun=All", lab.config_map("x", {{"a", "9"}})).status == 422;
  }));
  expect_denied(lab, make_map(lab, "x", {{"a", "9"}}), "x", "banned");
  expect(make_map(lab, "x", {{"a", "8"}}), 201);
}

// Parameters by selector. They are of a kind that the API server watches for itself: its watch of another kind ends with the last
// policy about it, is not begun again with the next one, and what is made since then is never found (apiserver 0.35, policy
// source).
void v10(Lab& lab) {
  Json made = policy(lab, Json::array({validation("object.data.a != params.metadata.annotations.banned", "banned")}));
  made["spec"]["paramKind"] = {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}};
  Json bound = policy_binding(lab);
  bound["spec"]["paramRef"] = {{"selector", {{"matchLabels", {{"role", "param"}}}}}, {"parameterNotFoundAction", "Allow"}};
  for (const char* value : {"8", "9"}) {
    const Json metadata{
        {"name", std::string("p") + value}, {"labels", {{"role", "param"}}}, {"annotations", {{"banned", value}}}};
    expect(lab.post(lab.core("serviceaccounts"), {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", metadata}}),
           201);
  }
  const Policy enforced(lab, made, bound);
  enforced.until_enforced();
  expect_denied(lab, make_map(lab, "x", {{"a", "8"}}), "x", "banned");
  expect_denied(lab, make_map(lab, "x", {{"a", "9"}}), "x", "banned");
  expect(make_map(lab, "x", {{"a", "7"}}), 201);
}

void v11(Lab& lab) {
  Json made = policy(lab, Json::array({validation("true")}));
  made["spec"]["paramKind"] = {{"apiVersion", "absent.example.com/v1"}, {"kind", "Absent"}};
  const Policy enforced(lab, made);
  EXPECT_TRUE(lab.eventually([&] { return lab.post(lab.maps() + "?dryRun=All", lab.config_map("x")).status == 422; }));
  const auto answer = lab.post(lab.maps() + "?dryRun=All", lab.config_map("x"));
  EXPECT_EQ(answer.message(),
            "configmaps \"x\" is forbidden: ValidatingAdmissionPolicy '" + lab.ns() +
                "' denied request: failed to configure policy: failed to find resource referenced by paramKind: "
                "'absent.example.com/v1, Kind=Absent'");
}

std::string granted_account(Lab& lab) {
  const auto token = lab.account_token("asker");
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/" + lab.ns() + "/";
  expect(lab.post(rbac + "roles",
                  {{"metadata", {{"name", "asker"}}},
                   {"rules", Json::array({{{"apiGroups", {""}}, {"resources", {"configmaps"}}, {"verbs", {"create", "get"}}},
                                          {{"apiGroups", {"example.com"}},
                                           {"resources", {"gates/open"}},
                                           {"resourceNames", {"left"}},
                                           {"verbs", {"use"}}}})}}),
         201);
  expect(lab.post(rbac + "rolebindings",
                  {{"metadata", {{"name", "asker"}}},
                   {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", "asker"}}},
                   {"subjects", Json::array({{{"kind", "ServiceAccount"}, {"name", "asker"}, {"namespace", lab.ns()}}})}}),
         201);
  EXPECT_TRUE(lab.eventually([&] { return lab.send({.path = lab.maps() + "/none", .token = token}).status == 404; }));
  return token;
}

void v12(Lab& lab) {  // authorizer
  const std::string gate =
      "authorizer.group('example.com').resource('gates').subresource('open').namespace(request.namespace).name(object.data.gate)";
  Json made = policy(
      lab,
      Json::array(
          {validation("!has(object.data.gate) || " + gate + ".check('use').allowed()", "gate"),
           validation("!has(object.data.own) || authorizer.requestResource.check('delete').allowed()", "own"),
           validation("!has(object.data.path) || authorizer.path('/metrics').check('get').allowed()", "path"),
           validation("!has(object.data.account) || authorizer.serviceAccount(request.namespace, object.data.account)"
                      ".group('').resource('configmaps').namespace(request.namespace).check('create').allowed()",
                      "account"),
           validation("!has(object.data.why) || " + gate + ".check('use').reason() == 'x' || " + gate + ".check('use').errored()",
                      "why"),
           validation("!has(object.data.empty) || authorizer.group('').resource(' ').check('get').allowed()")}));
  const Policy enforced(lab, made);
  enforced.until_enforced();
  const auto token = granted_account(lab);
  const auto as_asker = [&](const std::string& name, const Json& data) {
    return lab.send({.method = "POST", .path = lab.maps(), .body = dump_json(lab.config_map(name, data)), .token = token});
  };
  expect(make_map(lab, "admin", {{"gate", "right"}, {"own", "1"}, {"path", "1"}, {"account", "asker"}}), 201);
  expect(as_asker("left", {{"gate", "left"}}), 201);
  expect_denied(lab, as_asker("x", {{"gate", "right"}}), "x", "gate");
  expect_denied(lab, as_asker("x", {{"own", "1"}}), "x", "own");
  expect_denied(lab, as_asker("x", {{"path", "1"}}), "x", "path");
  expect(as_asker("named", {{"account", "asker"}}), 201);
  expect_denied(lab, as_asker("x", {{"account", "default"}}), "x", "account");
  expect_denied(lab, as_asker("x", {{"gate", "left"}, {"why", "1"}}), "x", "why");
  expect_denied(lab, make_map(lab, "x", {{"account", "Bad_Name"}}), "x",
                "expression '!has(object.data.account) || authorizer.serviceAccount(request.namespace, object.data.account)"
                ".group('').resource('configmaps').namespace(request.namespace).check('create').allowed()' resulted in error: "
                "Invalid service account name");
  expect_denied(lab, make_map(lab, "x", {{"empty", "1"}}), "x",
                "expression '!has(object.data.empty) || authorizer.group('').resource(' ').check('get').allowed()' resulted in "
                "error: resource must not be empty");
}

void v13(Lab& lab) {  // what does not compile
  Json made =
      policy(lab, Json::array({validation("object.data.a =="), validation("object.data.a"), validation("request.absent == 1"),
                               validation("'a' == 1"), validation("params == null"), validation("variables.a == 1")}));
  made["spec"]["validations"][1]["messageExpression"] = "1";
  made["spec"]["validations"][2]["messageExpression"] = "authorizer.path('x').check('get').reason()";
  const auto answer = lab.post(kPolicies, made);
  expect(answer, 422, "Invalid");
  // What the parser expected instead is told in the words of the server's own parser generator.
  EXPECT_TRUE(cause(answer, "spec.validations[0].expression")
                  .starts_with("Invalid value: \"object.data.a ==\": compilation failed: ERROR: <input>:1:17: Syntax error: "))
      << cause(answer, "spec.validations[0].expression");
  EXPECT_EQ(cause(answer, "spec.validations[1].expression"),
            "Invalid value: \"object.data.a\": must evaluate to bool but got dyn");
  EXPECT_EQ(cause(answer, "spec.validations[1].messageExpression"), "Invalid value: \"1\": must evaluate to string but got int");
  EXPECT_EQ(cause(answer, "spec.validations[2].expression"),
            "Invalid value: \"request.absent == 1\": compilation failed: ERROR: <input>:1:8: undefined field 'absent'\n | "
            "request.absent == 1\n | .......^");
  EXPECT_NE(cause(answer, "spec.validations[2].messageExpression").find("undeclared reference to 'authorizer'"),
            std::string::npos)
      << cause(answer, "spec.validations[2].messageExpression");
  EXPECT_NE(
      cause(answer, "spec.validations[3].expression").find("found no matching overload for '_==_' applied to '(string, int)'"),
      std::string::npos)
      << cause(answer, "spec.validations[3].expression");
  EXPECT_NE(cause(answer, "spec.validations[4].expression").find("undeclared reference to 'params'"), std::string::npos);
  EXPECT_NE(cause(answer, "spec.validations[5].expression").find("undeclared reference to 'variables'"), std::string::npos);
  EXPECT_EQ(causes_of(answer).size(), 8U) << answer.body;
}

void v14(Lab& lab) {  // what is no policy
  Json made = policy(lab, Json::array({validation("true", "two\nlines"), validation(" ")}));
  made["spec"]["validations"][0]["reason"] = "Whim";
  made["spec"]["validations"][1]["message"] = "  ";
  made["spec"]["failurePolicy"] = "Maybe";
  made["spec"]["matchConstraints"]["matchPolicy"] = "Loose";
  made["spec"]["matchConstraints"]["resourceRules"] =
      Json::array({{{"apiGroups", {"*", "apps"}}, {"apiVersions", {""}}, {"operations", {"READ"}}, {"resources", {"*", "pods"}}},
                   {{"operations", {"*", "CREATE"}}}});
  made["spec"]["matchConditions"] = Json::array({{{"name", "a b"}, {"expression", ""}}, {{"expression", "1"}}});
  made["spec"]["variables"] =
      Json::array({{{"name", "1a"}, {"expression", "true"}}, {{"name", "in"}, {"expression", "true"}}, {{"name", "ok"}}});
  made["spec"]["auditAnnotations"] =
      Json::array({{{"key", "k"}, {"valueExpression", "1"}}, {{"key", "k"}, {"valueExpression", ""}}});
  made["spec"]["paramKind"] = {{"apiVersion", "a/b/c"}, {"kind", ""}};
  const auto answer = lab.post(kPolicies, made);
  expect(answer, 422, "Invalid");
  const std::vector<std::pair<std::string, std::string>> wanted = {
      {"spec.failurePolicy", "Unsupported value: \"Maybe\": supported values: \"Fail\", \"Ignore\""},
      {"spec.paramKind.apiVersion", "Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c"},
      {"spec.paramKind.kind", "Required value"},
      {"spec.matchConstraints.matchPolicy", "Unsupported value: \"Loose\": supported values: \"Equivalent\", \"Exact\""},
      {"spec.matchConstraints.resourceRules[0].operations[0]",
       "Unsupported value: \"READ\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\""},
      {"spec.matchConstraints.resourceRules[0].apiGroups",
       "Invalid value: [\"*\",\"apps\"]: if '*' is present, must not specify other API groups"},
      {"spec.matchConstraints.resourceRules[0].apiVersions[0]", "Required value"},
      {"spec.matchConstraints.resourceRules[0].resources",
       "Invalid value: [\"*\",\"pods\"]: if '*' is present, must not specify other resources without subresources"},
      {"spec.matchConstraints.resourceRules[1].operations",
       "Invalid value: [\"*\",\"CREATE\"]: if '*' is present, must not specify other operations"},
      {"spec.matchConstraints.resourceRules[1].apiGroups", "Required value"},
      {"spec.matchConstraints.resourceRules[1].apiVersions", "Required value"},
      {"spec.matchConstraints.resourceRules[1].resources", "Required value"},
      {"spec.matchConditions[0].expression", "Required value"},
      {"spec.matchConditions[1].expression", "Invalid value: \"1\": must evaluate to bool but got int"},
      {"spec.matchConditions[1].name", "Required value"},
      {"spec.variables[0].name", "Invalid value: \"1a\": must be a valid CEL identifier"},
      {"spec.variables[1].name", "Invalid value: \"in\": must be a valid CEL identifier"},
      {"spec.variables[2].expression", "Required value: expression is not specified"},
      {"spec.validations[0].message", "Invalid value: \"two\\nlines\": must not contain line breaks"},
      {"spec.validations[0].reason",
       "Unsupported value: \"Whim\": supported values: \"Forbidden\", \"Invalid\", \"RequestEntityTooLarge\""},
      {"spec.validations[1].expression", "Required value: expression is not specified"},
      {"spec.validations[1].message", "Invalid value: \"  \": must be non-empty if specified"},
      {"spec.auditAnnotations[0].valueExpression",
       "Invalid value: \"1\": must evaluate to one of [string null_type] but got int"},
      {"spec.auditAnnotations[1].valueExpression", "Required value: valueExpression is not specified"},
      {"spec.auditAnnotations[1].key", "Duplicate value: \"k\""}};
  for (const auto& [field, message] : wanted) EXPECT_EQ(cause(answer, field), message) << field;
  EXPECT_TRUE(cause(answer, "spec.matchConditions[0].name").starts_with("Invalid value: \"a b\": name part must consist of"))
      << cause(answer, "spec.matchConditions[0].name");
  EXPECT_EQ(causes_of(answer).size(), wanted.size() + 1) << answer.body;
}

void v15(Lab& lab) {  // what is no binding
  Json made = policy_binding(lab, {}, {"Deny", "Warn", "Warn", "Log"});
  made["spec"]["policyName"] = "";
  made["spec"]["paramRef"] = {{"name", "a"}, {"selector", Json::object()}};
  const auto answer = lab.post(kBindings, made);
  expect(answer, 422, "Invalid");
  EXPECT_EQ(cause(answer, "spec.policyName"), "Required value");
  EXPECT_EQ(cause(answer, "spec.paramRef.name"), "Forbidden: name and selector are mutually exclusive");
  EXPECT_EQ(cause(answer, "spec.paramRef.parameterNotFoundAction"), "Required value");
  EXPECT_EQ(cause(answer, "spec.validationActions[2]"), "Duplicate value: \"Warn\"");
  EXPECT_EQ(cause(answer, "spec.validationActions[3]"),
            "Unsupported value: \"Log\": supported values: \"Audit\", \"Deny\", \"Warn\"");
  EXPECT_TRUE(cause(answer, "spec.validationActions")
                  .starts_with("Invalid value: [\"Deny\",\"Warn\",\"Warn\",\"Log\"]: must not contain both Deny and Warn"))
      << cause(answer, "spec.validationActions");
  const auto none = lab.post(kBindings, policy_binding(lab, {}, {}));
  expect(none, 422, "Invalid");
  EXPECT_EQ(cause(none, "spec.validationActions"), "Required value: at least one validation action is required");
}

void v16(Lab& lab) {  // status, scale, other versions and custom resources
  lab.need_widgets();
  Json widgets = rule("widgets", {"*"}, "conf.example.com");
  widgets["apiVersions"] = {"v1"};
  Json made =
      policy(lab,
             Json::array({validation("request.resource.resource != 'widgets' || object == null || "
                                     "object.spec.size != 7 || request.resource.version != 'v1' || object.apiVersion != "
                                     "'conf.example.com/v1'",
                                     "unlucky"),
                          validation("request.resource.resource != 'deployments' || object.spec.replicas < 5", "many"),
                          validation("!has(request.subResource) || (request.subResource == 'scale' && object.kind == "
                                     "'Scale' && request.kind.group == 'autoscaling')",
                                     "sub")}),
             Json::array({widgets, rule(), rule("deployments", {"*"}, "apps"), rule("deployments/scale", {"*"}, "apps")}));
  const Policy enforced(lab, made);
  enforced.until_enforced();
  Json widget = lab.widget("w", {{"size", 7}});
  for (const char* version : {"v1", "v2"}) {
    widget["apiVersion"] = std::string("conf.example.com/") + version;
    const auto answer = lab.post(lab.widgets(version), widget);
    expect(answer, 422, "Invalid");
    EXPECT_EQ(answer.message(), denial(lab, "w", "unlucky", "widgets.conf.example.com"));
  }
  expect(lab.post(lab.widgets(), lab.widget("w", {{"size", 3}})), 201);
  expect(lab.post(lab.apps("deployments"), lab.deployment("d")), 201);
  const auto scaled = lab.merge(lab.apps("deployments") + "/d/scale", {{"spec", {{"replicas", 7}}}});
  expect(scaled, 422, "Invalid");
  EXPECT_EQ(scaled.message(), denial(lab, "d", "many", "deployments.apps"));
  expect(lab.merge(lab.apps("deployments") + "/d/scale", {{"spec", {{"replicas", 2}}}}), 200);
}

void v17(Lab& lab) {  // validation goes before, existence after
  const Policy enforced(lab, policy(lab, Json::array({validation("object.data.a != '2'", "two")})));
  enforced.until_enforced();
  expect(make_map(lab, "x"), 201);
  expect_denied(lab, make_map(lab, "x", {{"a", "2"}}), "x", "two");
  expect(make_map(lab, "x"), 409, "AlreadyExists");
  const auto bad = make_map(lab, "Bad_Name", {{"a", "2"}});
  expect(bad, 422, "Invalid");
  EXPECT_EQ(bad.message().find("denied request"), std::string::npos) << bad.message();
  Json generated = lab.config_map("", {{"a", "2"}});
  generated["metadata"] = {{"generateName", "gen-"}};
  const auto unnamed = lab.post(lab.maps(), generated);
  expect(unnamed, 422, "Invalid");
  EXPECT_EQ(unnamed.message().find("configmaps \"gen-"), 0U) << unnamed.message();
  expect_denied(lab, lab.apply(lab.maps() + "/new", lab.config_map("new", {{"a", "2"}}), "tester"), "new", "two");
}

void v18(Lab& lab) {  // a policy that changes, and one that goes
  auto enforced = std::make_unique<Policy>(lab, policy(lab, Json::array({validation("false", "first")})));
  const auto says = [&](const std::string& message) {
    return lab.eventually(
        [&] { return lab.post(lab.maps() + "?dryRun=All", lab.config_map("x")).message() == denial(lab, "x", message); });
  };
  EXPECT_TRUE(says("first"));
  expect(lab.merge(kPolicies + "/" + lab.ns(), {{"spec", {{"validations", Json::array({validation("false", "second")})}}}}), 200);
  EXPECT_TRUE(says("second"));
  EXPECT_EQ(num(lab.get(kPolicies + "/" + lab.ns()).json(), {"metadata", "generation"}), 2);
  enforced.reset();
  EXPECT_TRUE(lab.eventually([&] { return make_map(lab, "free").status == 201; }));
}

void v19(Lab& lab) {  // connections to pods
  const Policy enforced(
      lab, policy(lab,
                  Json::array({validation("request.operation != 'CONNECT' || !(request.kind.kind == 'PodExecOptions' && "
                                          "request.kind.version == 'v1' && request.subResource == 'exec' && object.stdout && "
                                          "object.command.exists(word, word == 'rm'))",
                                          "no rm")}),
                  Json::array({rule(), rule("pods/exec", {"CONNECT"})})));
  enforced.until_enforced();
  const auto answer = lab.get(lab.core("pods") + "/p/exec?stdout=true&command=rm&command=x");
  expect(answer, 422, "Invalid");
  EXPECT_EQ(answer.message(), denial(lab, "p", "no rm", "pods"));
  expect(lab.get(lab.core("pods") + "/p/attach?stdout=true"), 404, "NotFound");
}

}  // namespace

std::vector<Check> admission_checks() {
  return {{"V01", "a denial", v01},
          {"V02", "messages and reasons", v02},
          {"V03", "variables", v03},
          {"V04", "operations", v04},
          {"V05", "match conditions", v05},
          {"V06", "failure policy", v06},
          {"V07", "warn and audit", v07},
          {"V08", "selectors and exclusions", v08},
          {"V09", "parameters by name", v09},
          {"V10", "parameters by selector", v10},
          {"V11", "parameters of no kind", v11},
          {"V12", "authorizer", v12},
          {"V13", "what does not compile", v13},
          {"V14", "what is no policy", v14},
          {"V15", "what is no binding", v15},
          {"V16", "subresources and custom resources", v16},
          {"V17", "its place among the checks", v17},
          {"V18", "change and removal", v18},
          {"V19", "connections to pods", v19}};
}

}  // namespace fleetadm::conformance
