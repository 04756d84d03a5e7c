// When a stored credential is usable, and when it is due for renewal.
#include <gtest/gtest.h>

#include "core/registration/agent/certificate_keeper.h"
#include "core/registration/agent/hub_secret.h"
#include "core/registration/agent/issuance.h"
#include "core/registration/agent/rotation.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::registration::agent {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

const Identity kMe{"c1", "abcde"};
const Endpoint kHub{"hub", "https://hub.example:6443", "CA\n", "", ""};

const pki::KeyPair& ca() {
  static const pki::KeyPair made = pki::make_ca("test", hours(48)).value();
  return made;
}

HubSecret secret_for(const pki::Subject& subject, Duration validity = hours(10)) {
  pki::LeafOptions leaf;
  leaf.subject = subject;
  leaf.client = true;
  leaf.validity = validity;
  leaf.backdate = Duration::zero();
  const pki::KeyPair pair = pki::issue(ca(), leaf).value();
  HubSecret secret;
  secret.data = {{kKubeconfigKey, hub_kubeconfig(kHub)},
                 {kClusterNameKey, kMe.cluster},
                 {kAgentNameKey, kMe.agent},
                 {kCertificateKey, pair.certificate},
                 {kPrivateKeyKey, pair.key}};
  return secret;
}

Instant now() { return Clock::system()->now(); }

TEST(HubKubeconfig, IsWhatUpstreamWrites) {
  const Endpoint endpoint{"rig", "https://127.0.0.1:16443", "CA", "http://proxy:3128", ""};
  EXPECT_EQ(hub_kubeconfig(endpoint),
            "apiVersion: v1\n"
            "clusters:\n"
            "- cluster:\n"
            "    certificate-authority-data: Q0E=\n"
            "    proxy-url: http://proxy:3128\n"
            "    server: https://127.0.0.1:16443\n"
            "  name: rig\n"
            "contexts:\n"
            "- context:\n"
            "    cluster: rig\n"
            "    namespace: configuration\n"
            "    user: default-auth\n"
            "  name: default-context\n"
            "current-context: default-context\n"
            "kind: Config\n"
            "users:\n"
            "- name: default-auth\n"
            "  user:\n"
            "    client-certificate: tls.crt\n"
            "    client-key: tls.key\n");
}

TEST(HubKubeconfig, ReadsBackAsTheSameEndpoint) {
  const Endpoint endpoint{"e", "https://h:1/prefix", "line\nline\n", "socks5://p:1", "name.example"};
  const auto read = endpoint_of(hub_kubeconfig(endpoint));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, endpoint);
}

class BadKubeconfig : public testing::TestWithParam<const char*> {};
TEST_P(BadKubeconfig, IsInvalid) {
  const auto read = endpoint_of(GetParam());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().category, Category::kInvalid);
}
INSTANTIATE_TEST_SUITE_P(
    Texts, BadKubeconfig,
    testing::Values("", "[]", "{", "current-context: a", "{current-context: a, contexts: [{name: a, context: {cluster: b}}]}",
                    "{current-context: a, contexts: [{name: a, context: {cluster: b}}], clusters: [{name: b, cluster: {}}]}",
                    "{current-context: a, contexts: 7, clusters: [1, null]}",
                    "{current-context: a, contexts: [{name: a, context: {cluster: b}}], clusters: [{name: b, cluster: "
                    "{server: 'https://x', certificate-authority: ca.crt}}]}",
                    "{current-context: a, contexts: [{name: a, context: {cluster: b}}], clusters: [{name: b, cluster: "
                    "{server: 'https://x', certificate-authority-data: '%%%'}}]}"));

struct Case {
  const char* name;
  std::function<void(HubSecret&)> spoil;
  const char* says;  // part of the reason; empty: usable
};

class Usable : public testing::TestWithParam<Case> {};

TEST_P(Usable, SaysWhyNot) {
  HubSecret secret = secret_for(subject_of(kMe));
  GetParam().spoil(secret);
  const std::string why = why_unusable(secret, kMe, kHub, now());
  if (*GetParam().says == '\0') {
    EXPECT_EQ(why, "");
  } else {
    EXPECT_NE(why.find(GetParam().says), std::string::npos) << why;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, Usable,
    testing::Values(Case{"Whole", [](HubSecret&) {}, ""},
                    Case{"UnknownKeysStay", [](HubSecret& s) { s.data["config.yaml"] = "x"; }, ""},
                    Case{"Empty", [](HubSecret& s) { s.data.clear(); }, "no hub kubeconfig"},
                    Case{"OnlyNames", [](HubSecret& s) { s.data.erase(kKubeconfigKey); }, "no hub kubeconfig"},
                    Case{"Garbage", [](HubSecret& s) { s.data[kKubeconfigKey] = "{"; }, "cannot be read"},
                    Case{"NoKey", [](HubSecret& s) { s.data.erase(kPrivateKeyKey); }, "no private key"},
                    Case{"NoCertificate", [](HubSecret& s) { s.data.erase(kCertificateKey); }, "no readable client certificate"},
                    Case{"BadCertificate", [](HubSecret& s) { s.data[kCertificateKey] = "x"; }, "no readable client certificate"},
                    Case{"ForeignKey", [](HubSecret& s) { s.data[kPrivateKeyKey] = pki::generate_key().value(); },
                         "does not belong"},
                    Case{"OtherAgent",
                         [](HubSecret& s) {
                           s = secret_for(subject_of({"c1", "other"}));
                         },
                         "another identity"},
                    Case{"OtherCluster",
                         [](HubSecret& s) {
                           s = secret_for(subject_of({"c10", "abcde"}));
                         },
                         "another identity"},
                    Case{"OtherHub",
                         [](HubSecret& s) {
                           Endpoint other = kHub;
                           other.server = "https://other";
                           s.data[kKubeconfigKey] = hub_kubeconfig(other);
                         },
                         "another hub"},
                    Case{"OtherCa",
                         [](HubSecret& s) {
                           Endpoint other = kHub;
                           other.ca_pem = "CB\n";
                           s.data[kKubeconfigKey] = hub_kubeconfig(other);
                         },
                         "another hub"},
                    Case{"OtherEntryName",
                         [](HubSecret& s) {
                           Endpoint other = kHub;
                           other.entry = "hub2";
                           s.data[kKubeconfigKey] = hub_kubeconfig(other);
                         },
                         "another hub"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(Usable, ExpiredIsNot) {
  const HubSecret secret = secret_for(subject_of(kMe), hours(1));
  EXPECT_EQ(why_unusable(secret, kMe, kHub, now()), "");
  EXPECT_NE(why_unusable(secret, kMe, kHub, now() + hours(2)).find("expired"), std::string::npos);
}

TEST(Usable, WithoutABootstrapKubeconfigTheHubIsNotCompared) {
  HubSecret secret = secret_for(subject_of(kMe));
  Endpoint other = kHub;
  other.server = "https://other";
  secret.data[kKubeconfigKey] = hub_kubeconfig(other);
  EXPECT_EQ(why_unusable(secret, kMe, std::nullopt, now()), "");
}

TEST(Renewal, ThresholdIsDrawnOncePerCertificate) {
  double lowest = 1;
  double highest = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string text = "certificate " + std::to_string(i);
    const double drawn = renewal_threshold(text);
    EXPECT_EQ(drawn, renewal_threshold(text));
    lowest = std::min(lowest, drawn);
    highest = std::max(highest, drawn);
  }
  EXPECT_GE(lowest, 0.20);
  EXPECT_LE(highest, 0.25);
  EXPECT_GT(highest - lowest, 0.04);
}

TEST(Renewal, IsDueWhenTheDrawnShareIsLeft) {
  const HubSecret secret = secret_for(subject_of(kMe), hours(100));
  const auto leaf = pki::parse_certificates(secret.get(kCertificateKey)).value().front();
  FakeClock clock(leaf.not_before + hours(74));
  RenewalPlan plan = plan_renewal(secret, subject_of(kMe), clock.now());
  EXPECT_FALSE(plan.due);
  EXPECT_GE(plan.at, leaf.not_before + hours(75) - minutes(1));
  EXPECT_LE(plan.at, leaf.not_before + hours(80) + minutes(1));
  clock.set(plan.at - std::chrono::seconds(1));
  EXPECT_FALSE(plan_renewal(secret, subject_of(kMe), clock.now()).due);
  clock.set(plan.at);
  EXPECT_TRUE(plan_renewal(secret, subject_of(kMe), clock.now()).due);
  clock.set(leaf.not_after + hours(1));
  EXPECT_TRUE(plan_renewal(secret, subject_of(kMe), clock.now()).due);
}

TEST(Renewal, IsDueAtOnceForWhatCannotBeUsed) {
  const HubSecret whole = secret_for(subject_of(kMe));
  EXPECT_FALSE(plan_renewal(whole, subject_of(kMe), now()).due);
  EXPECT_TRUE(plan_renewal(HubSecret{}, subject_of(kMe), now()).due);
  EXPECT_TRUE(plan_renewal(whole, subject_of({"c1", "other"}), now()).due);
  pki::Subject more = subject_of(kMe);
  more.organizations.push_back("extra");
  EXPECT_TRUE(plan_renewal(secret_for(more), subject_of(kMe), now()).due);
  HubSecret foreign = whole;
  foreign.data[kPrivateKeyKey] = pki::generate_key().value();
  EXPECT_TRUE(plan_renewal(foreign, subject_of(kMe), now()).due);
}

TEST(Renewal, IsDueWhenTheHubsCasLoseTheOneThatIssuedTheCertificate) {
  const pki::KeyPair next = pki::make_ca("next", hours(48)).value();
  HubSecret secret = secret_for(subject_of(kMe));
  const auto due = [&secret] { return plan_renewal(secret, subject_of(kMe), now()).due; };
  note_authorities(secret, ca().certificate, ca().certificate + next.certificate);
  EXPECT_FALSE(due()) << "both are valid for a while";
  note_authorities(secret, ca().certificate + next.certificate, next.certificate);
  EXPECT_TRUE(due());
  // Another writer's certificate is not the one that was meant.
  const HubSecret other = secret_for(subject_of(kMe));
  for (const char* key : {kCertificateKey, kPrivateKeyKey}) secret.data[key] = other.get(key);
  EXPECT_FALSE(due());
}

TEST(Renewal, AHubThatStillSignsByTheCaThatGoesIsAskedAgainLaterAndLaterAndNotForEver) {
  const pki::KeyPair before = pki::make_ca("before", hours(1000)).value();
  const pki::KeyPair next = pki::make_ca("next", hours(1000)).value();
  const auto issued_by = [](const pki::KeyPair& issuer) {
    pki::LeafOptions leaf;
    leaf.subject = subject_of(kMe);
    leaf.client = true;
    leaf.validity = hours(900);
    return pki::issue(issuer, leaf).value();
  };
  FakeClock clock(parse_time(format_time(now())).value());
  HubSecret secret = secret_for(subject_of(kMe));
  const auto take_from = [&](HubSecret& into, const pki::KeyPair& issuer) {
    const pki::KeyPair issued = issued_by(issuer);
    put_certificate(into, issued.certificate, issued.key, clock.now());
  };
  take_from(secret, before);
  Endpoint hub = kHub;
  hub.ca_pem = next.certificate;
  note_authorities(secret, before.certificate, next.certificate);
  secret.data[kKubeconfigKey] = hub_kubeconfig(hub);
  std::vector<int> minutes_between;
  HubSecret mended;
  while (minutes_between.size() < 20) {
    const RenewalPlan plan = plan_renewal(secret, subject_of(kMe), clock.now());
    if (!plan.due && plan.at - clock.now() > hours(24)) break;
    if (!plan.due) {
      minutes_between.push_back(static_cast<int>((plan.at - clock.now()) / minutes(1)));
      clock.set(plan.at);
      EXPECT_TRUE(plan_renewal(secret, subject_of(kMe), clock.now()).due);
    }
    mended = secret;
    take_from(secret, before);
  }
  EXPECT_EQ(minutes_between, (std::vector<int>{10, 20, 40, 80, 160, 320, 640, 720}));
  EXPECT_TRUE(secret.get(kSupersededKey).empty());

  take_from(mended, next);
  EXPECT_TRUE(mended.get(kSupersededKey).empty());
  EXPECT_FALSE(plan_renewal(mended, subject_of(kMe), clock.now()).due);
}

TEST(Renewal, IsNotDueWhereAnotherCaThanTheServersIssuesCertificates) {
  const pki::KeyPair before = pki::make_ca("before", hours(48)).value();
  const pki::KeyPair after = pki::make_ca("after", hours(48)).value();
  HubSecret secret = secret_for(subject_of(kMe));
  note_authorities(secret, before.certificate, after.certificate);
  EXPECT_FALSE(plan_renewal(secret, subject_of(kMe), now()).due);
}

TEST(Renewal, MessageSpellsTimesAsUpstreamDoes) {
  const Instant from = parse_time("2026-11-21T18:14:19Z").value();
  const Instant to = parse_time("2027-11-21T18:14:19Z").value();
  EXPECT_EQ(rotated_message(from, to),
            "client certificate rotated starting from 2026-11-21 18:14:19 +0000 UTC to 2027-11-21 18:14:19 +0000 UTC");
}

TEST(Requests, NamesComeFromTheText) {
  const CertificateOrder order = agent_order(kMe, kHub, {});
  EXPECT_EQ(request_name(order, "a"), request_name(order, "a"));
  EXPECT_NE(request_name(order, "a"), request_name(order, "b"));
  EXPECT_TRUE(request_name(order, "a").starts_with("c1-"));
  EXPECT_EQ(request_name(order, "a").size(), 13U);
}

TEST(Requests, AnsweredMeansSignedDeniedOrFailed) {
  const auto with = [](Json status) { return Json{{"status", std::move(status)}}; };
  const auto condition = [](const char* type) {
    return Json{{"conditions", Json::array({{{"type", type}, {"status", "True"}}})}};
  };
  EXPECT_FALSE(is_answered(with(Json::object())));
  EXPECT_FALSE(is_answered(with(condition("Approved"))));
  EXPECT_TRUE(is_answered(with({{"certificate", "eA=="}})));
  EXPECT_TRUE(is_answered(with(condition("Denied"))));
  EXPECT_TRUE(is_answered(with(condition("Failed"))));
  EXPECT_FALSE(is_answered(Json(nullptr)));
}

}  // namespace
}  // namespace fleetadm::registration::agent
