// What an agent's figures tell while it joins, renews and gets another bootstrap.
#include "core/agent/certificates.h"

#include <gtest/gtest.h>

#include "kubeclient/base/yaml.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::agent {
namespace {

namespace reg = registration::agent;
namespace expiry = registration::expiry;
using std::chrono::hours;

reg::HubSecret credential(const pki::KeyPair& ca, Duration validity) {
  pki::LeafOptions leaf;
  leaf.subject = reg::subject_of({"c1", "abcde"});
  leaf.client = true;
  leaf.validity = validity;
  const pki::KeyPair pair = *pki::issue(ca, leaf);
  reg::HubSecret secret;
  secret.data = {{reg::kClusterNameKey, "c1"},
                 {reg::kKubeconfigKey, reg::hub_kubeconfig({"hub", "https://hub", ca.certificate, "", ""})},
                 {reg::kCertificateKey, pair.certificate},
                 {reg::kPrivateKeyKey, pair.key}};
  return secret;
}

TEST(AgentCertificates, AreThoseOfNowAndAreJudgedWhenAskedFor) {
  const pki::KeyPair ca = *pki::make_ca("hub", hours(10000));
  const Instant now = Clock::system()->now();
  Certificates held;
  EXPECT_TRUE(held.judged(now).empty());
  held.hold(credential(ca, hours(2)));
  ASSERT_EQ(held.judged(now).size(), 2U);
  EXPECT_EQ(held.judged(now)[0].what, expiry::kAgentCertificate);
  EXPECT_EQ(held.judged(now)[0].standing, expiry::Standing::kGood);
  EXPECT_EQ(held.judged(now + hours(3))[0].standing, expiry::Standing::kEnded);
  held.hold(credential(ca, hours(2000)));
  EXPECT_EQ(held.judged(now + hours(3))[0].standing, expiry::Standing::kGood) << "it was renewed";

  Bootstrap bootstrap;
  bootstrap.text = dump_yaml(kube::make_kubeconfig("https://hub", ca.certificate, Json{{"token", "abcdef.0123456789abcdef"}}));
  held.hold(bootstrap, "c1");
  ASSERT_EQ(held.judged(now).size(), 4U);
  EXPECT_EQ(held.judged(now)[2].what, expiry::kAuthorityOfBootstrap);
  EXPECT_EQ(held.judged(now)[3].what, "bootstrap token");
  held.hold(std::nullopt, "c1");
  EXPECT_EQ(held.judged(now).size(), 2U);
}

}  // namespace
}  // namespace fleetadm::agent
