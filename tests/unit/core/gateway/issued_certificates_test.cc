// Whose a tunnel's certificate is: what is believed of certificate requests, and what is remembered.
#include "core/gateway/issued_certificates.h"

#include <gtest/gtest.h>

#include "core/api/cluster_proxy.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::gateway {
namespace {

using namespace std::chrono_literals;

class IssuedCertificatesTest : public testing::Test {
 protected:
  pki::KeyPair leaf(const std::string& name = std::string(api::kProxyAgentUser)) const {
    pki::LeafOptions leaf;
    leaf.subject.common_name = name;
    leaf.client = true;
    return *pki::issue(ca_, leaf);
  }
  static Json request(const std::string& cluster, const std::string& certificate) {
    return {
        {"spec",
         {{"signerName", api::kProxyAgentSigner},
          {"username", "system:open-cluster-management:" + cluster + ":agent1"},
          {"groups", {"system:open-cluster-management:" + cluster, "system:open-cluster-management", "system:authenticated"}}}},
        {"status", {{"certificate", base64_encode(certificate)}}}};
  }

  const pki::KeyPair ca_ = *pki::make_ca("proxy", std::chrono::hours(24));
  const Instant now_ = Clock::system()->now();
};

TEST_F(IssuedCertificatesTest, ACertificateIsTheClustersWhoseAgentRequestedIt) {
  const std::string certificate = leaf().certificate;
  const auto issued = read_issued(request("c1", certificate));
  ASSERT_TRUE(issued);
  EXPECT_EQ(issued->cluster, "c1");
  EXPECT_EQ(issued->sha256, certificate_sha256(certificate));
  EXPECT_EQ(issued->sha256.size(), 64U);
  EXPECT_GT(issued->expires, now_);
}

TEST_F(IssuedCertificatesTest, OtherRequestsSayNothing) {
  const std::string certificate = leaf().certificate;
  std::vector<Json> all(7, request("c1", certificate));
  all[0]["spec"]["signerName"] = "kubernetes.io/kube-apiserver-client";
  all[1]["spec"]["username"] = "system:serviceaccount:c1:agent";
  all[2]["spec"]["groups"] = {"system:open-cluster-management:c2"};
  all[3]["spec"]["username"] = "system:open-cluster-management:c1";
  all[4]["status"].erase("certificate");
  all[5] = request("c1", leaf("system:admin").certificate);
  all[6]["spec"]["username"] = "system:open-cluster-management:C1:agent1";
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_FALSE(read_issued(all[i])) << i;
}

TEST_F(IssuedCertificatesTest, AreRememberedUntilTheyExpire) {
  IssuedCertificates issued;
  const std::string one = sha256_hex("one");
  const std::string two = sha256_hex("two");
  issued.add({one, "c1", now_ + 1h});
  issued.add({two, "c2", now_ + 2h});
  issued.add({one, "c2", now_ + 9h});
  EXPECT_EQ(issued.cluster_of(one, now_), "c1") << "no certificate changes hands";
  IssuedCertificates again;
  again.load({{"data", issued.data(now_)}});
  EXPECT_EQ(again.cluster_of(one, now_), "c1");
  EXPECT_EQ(again.cluster_of(two, now_), "c2");
  EXPECT_EQ(again.cluster_of(one, now_ + 1h), "");
  EXPECT_EQ(again.data(now_ + 1h).size(), 1U);
  EXPECT_EQ(again.cluster_of(sha256_hex("three"), now_), "");
}

TEST_F(IssuedCertificatesTest, WhatIsNoRecordIsLeftOut) {
  const std::string until = " " + format_time(now_ + 1h);
  IssuedCertificates issued;
  issued.load({{"data",
                {{"short", "c1" + until},
                 {std::string(64, 'G'), "c1" + until},
                 {sha256_hex("a"), "c1"},
                 {sha256_hex("b"), "c1 never"},
                 {sha256_hex("c"), "C1" + until},
                 {sha256_hex("d"), until}}}});
  EXPECT_TRUE(issued.data(now_).empty());
}

TEST_F(IssuedCertificatesTest, ThoseThatEndFirstMakeRoom) {
  IssuedCertificates issued;
  for (std::size_t i = 0; i < IssuedCertificates::kMost + 5; ++i)
    issued.add({sha256_hex(std::to_string(i)), "c1", now_ + 1h + std::chrono::seconds(i)});
  EXPECT_EQ(issued.data(now_).size(), IssuedCertificates::kMost);
  EXPECT_EQ(issued.cluster_of(sha256_hex("4"), now_), "");
  EXPECT_EQ(issued.cluster_of(sha256_hex("5"), now_), "c1");
}

}  // namespace
}  // namespace fleetadm::gateway
