#include "kubeclient/pki/pki.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <set>

#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/openssl.h"

namespace fleetadm::pki {
namespace {

using namespace std::chrono_literals;

TEST(Csr, SaysWhatItAsksFor) {
  const auto key = generate_key();
  ASSERT_TRUE(key);
  EXPECT_TRUE(key->starts_with("-----BEGIN EC PRIVATE KEY-----\n"));
  Subject subject;
  subject.common_name = "system:open-cluster-management:" + std::string(63, 'c') + ":" + random_uuid();
  subject.organizations = {"system:open-cluster-management:managed-clusters", "system:open-cluster-management:c"};
  subject.organizational_units = {"unit"};
  const auto csr = make_csr(*key, subject);
  ASSERT_TRUE(csr) << csr.error().message;
  const auto info = parse_csr(*csr);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->subject.common_name, subject.common_name);
  EXPECT_EQ(std::set<std::string>(info->subject.organizations.begin(), info->subject.organizations.end()),
            std::set<std::string>(subject.organizations.begin(), subject.organizations.end()));
  EXPECT_EQ(info->subject.organizational_units, subject.organizational_units);
  EXPECT_TRUE(info->signature_valid);
  EXPECT_FALSE(info->other_extensions);
  EXPECT_FALSE(info->other_subject_attributes);
  EXPECT_TRUE(info->dns_names.empty());
  EXPECT_EQ(info->public_key_algorithm, "ECDSA P-256");
}

TEST(Csr, IsExactlyOneBlock) {
  const std::string csr = *make_csr(*generate_key(), Subject{"a", {}, {}});
  EXPECT_TRUE(parse_csr("\n" + csr + "\n"));
  const auto ca = make_ca("x", 1h);
  for (const std::string& bad : {csr + csr, "text\n" + csr, csr + "text", std::string(), std::string("x"), ca->certificate,
                                 csr.substr(0, csr.size() / 2)}) {
    const auto info = parse_csr(bad);
    ASSERT_FALSE(info) << bad;
    EXPECT_EQ(info.error().category, Category::kInvalid);
  }
}

TEST(Keys, AreReadInEveryForm) {
  const std::string key = *generate_key();
  const auto ca = make_ca("x", 1h);
  ASSERT_TRUE(key_matches(ca->certificate, ca->key));
  const std::string der = read_pem(ca->key, true)->front().der;
  const KeyPtr parsed = *read_private_key(ca->key);
  EXPECT_EQ(*write_private_key(*parsed), ca->key);
  const auto pkcs8 = [&] {
    const BioPtr bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_PKCS8PrivateKey(bio.get(), parsed.get(), nullptr, nullptr, 0, nullptr, nullptr);
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &data);
    return std::string(data, static_cast<std::size_t>(size));
  };
  const std::string parameters = write_pem("EC PARAMETERS", "\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07");
  for (const std::string& good : {pkcs8(), "# comment\n" + ca->key, parameters + ca->key}) {
    EXPECT_TRUE(key_matches(ca->certificate, good)) << good.substr(0, 40);
  }
  const KeyPtr rsa(EVP_RSA_gen(2048));
  EXPECT_TRUE(read_private_key(*write_private_key(*rsa)));
  EXPECT_TRUE(make_csr(*write_private_key(*rsa), Subject{"a", {}, {}}));
  for (const std::string& bad : {key, std::string(), std::string("x"), write_pem("EC PRIVATE KEY", der.substr(0, der.size() / 2)),
                                 write_pem("RSA PRIVATE KEY", der), write_pem("PUBLIC KEY", der)}) {
    EXPECT_FALSE(key_matches(ca->certificate, bad)) << bad.substr(0, 40);
  }
}

TEST(Certificates, IssueAndRead) {
  const auto ca = make_ca("test-ca", 24h);
  ASSERT_TRUE(ca) << ca.error().message;
  LeafOptions options;
  options.subject = Subject{"server", {"o1", "o2"}, {}};
  options.dns_names = {"localhost", "a.example,DNS:b.example"};
  options.ip_addresses = {"127.0.0.1", "::1"};
  options.server = true;
  options.client = true;
  const auto leaf = issue(*ca, options);
  ASSERT_TRUE(leaf) << leaf.error().message;
  const auto infos = parse_certificates(leaf->certificate + "# comment\n" + ca->certificate);
  ASSERT_TRUE(infos) << infos.error().message;
  ASSERT_EQ(infos->size(), 2U);
  const CertInfo& info = infos->front();
  EXPECT_EQ(info.subject.common_name, "server");
  EXPECT_EQ(info.issuer.common_name, "test-ca");
  EXPECT_EQ(info.dns_names, options.dns_names);
  EXPECT_EQ(info.ip_addresses, options.ip_addresses);
  EXPECT_FALSE(info.is_ca);
  EXPECT_TRUE(infos->back().is_ca);
  EXPECT_LT(info.not_before, Clock::system()->now());
  EXPECT_GT(info.not_after, Clock::system()->now() + 24h * 364);
  EXPECT_TRUE(key_matches(leaf->certificate, leaf->key));
  EXPECT_FALSE(key_matches(leaf->certificate, ca->key));
  EXPECT_FALSE(key_matches("", leaf->key));
  options.ip_addresses = {"nonsense"};
  EXPECT_EQ(issue(*ca, options).error().category, Category::kUsage);
}

TEST(Pins, MatchAnyCaOfABundle) {
  const auto one = make_ca("one", 1h), two = make_ca("two", 1h), three = make_ca("three", 1h);
  const std::string pin = *ca_pin(two->certificate);
  EXPECT_EQ(pin.size(), 7U + 64U);
  EXPECT_TRUE(*matches_pin(one->certificate + two->certificate, pin));
  EXPECT_FALSE(*matches_pin(one->certificate + three->certificate, pin));
  for (const char* bad : {"", "sha256:", "sha256:00", "md5:aa"}) {
    EXPECT_EQ(matches_pin(one->certificate, bad).error().category, Category::kUsage) << bad;
  }
  EXPECT_EQ(matches_pin("nothing", pin).error().category, Category::kInvalid);
}

}  // namespace
}  // namespace fleetadm::pki
