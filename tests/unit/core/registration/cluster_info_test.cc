// cluster-info: what is signed is what Kubernetes signs, and what is not signed, or not with this token, is not believed.
#include "core/registration/join/cluster_info.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <tuple>

#include "core/registration/join/bootstrap_secret.h"
#include "core/registration/join/hub_discovery.h"
#include "core/registration/join/member_endpoint.h"
#include "core/registration/join/preflight.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"
#include "tests/support/fake_api.h"
#include "tests/support/tls_server.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;

const std::string kToken = "abcdef.0123456789abcdef";
const std::string kOther = "abcdef.fedcba9876543210";

Json config_map(const std::string& kubeconfig) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", "cluster-info"}, {"namespace", "kube-public"}}},
          {"data", {{"kubeconfig", kubeconfig}}}};
}

Json signed_map(const std::string& kubeconfig, const std::string& token) {
  Json map = config_map(kubeconfig);
  map["data"]["jws-kubeconfig-" + token.substr(0, 6)] = detached_signature(kubeconfig, token.substr(0, 6), token.substr(7));
  return map;
}

TEST(ClusterInfo, SignsAsKubernetesDoes) {
  // Of the tests of Kubernetes' own signer.
  EXPECT_EQ(
      detached_signature("Hello from the other side. I must have called a thousand times.", "joshua", "my voice is my passcode"),
      "eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8");
}

TEST(ClusterInfo, TokensAreSixAndSixteenCharacters) {
  EXPECT_TRUE(is_bootstrap_token(kToken));
  for (const char* bad : {"", "abcdef", "abcdef.0123456789abcde", "abcdef.0123456789abcdef0", "Abcdef.0123456789abcdef",
                          "abcde..0123456789abcdef", "abcdef-0123456789abcdef", "abcdef.0123456789abcde\n"})
    EXPECT_FALSE(is_bootstrap_token(bad)) << bad;
}

TEST(ClusterInfo, WhatIsNotSignedWithTheTokenIsNotBelieved) {
  const std::string good = dump_json(signed_map("text", kToken));
  EXPECT_EQ(signed_kubeconfig(good, kToken).value_or(""), "text");
  Json altered = signed_map("text", kToken);
  altered["data"]["kubeconfig"] = "text ";
  Json foreign = signed_map("text", "ghijkl.0123456789abcdef");
  const std::vector<std::tuple<std::string, std::string, std::string>> cases{
      {dump_json(altered), kToken, "does not have the signature"},
      {good, kOther, "does not have the signature"},
      {dump_json(foreign), kToken, "is not signed with the token abcdef"},
      {dump_json(config_map("text")), kToken, "is not signed with the token abcdef"},
      {dump_json(config_map("")), kToken, "has no kubeconfig"},
      {"<html>", kToken, "is not a ConfigMap"},
      {"[]", kToken, "is not a ConfigMap"}};
  for (const auto& [map, token, says] : cases) {
    const auto read = signed_kubeconfig(map, token);
    ASSERT_FALSE(read) << map;
    EXPECT_EQ(read.error().category, Category::kTls);
    EXPECT_NE(read.error().message.find(says), std::string::npos) << read.error().message;
    EXPECT_EQ((read.error().message + read.error().hint).find(token.substr(7)), std::string::npos) << "no secret is told";
  }
}

TEST(ClusterInfo, OneClusterWithACaIsNeeded) {
  const std::string ca = base64_encode(pki::make_ca("hub", std::chrono::hours(1))->certificate);
  const auto of = [](const std::string& clusters) { return "clusters: [" + clusters + "]\n"; };
  const std::string one = "{name: '', cluster: {server: 'https://x', certificate-authority-data: " + ca + "}}";
  EXPECT_TRUE(authorities_of(of(one)));
  EXPECT_NE(authorities_of(of(one + "," + one)).error().message.find("names 2 clusters"), std::string::npos);
  EXPECT_NE(authorities_of(of("")).error().message.find("names 0 clusters"), std::string::npos);
  EXPECT_NE(authorities_of(of("{name: x, cluster: {server: 'https://x'}}")).error().message.find("has no CA"), std::string::npos);
  EXPECT_NE(authorities_of(of("{cluster: {certificate-authority-data: eA==}}")).error().message.find("cannot be read"),
            std::string::npos);
  EXPECT_FALSE(authorities_of("{"));
}

class ClusterInfoOnAHub : public testing::Test {
 protected:
  void put_token(const std::string& token, const std::string& usage, const std::string& expires = {}) {
    Json data{{"token-id", base64_encode(token.substr(0, 6))},
              {"token-secret", base64_encode(token.substr(7))},
              {"usage-bootstrap-" + usage, base64_encode("true")}};
    if (!expires.empty()) data["expiration"] = base64_encode(expires);
    hub_->put(r::secrets(), {{"type", "bootstrap.kubernetes.io/token"},
                             {"metadata", {{"name", "bootstrap-token-" + token.substr(0, 6)}, {"namespace", "kube-system"}}},
                             {"data", data}});
  }
  Json data() const { return hub_->get(r::config_maps(), "kube-public", "cluster-info").value_or(Json())["data"]; }

  std::shared_ptr<testkit::FakeApi> hub_ = testkit::FakeApi::make();
  Instant now_ = *parse_time("2026-03-01T12:00:00Z");
};

TEST_F(ClusterInfoOnAHub, ASignatureIsAddedBesideOthersAndTakenAlone) {
  hub_->put(r::config_maps(), signed_map("text", "ghijkl.0123456789abcdef"));
  ASSERT_TRUE(sign_cluster_info(hub_->client(), kToken));
  Json both = *hub_->get(r::config_maps(), "kube-public", "cluster-info");
  both["kind"] = "ConfigMap";
  EXPECT_TRUE(signed_kubeconfig(dump_json(both), kToken));
  EXPECT_TRUE(signed_kubeconfig(dump_json(both), "ghijkl.0123456789abcdef"));
  ASSERT_TRUE(drop_signatures(hub_->client(), {"abcdef", "zzzzzz"}));
  EXPECT_FALSE(data().contains("jws-kubeconfig-abcdef"));
  EXPECT_TRUE(data().contains("jws-kubeconfig-ghijkl"));
  const auto writes = hub_->writes().size();
  ASSERT_TRUE(drop_signatures(hub_->client(), {"abcdef"}));
  EXPECT_EQ(hub_->writes().size(), writes) << "nothing is left to take";
}

TEST_F(ClusterInfoOnAHub, AnotherContentIsSignedByTheTokensThatMaySign) {
  Json map = signed_map("old", "gone00.0123456789abcdef");
  map["data"]["kubeconfig"] = "new";
  hub_->put(r::config_maps(), map);
  put_token(kToken, "signing");
  put_token("expire.0123456789abcdef", "signing", "2026-03-01T11:59:59Z");
  put_token("plain0.0123456789abcdef", "authentication");
  ASSERT_TRUE(sign_again(hub_->client(), now_));
  EXPECT_EQ(data(), signed_map("new", kToken)["data"]);
  const auto writes = hub_->writes().size();
  ASSERT_TRUE(sign_again(hub_->client(), now_));
  EXPECT_EQ(hub_->writes().size(), writes);
}

/// A server that answers cluster-info as the test says: what checks find, hop by hop.
class Discovery : public testing::Test {
 protected:
  void answer(std::function<bool(const testkit::TlsWrite&, int time)> with) { answer_ = std::move(with); }
  std::string info(const pki::KeyPair& of) const {
    return dump_json(Json{
        {"clusters",
         Json::array({{{"cluster",
                        {{"server", "https://elsewhere:1"}, {"certificate-authority-data", base64_encode(of.certificate)}}}}})}});
  }
  Preflight check(const pki::KeyPair& pinned) {
    pki::LeafOptions leaf;
    leaf.server = true;
    leaf.ip_addresses = {"127.0.0.1"};
    int times = 0;
    const testkit::TlsServer server(pki::issue(ca_, leaf).value(), [&](const testkit::TlsRequest& request, const auto& write) {
      if (request.headers.contains("authorization")) told_token_ = true;
      if (request.target == kClusterInfoPath) return answer_(write, times++);
      return write(testkit::TlsServer::response(404, "{}"));
    });
    HubEndpoint endpoint;
    endpoint.server = server.url();
    endpoint.token = kToken;
    endpoint.ca_pin = pki::ca_pin(pinned.certificate).value();
    endpoint.signed_info = true;
    return check_hub(endpoint, *Clock::system(), {});
  }
  void refused(const pki::KeyPair& pinned, const std::string& hop, const std::string& says) {
    const Preflight found = check(pinned);
    ASSERT_TRUE(found.error) << says;
    EXPECT_NE(found.error->message.find(says), std::string::npos) << found.error->message;
    const auto failed = std::find_if(found.checks.begin(), found.checks.end(),
                                     [](const Check& one) { return one.outcome == Outcome::kFailed && one.name != "clock"; });
    ASSERT_NE(failed, found.checks.end());
    EXPECT_EQ(failed->name, hop);
    EXPECT_FALSE(told_token_) << "the token was sent to a server that is not the hub";
    for (const Check& one : found.checks) EXPECT_EQ(one.detail.find(kToken.substr(7)), std::string::npos);
  }
  static std::function<bool(const testkit::TlsWrite&, int)> always(int status, const std::string& body,
                                                                   const std::string& headers = {}) {
    return [=](const testkit::TlsWrite& write, int) { return write(testkit::TlsServer::response(status, body, headers)); };
  }

  pki::KeyPair ca_ = pki::make_ca("hub", std::chrono::hours(24)).value();
  std::function<bool(const testkit::TlsWrite&, int)> answer_;
  bool told_token_ = false;
};

TEST_F(Discovery, NothingButTheSignedInfoOfThePinnedCaIsBelieved) {
  answer(always(200, dump_json(config_map(info(ca_)))));
  refused(ca_, "cluster-info", "is not signed with the token abcdef");
  answer(always(200, dump_json(signed_map(info(ca_), kOther))));
  refused(ca_, "cluster-info", "does not have the signature");
  const pki::KeyPair other = pki::make_ca("hub", std::chrono::hours(24)).value();
  answer(always(200, dump_json(signed_map(info(other), kToken))));
  refused(ca_, "CA pin", "no CA in cluster-info has the pin");
  refused(other, "TLS", "");
}

TEST_F(Discovery, RedirectsRefusalsAndEndlessAnswersAreNamed) {
  answer(always(302, "", "Location: https://127.0.0.1:1/\r\n"));
  refused(ca_, "cluster-info", "302, a redirect, which is not followed");
  answer(always(403, "{}"));
  refused(ca_, "cluster-info", "403: not everybody may read it");
  answer(always(404, "{}"));
  refused(ca_, "cluster-info", "404: it is not published");
  answer([](const testkit::TlsWrite& write, int) {
    bool goes_on = write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n");
    for (const std::string block(1 << 16, ' '); goes_on;) goes_on = write(block);
    return false;
  });
  refused(ca_, "cluster-info", "answers with more than 1 MiB");
}

TEST_F(Discovery, NothingIsSentToAnAddressThatIsRefused) {
  pki::LeafOptions leaf;
  leaf.server = true;
  leaf.dns_names = {"localhost"};
  bool asked = false;
  const testkit::TlsServer server(pki::issue(ca_, leaf).value(), [&](const testkit::TlsRequest&, const auto& write) {
    asked = true;
    return write(testkit::TlsServer::response(200, "{}"));
  });
  std::string by_name = server.url();
  by_name.replace(by_name.find("127.0.0.1"), 9, "localhost");
  std::string seen;
  const auto refuse = [&](bool all) {
    return [&seen, all](std::string_view address) {
      seen = address;
      return all && is_loopback_address(address);
    };
  };
  const auto refused = look_at_hub(by_name, "/version", {}, {}, std::chrono::seconds(5), refuse(true));
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_TRUE(is_loopback_address(refused->refused)) << refused->refused;
  EXPECT_TRUE(refused->chain.empty());
  EXPECT_FALSE(asked);
  const auto taken = look_at_hub(by_name, "/version", {}, {}, std::chrono::seconds(5), refuse(false));
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_TRUE(asked);
  EXPECT_EQ(seen, taken->address) << "what is asked for is what is dialled";
}

TEST_F(Discovery, AnInfoOfLongAgoIsNotPlayedBack) {
  const std::string now = dump_json(signed_map(info(ca_) + "\n", kToken));
  const std::string before = dump_json(signed_map(info(ca_), kToken));
  answer([&](const testkit::TlsWrite& write, int time) {
    return write(testkit::TlsServer::response(200, time == 0 ? before : now));
  });
  refused(ca_, "cluster-info", "differs when it is read over a verified connection");
}

TEST_F(Discovery, WhatIsInOrderGoesOnToTheToken) {
  answer(always(200, dump_json(signed_map(info(ca_), kToken))));
  const Preflight found = check(ca_);
  EXPECT_TRUE(told_token_);
  for (const Check& one : found.checks) {
    if (one.name == "cluster-info" || one.name == "CA pin" || one.name == "TLS") {
      EXPECT_EQ(one.outcome, Outcome::kPassed);
    }
  }
  EXPECT_NE(found.hub.server.find("127.0.0.1"), std::string::npos) << "the address that was given";
}

}  // namespace
}  // namespace fleetadm::join
