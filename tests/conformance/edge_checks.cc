// G: what clients seldom ask, and what is said of what they get wrong: paths, selectors, options, identities.
#include <algorithm>
#include <cctype>
#include <gtest/gtest.h>

#include "kubeclient/base/encoding.h"
#include "tests/conformance/lab.h"

namespace fleetadm::conformance {
namespace {

void g01(Lab& lab) {
  for (const std::string path : {"/healthz", "/livez", "/readyz"}) {
    const auto all = lab.get(path + "?verbose");
    expect(all, 200);
    EXPECT_NE(all.body.find("[+]ping ok\n"), std::string::npos) << all.body;
    EXPECT_NE(all.body.find("[+]etcd ok\n"), std::string::npos) << all.body;
    EXPECT_TRUE(all.body.ends_with(path.substr(1) + " check passed\n")) << all.body;
    for (const char* check :
         {"poststarthook/rbac/bootstrap-roles", "poststarthook/crd-informer-synced", "autoregister-completion",
          "poststarthook/apiservice-registration-controller", "poststarthook/apiservice-openapiv3-controller"}) {
      EXPECT_NE(all.body.find("[+]" + std::string(check) + " ok\n"), std::string::npos) << all.body;
      EXPECT_EQ(lab.get(path + "/" + check).body, "ok") << check;
    }
    const auto some = lab.get(path + "?verbose&exclude=etcd&exclude=nope").body;
    EXPECT_NE(some.find("[+]etcd excluded: ok\n"), std::string::npos) << some;
    EXPECT_NE(some.find("warn: some health checks cannot be excluded: no matches for \"nope\"\n"), std::string::npos) << some;
    EXPECT_EQ(lab.get(path + "/ping").body, "ok");
    expect(lab.get(path + "/nope"), 404);
  }
  EXPECT_EQ(lab.get("/readyz/informer-sync").body, "ok");
}

/// A JSON Web Token's header.
Json token_header(const std::string& token) {
  auto text = token.substr(0, token.find('.'));
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  while (text.size() % 4 != 0) text += '=';
  const auto decoded = base64_decode(text);
  const auto parsed = decoded ? parse_json(*decoded) : Result<Json>(fail(Category::kInvalid, ""));
  return parsed ? *parsed : Json();
}
void g02(Lab& lab) {
  const auto configuration = lab.get("/.well-known/openid-configuration");
  expect(configuration, 200);
  EXPECT_EQ(header(configuration, "content-type"), "application/json");
  EXPECT_TRUE(str(configuration.json(), {"issuer"}).starts_with("https://"));
  EXPECT_TRUE(str(configuration.json(), {"jwks_uri"}).ends_with("/openid/v1/jwks"));
  EXPECT_EQ(string_list_at(configuration.json(), {"response_types_supported"}), std::vector<std::string>{"id_token"});
  const auto keys = lab.get("/openid/v1/jwks", "*/*");
  expect(keys, 200);
  EXPECT_EQ(header(keys, "content-type"), "application/jwk-set+json");
  const auto token = lab.account_token("reader");
  const Json made = token_header(token);
  const Json set = keys.json();
  bool found = false;
  for (const Json& key : list_at(set, {"keys"})) {
    EXPECT_EQ(str(key, {"use"}), "sig");
    found = found ||
            (!str(key, {"kid"}).empty() && str(key, {"kid"}) == str(made, {"kid"}) && str(key, {"alg"}) == str(made, {"alg"}));
  }
  EXPECT_TRUE(found) << keys.body;
  // Every service account may read them, and nobody who is unknown.
  expect(lab.send({.path = "/openid/v1/jwks", .accept = "*/*", .token = token}), 200);
  const auto unknown = lab.send({.path = "/openid/v1/jwks", .anonymous = true});
  EXPECT_TRUE(unknown.status == 401 || unknown.status == 403) << unknown.status;
}

void g03(Lab& lab) {
  const auto refused = [&](const std::string& selector) {
    const auto answer = lab.get(lab.maps() + "?labelSelector=" + selector);
    expect(answer, 400, "BadRequest");
    return answer.message();
  };
  const std::string requirement = "unable to parse requirement: ";
  EXPECT_EQ(refused("a%20b"), requirement + "found 'b', expected: in, notin, =, ==, !=, gt, lt");
  EXPECT_EQ(refused("a%20in%201"), requirement + "found '1' expected: '('");
  EXPECT_EQ(refused("a%20in%20(1"), requirement + "found '', expected: ',' or ')'");
  EXPECT_EQ(refused("a%20in%20(%3D"), requirement + "found '=', expected: ',', ')' or identifier");
  EXPECT_EQ(refused("a%3D%3D%3Db"), requirement + "found '=', expected: identifier");
  EXPECT_EQ(refused("!(a)"), requirement + "found '(', expected: identifier");
  EXPECT_EQ(refused("!%3Da"), "found '!=', expected: !, identifier, or 'end of string'");
  EXPECT_EQ(refused("a%3E(x"), requirement + "found '(', expected: identifier");
  EXPECT_EQ(refused("a%3Ex"),
            requirement + "values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer");
  EXPECT_TRUE(refused("a%3D-").starts_with(requirement + "values[0][a]: Invalid value: \"-\": a valid label must be"));
  EXPECT_TRUE(refused("-a").starts_with(requirement + "<nil>: Invalid value: \"-a\": name part must consist of"));
  EXPECT_EQ(refused(",a"), "found ',', expected: !, identifier, or 'end of string'");
  EXPECT_EQ(refused("a,"), "found '', expected: identifier after ','");
  EXPECT_EQ(refused("a%3Db%20c"), "found 'c', expected: ',' or 'end of string'");
}

void g04(Lab& lab) {
  // An empty place in a set is the empty value.
  Json labelled = lab.config_map("empty");
  labelled["metadata"]["labels"] = {{"a", ""}};
  expect(lab.post(lab.maps(), labelled), 201);
  for (const char* selector : {"a%20in%20()", "a%20in%20(,)", "a%20in%20(x,)", "a%3D", "a%3D%3D,!b"}) {
    const Json list = lab.get(lab.maps() + "?labelSelector=" + selector).json();
    ASSERT_EQ(list_at(list, {"items"}).size(), 1U) << selector;
    EXPECT_EQ(name_of(list_at(list, {"items"})[0]), "empty");
  }
}

void g05(Lab& lab) {
  const auto answer = lab.get(lab.maps() + "?timeout=30");
  expect(answer, 400, "BadRequest");
  EXPECT_EQ(answer.message(), "invalid timeout specified in the request URL - time: missing unit in duration \"30\"");
  expect(lab.get(lab.maps() + "?timeout=30s"), 200);
  // Watches have no such limit.
  expect(lab.get(lab.maps() + "?timeout=30&watch=true&timeoutSeconds=1"), 200);
}

void g06(Lab& lab) {
  const auto names = [&](const std::string& path) {
    std::vector<std::string> out;
    for (const Json& event : lab.get(path).events()) out.push_back(str(event, {"object", "metadata", "name"}));
    return out;
  };
  expect(lab.post(lab.maps(), lab.config_map("x")), 201);
  expect(lab.post(lab.maps(), lab.config_map("y")), 201);
  EXPECT_EQ(names("/api/v1/watch/namespaces/" + lab.ns() + "/configmaps/y?timeoutSeconds=1"), std::vector<std::string>{"y"});
  EXPECT_EQ(names("/api/v1/watch/namespaces/" + lab.ns() + "?timeoutSeconds=1"), std::vector<std::string>{lab.ns()});
}

void g19(Lab& lab) {
  const auto refused = [&](const std::string& query) {
    const auto answer = lab.get(lab.maps() + "?" + query);
    expect(answer, 422, "Invalid");
    return answer.message();
  };
  const std::string begin = "ListOptions.meta.k8s.io \"\" is invalid: ";
  EXPECT_EQ(refused("resourceVersionMatch=Odd&sendInitialEvents=true"),
            begin +
                "[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, "
                "resourceVersionMatch: Unsupported value: \"Odd\": supported values: \"Exact\", \"NotOlderThan\", \"\", "
                "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list]");
  EXPECT_EQ(refused("resourceVersionMatch=Exact&resourceVersion=0"),
            begin + "resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
  EXPECT_EQ(refused("watch=true&sendInitialEvents=true&resourceVersionMatch=Exact"),
            begin +
                "[resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, "
                "resourceVersionMatch: Unsupported value: \"Exact\": supported values: \"NotOlderThan\"]");
  EXPECT_EQ(
      refused("watch=true&resourceVersionMatch=NotOlderThan"),
      begin +
          "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  const auto token = lab.get(lab.maps() + "?continue=abc");
  expect(token, 400, "BadRequest");
  EXPECT_TRUE(token.message().starts_with("invalid continue token: continue key is not valid: ")) << token.message();
  const Json plain = token.json();
  EXPECT_EQ(find(plain, {"details"}), nullptr) << token.body;
  const auto dry = lab.send({.method = "POST", .path = lab.maps() + "?dryRun=x", .body = dump_json(lab.config_map("x"))});
  EXPECT_EQ(complaint(dry, "dryRun"), "Unsupported value: [\"x\"]: supported values: \"All\"");
}

void g20(Lab& lab) {
  // Within Kubernetes' own groups what is not there is told of in a Status, elsewhere in plain text.
  for (const char* path : {"/api/v2", "/api/v2/pods", "/apis/apps/v9", "/apis/apps/v9/deployments", "/apis/apps/v1/none"}) {
    const auto answer = lab.get(path);
    expect(answer, 404, "NotFound");
    EXPECT_EQ(answer.message(), "the server could not find the requested resource") << path;
  }
  lab.need_widgets();
  for (const char* path : {"/apis/none.example.com", "/apis/none.example.com/v1/things", "/apis/conf.example.com/v9",
                           "/apis/conf.example.com/v1/none"}) {
    const auto answer = lab.get(path);
    expect(answer, 404);
    EXPECT_EQ(answer.body, "404 page not found\n") << path;
  }
  // The older form of aggregated discovery is no longer served.
  const std::string old = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
  expect(lab.get("/apis", old), 406, "NotAcceptable");
  EXPECT_EQ(str(lab.get("/apis", old + ",application/json").json(), {"kind"}), "APIGroupList");
}

void g21(Lab& lab) {
  const auto node = lab.ns() + "-node";
  expect(lab.post("/api/v1/nodes", {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", node}}}}), 201);
  expect(
      lab.post(lab.core("serviceaccounts"), {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "own"}}}}),
      201);
  const auto made = lab.post(lab.core("serviceaccounts") + "/own/token",
                             {{"apiVersion", "authentication.k8s.io/v1"},
                              {"kind", "TokenRequest"},
                              {"spec", {{"boundObjectRef", {{"kind", "Node"}, {"apiVersion", "v1"}, {"name", node}}}}}});
  expect(made, 201);
  const auto reviewed = [&] {
    return lab
        .post("/apis/authentication.k8s.io/v1/tokenreviews", {{"apiVersion", "authentication.k8s.io/v1"},
                                                              {"kind", "TokenReview"},
                                                              {"spec", {{"token", str(made.json(), {"status", "token"})}}}})
        .json();
  };
  const Json review = reviewed();
  EXPECT_TRUE(flag(review, {"status", "authenticated"})) << dump_json(review);
  EXPECT_EQ(string_list_at(review, {"status", "user", "extra", "authentication.kubernetes.io/node-name"}),
            std::vector<std::string>{node});
  EXPECT_EQ(string_list_at(review, {"status", "user", "extra", "authentication.kubernetes.io/node-uid"}).size(), 1U);
  expect(lab.remove("/api/v1/nodes/" + node), 200);
  EXPECT_TRUE(lab.eventually([&] { return !flag(reviewed(), {"status", "authenticated"}); }, 15));
}

void g22(Lab& lab) {
  const auto review = [&](const std::string& kind, const Json& spec, const Json& metadata = Json::object()) {
    const bool local = kind == "LocalSubjectAccessReview";
    auto plural = kind + "s";
    std::transform(plural.begin(), plural.end(), plural.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lab.post("/apis/authorization.k8s.io/v1/" + (local ? "namespaces/" + lab.ns() + "/" + plural : plural),
                    {{"apiVersion", "authorization.k8s.io/v1"}, {"kind", kind}, {"metadata", metadata}, {"spec", spec}});
  };
  const Json resource = {{"verb", "get"}, {"resource", "pods"}, {"namespace", lab.ns()}};
  const Json path = {{"verb", "get"}, {"path", "/x"}};
  expect(review("LocalSubjectAccessReview", {{"user", "u"}, {"resourceAttributes", resource}}), 201);
  auto answer = review("LocalSubjectAccessReview", {{"user", "u"}, {"nonResourceAttributes", path}});
  expect(answer, 422, "Invalid");
  EXPECT_TRUE(complaint(answer, "spec.nonResourceAttributes").ends_with(": disallowed on this kind of request"));
  answer = review("LocalSubjectAccessReview", {{"resourceAttributes", {{"verb", "get"}, {"resource", "pods"}}}});
  expect(answer, 422, "Invalid");
  EXPECT_TRUE(has_cause(answer, "spec.user"));
  EXPECT_TRUE(has_cause(answer, "spec.resourceAttributes.namespace"));
  for (const std::string kind : {"SubjectAccessReview", "SelfSubjectAccessReview"}) {
    Json spec = {{"resourceAttributes", resource}};
    if (kind == "SubjectAccessReview") spec["user"] = "u";
    answer = review(kind, spec, {{"name", "x"}});
    expect(answer, 422, "Invalid");
    EXPECT_TRUE(complaint(answer, "metadata").ends_with(": must be empty")) << answer.body;
  }
}

void g23(Lab& lab) {
  const auto refused = [&](const std::vector<std::string>& headers) {
    const auto answer = lab.send({.path = lab.maps(), .headers = headers});
    expect(answer, 400, "BadRequest");
    return answer.message();
  };
  EXPECT_EQ(refused({"Impersonate-Group: g", "Impersonate-Group: h"}),
            "requested [{Group  g    } {Group  h    }] without impersonating a user");
  EXPECT_EQ(refused({"Impersonate-Uid: 7"}), "requested [{UID  7  authentication.k8s.io/v1  }] without impersonating a user");
  EXPECT_EQ(refused({"Impersonate-Extra-Scopes%2fx: v"}),
            "requested [{UserExtra  v  authentication.k8s.io/v1  scopes/x}] without impersonating a user");
  const auto manager =
      lab.send({.method = "POST", .path = lab.maps() + "?fieldManager=a%01", .body = dump_json(lab.config_map("x"))});
  expect(manager, 422, "Invalid");
  EXPECT_TRUE(complaint(manager, "fieldManager").ends_with(": invalid character U+0001 (at position 1)")) << manager.body;
}

}  // namespace

std::vector<Check> edge_checks() {
  return {{"G01", "health in detail", g01},
          {"G02", "issuer of tokens", g02},
          {"G03", "label selectors that do not parse", g03},
          {"G04", "empty values in label selectors", g04},
          {"G05", "a request's own timeout", g05},
          {"G06", "watches by path", g06},
          {"G19", "options that contradict each other", g19},
          {"G20", "paths that are not there", g20},
          {"G21", "tokens that are bound to a node", g21},
          {"G22", "access reviews that are none", g22},
          {"G23", "impersonation of nobody, and managers without a name", g23}};
}

}  // namespace fleetadm::conformance
