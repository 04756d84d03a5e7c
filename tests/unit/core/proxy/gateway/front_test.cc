// What the gateway lets through, and as whom.
#include <algorithm>
#include <gtest/gtest.h>

#include "core/proxy/rules/caller.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/json.h"
#include "tests/unit/core/proxy/gateway/gateway_lab.h"

namespace fleetadm::proxy {
namespace {

std::string message_of(const LabAnswer& answer) {
  const auto status = parse_json(answer.body);
  if (!status || str(*status, {"kind"}) != "Status") return "no Status: " + answer.body;
  EXPECT_EQ(num(*status, {"code"}), answer.status);
  return str(*status, {"message"});
}

/// Who gave the answer: header and Status have to agree. Empty: the member itself.
std::string hop_of(const LabAnswer& answer) {
  std::string said;
  if (const auto at = answer.head.find("fleetadm-hop: "); at != std::string::npos)
    said = answer.head.substr(at + 14, answer.head.find('\r', at) - at - 14);
  const auto status = parse_json(answer.body);
  if (status && str(*status, {"kind"}) == "Status") {
    const Json& causes = list_at(*status, {"details", "causes"});
    EXPECT_EQ(causes.empty() ? "" : str(causes.front(), {"message"}), said) << answer.body;
  }
  return said;
}

Json account(const std::string& ns, const std::string& name) {
  return {{"username", "system:serviceaccount:" + ns + ":" + name},
          {"uid", "4711"},
          {"groups", {"system:serviceaccounts", "system:serviceaccounts:" + ns, "system:authenticated"}},
          {"extra", {{"authentication.kubernetes.io/pod-name", {"p"}}}}};
}

std::string jwt(const Json& claims) { return "e30." + base64url_encode(dump_json(claims)) + ".c2ln"; }

/// The names of the headers that the member's side got.
std::vector<std::string> names_of(const serve::HttpRequest& request) {
  std::vector<std::string> out;
  for (const auto& [name, value] : request.headers) out.push_back(name);
  return out;
}
bool has(const std::vector<std::string>& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

using GatewayFront = GatewayLab;

TEST_F(GatewayFront, ACertificatesUserActsAtTheMemberUnderTheSameName) {
  start();
  const auto answer = ask_as_jane({.target = "/clusters/c1/proxy/api/v1/namespaces/n/pods/a%3Ab%2Fc?watch=1&x=%2F"});
  EXPECT_EQ(answer.status, 200) << answer.body;
  const auto sent = hop_->last();
  EXPECT_EQ(sent.path, "/api/v1/namespaces/n/pods/a%3Ab%2Fc");
  EXPECT_EQ(sent.query, "watch=1&x=%2F");
  const auto actor = read_actor(sent.headers);
  ASSERT_TRUE(actor) << actor.error().message;
  EXPECT_EQ(std::get<Caller>(*actor).name, "jane");
  EXPECT_EQ(std::get<Caller>(*actor).groups, std::vector<std::string>{"devs"}) << "system:masters must not cross";
  ASSERT_EQ(access_specs_.size(), 1U);
  EXPECT_EQ(str(access_specs_[0], {"user"}), "jane");
  EXPECT_EQ(string_list_at(access_specs_[0], {"groups"}),
            (std::vector<std::string>{"devs", "system:masters", "system:authenticated"}));
  const Json wanted = {{"group", "proxy.open-cluster-management.io"},
                       {"version", "v1alpha1"},
                       {"resource", "clusters"},
                       {"subresource", "proxy"},
                       {"name", "c1"},
                       {"verb", "get"}};
  EXPECT_EQ(access_specs_[0]["resourceAttributes"], wanted);
}

TEST_F(GatewayFront, AServiceAccountOfTheHubGetsItsPrefixAndItsTokenStaysOnTheHub) {
  const std::string token = jwt({{"aud", {"https://kubernetes.default.svc"}}});
  tokens_[token] = {{"user", account("kube-system", "default")}};
  start();
  EXPECT_EQ(ask({.token = token}).status, 200);
  const auto sent = hop_->last();
  const auto actor = read_actor(sent.headers);
  ASSERT_TRUE(actor) << actor.error().message;
  EXPECT_EQ(std::get<Caller>(*actor).name, "cluster:hub:system:serviceaccount:kube-system:default");
  EXPECT_EQ(std::get<Caller>(*actor).groups,
            (std::vector<std::string>{"cluster:hub:system:serviceaccounts", "cluster:hub:system:serviceaccounts:kube-system"}));
  for (const auto& [name, value] : sent.headers) EXPECT_EQ(value.find(token), std::string::npos) << name;
  EXPECT_EQ(str(access_specs_.at(0), {"uid"}), "4711");
  EXPECT_EQ(token_specs_.at(0).count("audiences"), 0U) << "the API server's own audience";
}

TEST_F(GatewayFront, ATokenForTheGatewayIsReviewedForThatAudience) {
  const std::string token = jwt({{"aud", "fleetadm-gateway"}});
  tokens_[token] = {{"user", account("n", "a")}, {"audience", "fleetadm-gateway"}};
  start();
  EXPECT_EQ(ask({.token = token}).status, 200);
  EXPECT_EQ(string_list_at(token_specs_.at(0), {"audiences"}), std::vector<std::string>{"fleetadm-gateway"});
}

TEST_F(GatewayFront, ATokenForAnotherAudienceIsRefused) {
  const std::string token = jwt({{"aud", {"vault"}}});
  tokens_[token] = {{"user", account("n", "a")}, {"audience", "vault"}};
  start();
  EXPECT_EQ(ask({.token = token}).status, 401);
  EXPECT_TRUE(hop_->requests().empty());
}

TEST_F(GatewayFront, AServerThatIgnoresAudiencesIsNotBelieved) {
  const std::string token = jwt({{"aud", "fleetadm-gateway"}});
  api_->on_request([&](const testkit::ApiCall& call) -> std::optional<kube::Response> {
    Json body = call.body;
    body["status"] = {{"authenticated", true}, {"user", {{"username", "jane"}}}};
    return kube::Response{.status = 201, .headers = {}, .body = dump_json(body)};
  });
  start();
  EXPECT_EQ(ask({.token = token}).status, 401);
}

TEST_F(GatewayFront, NobodyAndTwoAtOnceAreRefused) {
  tokens_["t"] = {{"user", {{"username", "joe"}}}};
  start();
  EXPECT_EQ(ask({}).status, 401);
  EXPECT_EQ(ask({.token = "unknown"}).status, 401);
  EXPECT_EQ(ask({.token = "t", .certificate = &jane_}).status, 401);
  EXPECT_EQ(ask({.headers = {"Authorization: Basic amFuZTp4"}}).status, 401);
  EXPECT_EQ(ask({.headers = {"Authorization: Bearer t", "Authorization: Bearer t"}}).status, 401);
  EXPECT_TRUE(hop_->requests().empty());
}

TEST_F(GatewayFront, CertificatesOfOtherAuthoritiesAreRefused) {
  const auto other = *pki::make_ca("hub-clients", std::chrono::hours(1));
  const auto forged = certificate_of({"jane", {}, {}}, &other);
  const auto nameless = certificate_of({"", {"devs"}, {}});
  pki::LeafOptions leaf;
  leaf.subject = {"jane", {}, {}};
  leaf.client = true;
  leaf.backdate = std::chrono::hours(2);
  leaf.validity = std::chrono::hours(-1);
  const auto expired = *pki::issue(hub_ca_, leaf);
  pki::LeafOptions serving;
  serving.subject = {"jane", {}, {}};
  serving.server = true;
  const auto of_a_server = *pki::issue(hub_ca_, serving);
  start();
  EXPECT_EQ(ask({.certificate = &forged}).status, 401) << "of an authority of the same name";
  EXPECT_EQ(ask({.certificate = &nameless}).status, 401) << "without a name";
  EXPECT_EQ(ask({.certificate = &expired}).status, 401) << "expired";
  EXPECT_EQ(ask({.certificate = &of_a_server}).status, 401) << "of a server";
  EXPECT_TRUE(hop_->requests().empty());
}

TEST_F(GatewayFront, ReservedUsersOfTheHubDoNotActAtMembers) {
  start();
  for (const char* name : {"system:admin", "system:kube-controller-manager", "system:node:n1",
                           "cluster:hub:system:serviceaccount:a:b", "system:open-cluster-management:c1:agent"}) {
    const auto certificate = certificate_of({name, {"system:masters", "system:open-cluster-management:c1"}, {}});
    EXPECT_EQ(ask({.certificate = &certificate}).status, 403) << name;
  }
  EXPECT_TRUE(hop_->requests().empty());
}

/// What the hub was asked for the right to impersonate: "resource[/subresource] [namespace/]name".
std::vector<std::string> impersonations(const std::vector<Json>& specs) {
  std::vector<std::string> out;
  for (const Json& spec : specs) {
    const Json& what = spec["resourceAttributes"];
    if (str(what, {"verb"}) != "impersonate") continue;
    const std::string sub = str(what, {"subresource"});
    const std::string ns = str(what, {"namespace"});
    out.push_back(str(what, {"resource"}) + (sub.empty() ? "" : "/" + sub) + " " + (ns.empty() ? "" : ns + "/") +
                  str(what, {"name"}) + (str(what, {"group"}).empty() ? "" : " of " + str(what, {"group"})));
  }
  return out;
}

TEST_F(GatewayFront, ImpersonationIsJudgedByTheHubNameByName) {
  start();
  const auto answer = ask_as_jane({.headers = {"Impersonate-User: bob", "Impersonate-Group: ops", "Impersonate-Group: dev",
                                               "Impersonate-Uid: 7", "Impersonate-Extra-Acme.com%2fScope: view"}});
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(impersonations(access_specs_),
            (std::vector<std::string>{"users bob", "groups ops", "groups dev", "uids 7 of authentication.k8s.io",
                                      "userextras/acme.com/scope view of authentication.k8s.io"}));
  ASSERT_EQ(access_specs_.size(), 6U);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(str(access_specs_[static_cast<std::size_t>(i)], {"user"}), "jane") << i;
  const Json& use = access_specs_[5];
  EXPECT_EQ(str(use, {"user"}), "bob") << "from then on, the request is bob's";
  EXPECT_EQ(string_list_at(use, {"groups"}), (std::vector<std::string>{"ops", "dev", "system:authenticated"}));
  EXPECT_EQ(str(use, {"uid"}), "7");
  EXPECT_EQ(string_list_at(use, {"extra", "acme.com/scope"}), std::vector<std::string>{"view"});
  EXPECT_EQ(str(use, {"resourceAttributes", "resource"}), "clusters");
  const auto sent = hop_->last();
  for (const std::string& name : names_of(sent)) EXPECT_FALSE(name.starts_with("impersonate-")) << name;
  const auto actor = read_actor(sent.headers);
  ASSERT_TRUE(actor) << actor.error().message;
  EXPECT_EQ(std::get<Caller>(*actor).name, "bob");
  EXPECT_EQ(std::get<Caller>(*actor).groups, (std::vector<std::string>{"ops", "dev"})) << "none of jane's";
  const auto line = audited(1).front();
  EXPECT_EQ(line.user, "jane");
  EXPECT_EQ(line.impersonated, "bob");
  EXPECT_EQ(line.as, "bob");
}

TEST_F(GatewayFront, OneNameThatMayNotBeImpersonatedRefusesTheRequest) {
  allows_ = [](const Json& spec) {
    return str(spec, {"resourceAttributes", "verb"}) != "impersonate" || str(spec, {"resourceAttributes", "name"}) == "bob";
  };
  start();
  EXPECT_EQ(ask_as_jane({.headers = {"Impersonate-User: bob"}}).status, 200);
  for (const std::vector<std::string>& headers : {std::vector<std::string>{"Impersonate-User: admin"},
                                                  {"Impersonate-User: bob", "Impersonate-Group: ops"},
                                                  {"Impersonate-User: bob", "Impersonate-Uid: 7"},
                                                  {"Impersonate-User: bob", "Impersonate-Extra-Scopes: all"},
                                                  {"Impersonate-User: system:serviceaccount:kube-system:admin"}}) {
    const auto answer = ask_as_jane({.headers = headers});
    EXPECT_EQ(answer.status, 403) << headers.back();
    EXPECT_NE(message_of(answer).find("may not impersonate"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(hop_->requests().size(), 1U);
}

TEST_F(GatewayFront, ReservedNamesDoNotCrossWhoeverMayImpersonateThem) {
  start();
  for (const std::vector<std::string>& headers :
       {std::vector<std::string>{"Impersonate-User: system:admin"},
        {"Impersonate-User: system:anonymous"},
        {"Impersonate-User: cluster:hub:system:serviceaccount:a:b"},
        {"Impersonate-User: bob", "Impersonate-Group: system:masters"},
        {"Impersonate-User: bob", "Impersonate-Group: system:nodes"},
        {"Impersonate-User: bob", "Impersonate-Group: cluster:hub:system:serviceaccounts"}}) {
    const auto answer = ask_as_jane({.headers = headers});
    EXPECT_EQ(answer.status, 403) << headers.back();
    EXPECT_NE(message_of(answer).find("reserved"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(ask_as_jane({.headers = {"Impersonate-User: bob", "fleetadm-member-token: a.b.c"}}).status, 403) << "never mixed";
  EXPECT_TRUE(hop_->requests().empty());
  // Somebody whom no member knows may act as somebody whom they do.
  const auto admin = certificate_of({"kubernetes-admin", {"system:masters"}, {}});
  EXPECT_EQ(ask({.headers = {"Impersonate-User: bob", "Impersonate-Group: system:authenticated"}, .certificate = &admin}).status,
            200);
  const auto actor = read_actor(hop_->last().headers);
  ASSERT_TRUE(actor);
  EXPECT_EQ(std::get<Caller>(*actor).name, "bob");
  EXPECT_TRUE(std::get<Caller>(*actor).groups.empty());
}

TEST_F(GatewayFront, AnImpersonatedAccountIsTheHubs) {
  start();
  EXPECT_EQ(ask_as_jane({.headers = {"Impersonate-User: system:serviceaccount:ci:robot"}}).status, 200);
  EXPECT_EQ(impersonations(access_specs_), std::vector<std::string>{"serviceaccounts ci/robot"});
  const auto actor = read_actor(hop_->last().headers);
  ASSERT_TRUE(actor);
  EXPECT_EQ(std::get<Caller>(*actor).name, "cluster:hub:system:serviceaccount:ci:robot");
  EXPECT_EQ(std::get<Caller>(*actor).groups,
            (std::vector<std::string>{"cluster:hub:system:serviceaccounts", "cluster:hub:system:serviceaccounts:ci"}));
}

TEST_F(GatewayFront, ImpersonationHeadersThatSayNothingClearAreBad) {
  start();
  std::vector<std::string> many{"Impersonate-User: bob"};
  for (int i = 0; i < 128; ++i) many.push_back("Impersonate-Group: g" + std::to_string(i));
  for (const std::vector<std::string>& headers : {std::vector<std::string>{"Impersonate-Group: ops"},
                                                  {"Impersonate-Uid: 1"},
                                                  {"Impersonate-Extra-Scopes: x"},
                                                  {"Impersonate-User: bob", "Impersonate-User: admin"},
                                                  {"Impersonate-User: bob", "Impersonate-Uid: 1", "Impersonate-Uid: 2"},
                                                  {"Impersonate-User: bob", "Impersonate-Other: x"},
                                                  many}) {
    const auto answer = ask_as_jane({.headers = headers});
    EXPECT_EQ(answer.status, 400) << headers.back() << ": " << answer.body;
  }
  EXPECT_TRUE(impersonations(access_specs_).empty());
  EXPECT_TRUE(hop_->requests().empty());
}

TEST_F(GatewayFront, ForgedHeadersDoNotGoOn) {
  start();
  const auto answer = ask_as_jane({.headers = {"X-Remote-User: admin",
                                               "X-Remote-Group: system:masters",
                                               "X-Forwarded-For: 1.2.3.4",
                                               "X-Forwarded-Host: evil",
                                               "Forwarded: for=1.2.3.4",
                                               "X-Real-Ip: 1.2.3.4",
                                               "Host: kubernetes.default",
                                               "Cookie: a=b",
                                               "Via: 1.1 evil",
                                               "Cluster-Proxy-Namespace: kube-system",
                                               "fleetadm-user: admin",
                                               "fleetadm-group: system:masters",
                                               "fleetadm-extra-a: b",
                                               "fleetadm-token: member",
                                               "fleetadm-upgrade: SPDY/3.1",
                                               "Proxy-Authorization: Basic x",
                                               "Connection: keep-alive, X-Secret",
                                               "X-Secret: 1",
                                               "Audit-ID: forged",
                                               "Accept: application/json",
                                               "X-Mine: stays"}});
  EXPECT_EQ(answer.status, 200) << answer.body;
  const auto sent = hop_->last();
  const auto names = names_of(sent);
  for (const char* name : {"x-remote-user", "x-remote-group", "x-forwarded-for", "x-forwarded-host", "forwarded", "x-real-ip",
                           "host", "cookie", "via", "cluster-proxy-namespace", "fleetadm-extra-a", "fleetadm-token",
                           "fleetadm-upgrade", "proxy-authorization", "connection", "x-secret", "authorization"})
    EXPECT_FALSE(has(names, name)) << name;
  EXPECT_EQ(sent.header("accept"), "application/json");
  EXPECT_EQ(sent.header("x-mine"), "stays");
  EXPECT_NE(sent.header("audit-id"), "forged");
  const auto actor = read_actor(sent.headers);
  ASSERT_TRUE(actor) << actor.error().message;
  EXPECT_EQ(std::get<Caller>(*actor).name, "jane");
}

TEST_F(GatewayFront, AMembersTokenGoesToTheMemberAndNobodyIsImpersonated) {
  start();
  const auto answer = ask_as_jane({.headers = {"fleetadm-member-token: a.b.c"}});
  EXPECT_EQ(answer.status, 200) << answer.body;
  const auto sent = hop_->last();
  const auto actor = read_actor(sent.headers);
  ASSERT_TRUE(actor) << actor.error().message;
  ASSERT_TRUE(std::holds_alternative<MemberToken>(*actor));
  EXPECT_EQ(std::get<MemberToken>(*actor).token, "a.b.c");
  EXPECT_EQ(str(access_specs_.at(0), {"user"}), "jane") << "the hub still decides who may use the cluster";
  tokens_["hub"] = {{"user", {{"username", "joe"}}}};
  EXPECT_EQ(ask({.headers = {"fleetadm-member-token: hub"}, .token = "hub"}).status, 400);
  EXPECT_EQ(ask_as_jane({.headers = {"fleetadm-member-token: a b"}}).status, 400);
  EXPECT_EQ(ask({.headers = {"fleetadm-member-token: a.b.c"}}).status, 401) << "it says nothing on the hub";
}

TEST_F(GatewayFront, TheTokenOfAWebSocketIsTheHubsAndIsTakenFromTheSubprotocols) {
  tokens_["t.t.t"] = {{"user", {{"username", "joe"}}}};
  start();
  const auto answer = ask({.headers = {"Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io." +
                                       base64url_encode("t.t.t") + ", v5.channel.k8s.io"}});
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(hop_->last().header("sec-websocket-protocol"), "v5.channel.k8s.io");
}

TEST_F(GatewayFront, WhoMayNotUseAClusterDoesNotLearnWhetherThereIsOne) {
  allows_ = [](const Json& spec) { return str(spec, {"resourceAttributes", "verb"}) == "get"; };
  start();
  EXPECT_EQ(ask_as_jane({.target = "/clusters/c1/proxy/api/v1/pods", .method = "POST", .body = "{}"}).status, 403);
  EXPECT_EQ(ask_as_jane({.target = "/clusters/nowhere/proxy/api/v1/pods", .method = "POST", .body = "{}"}).status, 403);
  EXPECT_TRUE(hop_->requests().empty());
  const auto answer = ask_as_jane({.target = "/clusters/nowhere/proxy/version"});
  EXPECT_EQ(answer.status, 404);
  EXPECT_NE(message_of(answer).find("nowhere"), std::string::npos);
}

TEST_F(GatewayFront, EveryFailureSaysWhichHopItWas) {
  start();
  const auto no_tunnel = ask_as_jane({.target = "/clusters/c2/proxy/version"});
  EXPECT_EQ(no_tunnel.status, 503);
  EXPECT_EQ(hop_of(no_tunnel), "tunnel");
  EXPECT_NE(message_of(no_tunnel).find("no tunnel"), std::string::npos);
  const auto denied = ask_as_jane({.target = "/clusters/denied/proxy/version"});
  EXPECT_EQ(denied.status, 403);
  EXPECT_EQ(hop_of(denied), "gateway");
  EXPECT_EQ(hop_of(ask({})), "gateway") << "the 401";
  EXPECT_EQ(ask_as_jane({.target = "/clusters/c1/proxy/../x"}).status, 400);
  EXPECT_EQ(ask_as_jane({.target = "/healthz"}).status, 404);
  hop_->answer_with([](const auto&) { return fail(Category::kTimeout, "the API server is silent"); });
  const auto silent = ask_as_jane({});
  EXPECT_EQ(silent.status, 504);
  EXPECT_EQ(hop_of(silent), "tunnel");
  EXPECT_NE(message_of(silent).find("c1"), std::string::npos);
  hop_->answer_with([](const auto&) { return fail(Category::kUnavailable, "cut"); });
  EXPECT_EQ(ask_as_jane({}).status, 502);
  states_["unread"] = ClusterState::kUnread;
  const auto unread = ask_as_jane({.target = "/unread/version"});
  EXPECT_EQ(unread.status, 503);
  EXPECT_EQ(hop_of(unread), "hub");
}

TEST_F(GatewayFront, AMembersOwnAnswerNamesNoHopAndOneOfItsAgentDoes) {
  start();
  const auto answered = [&](const std::string& said, const serve::Headers& headers) {
    hop_->answer_with([=](const auto&) -> Result<serve::HttpResponse> {
      auto out = serve::answer_text(403, said, "application/json");
      out.headers.insert(out.headers.end(), headers.begin(), headers.end());
      return out;
    });
    return ask_as_jane({});
  };
  EXPECT_EQ(hop_of(answered("{}", {})), "");
  EXPECT_EQ(hop_of(answered("{}", {{"fleetadm-hop", "agent"}})), "agent");
  EXPECT_EQ(hop_of(answered("{}", {{"fleetadm-hop", "member"}})), "member");
  for (const char* forged : {"gateway", "hub", "", "agent, gateway"})
    EXPECT_EQ(hop_of(answered("{}", {{"fleetadm-hop", forged}})), "") << "nobody behind the gateway speaks for it";
}

TEST_F(GatewayFront, AHubThatDoesNotAnswerIsTheHopThatFailed) {
  start();
  hub_is_away_ = true;
  const auto unknown = ask({.token = "t"});
  EXPECT_EQ(unknown.status, 503);
  EXPECT_EQ(hop_of(unknown), "hub");
  const auto unasked = ask_as_jane({});
  EXPECT_EQ(unasked.status, 503);
  EXPECT_EQ(hop_of(unasked), "hub");
}

TEST_F(GatewayFront, WithoutTheHubNobodyNewGetsIn) {
  tokens_["t"] = {{"user", {{"username", "joe"}}}};
  start();
  EXPECT_EQ(ask({.token = "t"}).status, 200);
  hub_is_away_ = true;
  EXPECT_EQ(ask({.token = "t"}).status, 200) << "known for a moment";
  EXPECT_EQ(ask({.token = "other"}).status, 503);
  clock_->advance(std::chrono::seconds(11));
  EXPECT_EQ(ask({.token = "t"}).status, 503);
  EXPECT_EQ(hop_->requests().size(), 2U);
}

TEST_F(GatewayFront, AnswersOfTheHubAreKeptForTenSecondsAndNotLonger) {
  tokens_["t"] = {{"user", {{"username", "joe"}}}};
  start();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask({.token = "t"}).status, 200);
  EXPECT_EQ(reviews("tokenreviews"), 1);
  EXPECT_EQ(reviews("subjectaccessreviews"), 1);
  tokens_.clear();
  allows_ = [](const Json&) { return false; };
  clock_->advance(std::chrono::seconds(9));
  EXPECT_EQ(ask({.token = "t"}).status, 200);
  clock_->advance(std::chrono::seconds(2));
  EXPECT_EQ(ask({.token = "t"}).status, 401);
  EXPECT_EQ(ask_as_jane({}).status, 403);
}

TEST_F(GatewayFront, ATokenIsNotBelievedLongerThanItLives) {
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(clock_->now().time_since_epoch()).count();
  const std::string token = jwt({{"exp", now + 3}});
  tokens_[token] = {{"user", {{"username", "joe"}}}};
  start();
  EXPECT_EQ(ask({.token = token}).status, 200);
  tokens_.clear();
  clock_->advance(std::chrono::seconds(4));
  EXPECT_EQ(ask({.token = token}).status, 401);
}

TEST_F(GatewayFront, TheVerbIsTheMembersAndAnUpgradeCreates) {
  struct Case {
    const char* method;
    const char* target;
    const char* verb;
  };
  start();
  for (const Case& one : std::vector<Case>{{"GET", "/c1/api/v1/pods", "list"},
                                           {"GET", "/c1/api/v1/pods?watch=true", "watch"},
                                           {"GET", "/c1/api/v1/namespaces/n/pods/p", "get"},
                                           {"HEAD", "/c1/api/v1/namespaces/n/pods/p", "get"},
                                           {"POST", "/c1/api/v1/namespaces/n/pods", "create"},
                                           {"PUT", "/c1/api/v1/namespaces/n/pods/p", "update"},
                                           {"PATCH", "/c1/api/v1/namespaces/n/pods/p", "patch"},
                                           {"DELETE", "/c1/api/v1/namespaces/n/pods/p", "delete"},
                                           {"DELETE", "/c1/api/v1/namespaces/n/pods", "deletecollection"},
                                           {"GET", "/c1/version", "get"},
                                           {"POST", "/c1/other", "create"}}) {
    access_specs_.clear();
    clock_->advance(std::chrono::seconds(11));
    EXPECT_EQ(ask_as_jane({.target = one.target, .method = one.method}).status, 200) << one.target;
    ASSERT_EQ(access_specs_.size(), 1U);
    EXPECT_EQ(str(access_specs_[0], {"resourceAttributes", "verb"}), one.verb) << one.method << " " << one.target;
  }
  access_specs_.clear();
  clock_->advance(std::chrono::seconds(11));
  ask_as_jane(
      {.target = "/c1/api/v1/namespaces/n/pods/p/exec?command=sh", .headers = {"Connection: Upgrade", "Upgrade: websocket"}});
  ASSERT_EQ(access_specs_.size(), 1U);
  EXPECT_EQ(str(access_specs_[0], {"resourceAttributes", "verb"}), "create");
  EXPECT_EQ(ask_as_jane({.method = "TRACE"}).status, 405);
}

TEST_F(GatewayFront, ServicesAreReachedOnlyWhereTheListNamesThem) {
  const auto list = ExposedServices::parse({{"data", {{"a", "- {namespace: ns1, service: web, port: 8443, clusters: [c1]}"}}}});
  ASSERT_TRUE(list);
  options_.exposes = [&](std::string_view cluster, const ServiceTarget& service) { return list->allows(cluster, service); };
  start();
  EXPECT_EQ(ask_as_jane({.target = "/c1/api/v1/namespaces/ns1/services/https:web:8443/proxy-service/x%2Fy?q=1"}).status, 200);
  EXPECT_EQ(hop_->last().path, "/api/v1/namespaces/ns1/services/https:web:8443/proxy/x%2Fy");
  EXPECT_EQ(ask_as_jane({.target = "/c1/api/v1/namespaces/ns1/services/https:web:9443/proxy-service/x"}).status, 403);
  EXPECT_EQ(ask_as_jane({.target = "/c2/api/v1/namespaces/ns1/services/https:web:8443/proxy-service/x"}).status, 403);
  EXPECT_EQ(hop_->requests().size(), 1U);
}

TEST_F(GatewayFront, NothingIsExposedWithoutAList) {
  start();
  EXPECT_EQ(ask_as_jane({.target = "/c1/api/v1/namespaces/ns1/services/https:web:8443/proxy-service/x"}).status, 403);
}

}  // namespace
}  // namespace fleetadm::proxy
