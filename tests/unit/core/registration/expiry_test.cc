// What ends, and when that counts as soon: the rules of certs check and doctor.
#include <gtest/gtest.h>

#include "core/registration/agent/certificate_keeper.h"
#include "core/registration/expiry/agent_hops.h"
#include "core/registration/expiry/figures.h"
#include "core/registration/expiry/hub_hops.h"
#include "core/registration/expiry/spoke_hops.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::registration::expiry {
namespace {

using std::chrono::hours;
constexpr auto kDay = hours(24);

const Instant kNow = *parse_time("2026-03-01T12:00:00Z");

Hop hop(Duration lived, Duration left) {
  Hop one;
  one.begins = kNow - lived;
  one.ends = kNow + left;
  return one;
}

Standing judged(Hop one, const Limit& limit = {}) {
  judge(one, limit, kNow);
  return one.standing;
}

TEST(Expiry, SoonIsAMonthOrTheLastTenthOfAShortLife) {
  EXPECT_EQ(judged(hop(300 * kDay, 65 * kDay)), Standing::kGood);
  EXPECT_EQ(judged(hop(336 * kDay, 29 * kDay)), Standing::kSoon);
  EXPECT_EQ(judged(hop(hours(20), hours(4))), Standing::kGood) << "an agent renews it in a moment";
  EXPECT_EQ(judged(hop(hours(22), hours(2))), Standing::kSoon) << "it should have been renewed";
  EXPECT_EQ(judged(hop(kDay, Duration::zero())), Standing::kEnded);
}

TEST(Expiry, AGivenLimitIsMeantForEverything) {
  EXPECT_EQ(judged(hop(hours(1), hours(23)), 2 * kDay), Standing::kSoon);
  EXPECT_EQ(judged(hop(336 * kDay, 29 * kDay), 7 * kDay), Standing::kGood);
  EXPECT_EQ(judged(hop(kDay, std::chrono::seconds(1)), Duration::zero()), Standing::kGood);
}

TEST(Expiry, WhatIsWrongStaysWrongAndWhatHasNoEndStaysAsItIs) {
  Hop one = hop(kDay, 365 * kDay);
  one.standing = Standing::kWrong;
  EXPECT_EQ(judged(one), Standing::kWrong);
  EXPECT_EQ(judged(unknown("c1", "x", "why")), Standing::kUnknown);
  EXPECT_EQ(judged(hop(-kDay, 365 * kDay)), Standing::kWrong) << "it begins tomorrow";
}

TEST(Expiry, OnlyWhatCountsFails) {
  Hop token = hop(kDay, -kDay);
  token.counts = false;
  judge(token, {}, kNow);
  EXPECT_EQ(token.standing, Standing::kEnded);
  EXPECT_FALSE(token.fails());
  Hop fresh = hop(Duration::zero(), hours(1));
  fresh.begins.reset();
  fresh.counts = false;
  EXPECT_EQ(judged(fresh), Standing::kGood) << "tokens are short-lived";
  EXPECT_EQ(judged(fresh, kDay), Standing::kSoon) << "unless that was asked";
  token.counts = true;
  EXPECT_TRUE(token.fails());
}

TEST(Expiry, DaysAreWholeOnes) {
  EXPECT_EQ(days_left(kNow + hours(47), kNow), 1);
  EXPECT_EQ(days_left(kNow - hours(1), kNow), -1);
}

TEST(Expiry, ARotationIsReadFromWhatTheAgentReports) {
  const Instant ends = kNow + 300 * kDay;
  const auto validity = rotation_of(agent::rotated_message(kNow, ends));
  ASSERT_TRUE(validity.has_value());
  EXPECT_EQ(validity->begins, kNow);
  EXPECT_EQ(validity->ends, ends);
  for (const char* text : {"", "starting from ", "starting from x to y", "client certificate rotated starting from 2026-03-01 to",
                           "starting from 2026-03-01 12:00:00 +0000 UTC to 2026-03-01 12:00"}) {
    EXPECT_FALSE(rotation_of(text).has_value()) << text;
  }
}

TEST(Expiry, TheHubKnowsTheLastRotationOrTheLastRequestItSigned) {
  const auto ca = pki::make_ca("signer", 365 * kDay).value();
  pki::LeafOptions leaf;
  leaf.client = true;
  leaf.validity = 100 * kDay;
  const std::string certificate = pki::issue(ca, leaf)->certificate;
  const Json request{{"metadata", {{"name", "csr-1"}}}, {"status", {{"certificate", base64_encode(certificate)}}}};
  Json of_addon = request;
  of_addon["metadata"]["labels"]["open-cluster-management.io/addon-name"] = "web";
  Json cluster{{"metadata", {{"name", "c1"}}}};
  EXPECT_EQ(member_hops(cluster, {})[0].standing, Standing::kUnknown);
  EXPECT_FALSE(member_hops(cluster, {of_addon})[0].ends.has_value()) << "an add-on's is not the agent's";
  EXPECT_EQ(member_hops(cluster, {request})[0].ends, pki::parse_certificates(certificate)->front().not_after);
  const Instant later = *member_hops(cluster, {request})[0].ends + kDay;
  cluster["status"]["conditions"] =
      Json::array({{{"type", agent::kCertificateRotated}, {"status", "True"}, {"message", agent::rotated_message(kNow, later)}}});
  EXPECT_EQ(member_hops(cluster, {request})[0].ends, later) << "the later one of the two";
}

class AgentCertificate : public testing::Test {
 protected:
  AgentCertificate() {
    pki::LeafOptions leaf;
    leaf.subject.common_name = "system:open-cluster-management:c1:x";
    leaf.client = true;
    pair = pki::issue(ca, leaf).value();
    secret.data = {{"cluster-name", "c1"}, {"tls.crt", pair.certificate}, {"tls.key", pair.key}};
  }
  pki::KeyPair ca = pki::make_ca("hub", 365 * kDay).value();
  pki::KeyPair pair;
  agent::HubSecret secret;
};

TEST_F(AgentCertificate, MustBelongToItsKeyAndToWhatTheHubTakes) {
  EXPECT_NE(agent_certificate(secret, "").standing, Standing::kWrong);
  EXPECT_NE(agent_certificate(secret, ca.certificate).standing, Standing::kWrong);
  const auto other = pki::make_ca("hub", 365 * kDay).value();
  EXPECT_EQ(agent_certificate(secret, other.certificate).standing, Standing::kWrong) << "the hub has another CA now";
  secret.data["tls.key"] = other.key;
  EXPECT_EQ(agent_certificate(secret, "").standing, Standing::kWrong);
  secret.data["tls.crt"] = "";
  EXPECT_EQ(agent_certificate(secret, "").fix, "accept the cluster on the hub: fleetadm accept c1");
}

TEST_F(AgentCertificate, AStoredAuthorityIsComparedWithWhatTheServerShows) {
  const Shown shown{"https://hub:6443", pair.certificate, ""};
  const Hop good = stored_authority("c1", "hub CA", ca.certificate, shown, "fix");
  EXPECT_EQ(good.ends, pki::parse_certificates(ca.certificate)->front().not_after);
  EXPECT_NE(good.standing, Standing::kWrong);
  const auto other = pki::make_ca("hub", 365 * kDay).value();
  EXPECT_EQ(stored_authority("c1", "hub CA", other.certificate, shown, "fix").standing, Standing::kWrong);
  EXPECT_NE(stored_authority("c1", "hub CA", other.certificate + ca.certificate, shown, "fix").standing, Standing::kWrong)
      << "while both are valid";
  const Hop unreached = stored_authority("c1", "hub CA", other.certificate, {"https://hub:6443", "", "refused"}, "fix");
  EXPECT_NE(unreached.standing, Standing::kWrong);
  EXPECT_NE(unreached.detail.find("refused"), std::string::npos);
}

TEST(Bootstrap, ItsEndIsThatOfTheTokenOrOfTheHubsList) {
  const auto with = [](const Json& user) {
    return bootstrap_credential(dump_yaml({{"current-context", "a"},
                                           {"contexts", Json::array({{{"name", "a"}, {"context", {{"user", "u"}}}}})},
                                           {"users", Json::array({{{"name", "u"}, {"user", user}}})}}));
  };
  HubView hub;
  join::BootstrapToken stored;
  stored.id = "abcdef";
  stored.expires = kNow;
  hub.tokens = {stored};
  const Hop known = bootstrap_hop("c1", *with({{"token", "abcdef.0123456789abcdef"}}), hub);
  EXPECT_EQ(known.ends, kNow);
  EXPECT_FALSE(known.counts);
  EXPECT_EQ(known.detail.find("0123456789abcdef"), std::string::npos);
  EXPECT_FALSE(bootstrap_hop("c1", *with({{"token", "zzzzzz.0123456789abcdef"}}), hub).ends.has_value());
  const std::string claims = base64url_encode(R"({"exp":1800000000})");
  EXPECT_EQ(bootstrap_hop("c1", *with({{"token", "e30." + claims + ".c2ln"}}), {}).ends,
            Instant(std::chrono::seconds(1800000000)));
  EXPECT_EQ(with({{"exec", {{"command", "true"}}}})->token, "") << "no program is run";
  EXPECT_FALSE(bootstrap_credential("{}").has_value());
}

TEST(Figures, AreThoseOfWhatHasAnEndAndOfWhatCounts) {
  Hop odd = hop(kDay, 300 * kDay);
  odd.place = "a\"b\\c\nd";
  odd.standing = Standing::kGood;
  Hop token = hop(kDay, hours(1));
  token.place = "c1";
  token.what = "bootstrap token";
  token.counts = false;
  const std::string text = figures({odd, token, unknown("c1", "x", "why")});
  EXPECT_NE(text.find("# TYPE fleetadm_expiration_timestamp_seconds gauge\n"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(fleetadm_expiration_ok{cluster="a\"b\\c\nd",hop=""} 1)"), std::string::npos) << text;
  const auto ends = std::to_string((kNow + hours(1)).time_since_epoch() / std::chrono::seconds(1));
  EXPECT_NE(text.find("fleetadm_expiration_timestamp_seconds{cluster=\"c1\",hop=\"bootstrap token\"} " + ends + "\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("fleetadm_expiration_ok{cluster=\"c1\""), std::string::npos) << "neither counts, nor can it be seen";
}

TEST(Figures, OfAnAgentHaveTheNamesThatCertsCheckGivesThem) {
  const pki::KeyPair ca = *pki::make_ca("hub", 10 * kDay);
  pki::LeafOptions leaf;
  leaf.subject = agent::subject_of({"c1", "abcde"});
  leaf.client = true;
  leaf.validity = 2 * kDay;
  const pki::KeyPair pair = *pki::issue(ca, leaf);
  const agent::Endpoint hub{"hub", "https://hub", ca.certificate, "", ""};
  agent::HubSecret secret;
  EXPECT_TRUE(credential_hops(secret).empty()) << "it has not joined yet";
  secret.data = {{agent::kClusterNameKey, "c1"},
                 {agent::kKubeconfigKey, agent::hub_kubeconfig(hub)},
                 {agent::kCertificateKey, pair.certificate},
                 {agent::kPrivateKeyKey, pair.key}};
  std::vector<Hop> hops = credential_hops(secret);
  const std::vector<Hop> more =
      bootstrap_hops("c1", dump_yaml(kube::make_kubeconfig("https://hub", ca.certificate, Json{{"token", "abcdef.secret"}})));
  hops.insert(hops.end(), more.begin(), more.end());
  std::vector<std::string> names;
  for (Hop& one : hops) {
    EXPECT_EQ(one.place, "c1");
    judge(one, {}, Clock::system()->now());
    names.push_back(one.what);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"agent certificate", "hub CA of the agent", "hub CA of the bootstrap", "bootstrap token"}));
  const std::string text = figures(hops);
  EXPECT_NE(text.find("fleetadm_expiration_ok{cluster=\"c1\",hop=\"agent certificate\"} 1"), std::string::npos) << text;
  EXPECT_NE(text.find("fleetadm_expiration_timestamp_seconds{cluster=\"c1\",hop=\"hub CA of the bootstrap\"} "),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("secret"), std::string::npos);
}

}  // namespace
}  // namespace fleetadm::registration::expiry
