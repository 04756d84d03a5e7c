// Requests that say one thing to one parser and another to the next.
#include <functional>
#include <gtest/gtest.h>
#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/csr_key.h"
#include "kubeclient/pki/der.h"
#include "kubeclient/pki/openssl.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::pki {
namespace {

std::string der_of(X509_REQ& request) {
  unsigned char* data = nullptr;
  const int length = i2d_X509_REQ(&request, &data);
  std::string der(reinterpret_cast<char*>(data), static_cast<std::size_t>(length));
  OPENSSL_free(data);
  return der;
}

std::string csr_with(const std::function<void(X509_REQ&)>& change, bool sign = true) {
  const KeyPtr key(EVP_EC_gen("P-256"));
  const RequestPtr request(X509_REQ_new());
  const NamePtr name = *make_name(Subject{"cn", {"o"}, {}});
  X509_REQ_set_subject_name(request.get(), name.get());
  X509_REQ_set_pubkey(request.get(), key.get());
  change(*request);
  X509_REQ_sign(request.get(), key.get(), EVP_sha256());
  if (!sign) {
    const KeyPtr other(EVP_EC_gen("P-256"));
    X509_REQ_sign(request.get(), other.get(), EVP_sha256());
  }
  return write_pem("CERTIFICATE REQUEST", der_of(*request));
}

void add_entry(X509_REQ& request, int nid, const std::string& value) {
  X509_NAME_add_entry_by_NID(X509_REQ_get_subject_name(&request), nid, V_ASN1_UTF8STRING,
                             reinterpret_cast<const unsigned char*>(value.data()), static_cast<int>(value.size()), -1, 0);
}

void add_extension(X509_REQ& request, int nid, const char* value) {
  ExtensionsPtr list(sk_X509_EXTENSION_new_null());
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, nullptr, nullptr, nullptr, nullptr, 0);
  sk_X509_EXTENSION_push(list.get(), X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  X509_REQ_add_extensions(&request, list.get());
}

TEST(HostileCsr, SecondCommonNameIsSeen) {
  const auto info = parse_csr(csr_with([](X509_REQ& request) { add_entry(request, NID_commonName, "admin"); }));
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->subject.common_name, "admin");
  EXPECT_TRUE(info->other_subject_attributes);
}

TEST(HostileCsr, OtherAttributesAreSeen) {
  const auto info = parse_csr(csr_with([](X509_REQ& request) { add_entry(request, NID_localityName, "x"); }));
  ASSERT_TRUE(info);
  EXPECT_TRUE(info->other_subject_attributes);
}

TEST(HostileCsr, ExtraOrganizationsAreSeenWhereverTheyStand) {
  const auto info = parse_csr(csr_with([](X509_REQ& request) { add_entry(request, NID_organizationName, "system:masters"); }));
  ASSERT_TRUE(info);
  EXPECT_EQ(info->subject.organizations, (std::vector<std::string>{"o", "system:masters"}));
}

TEST(HostileCsr, NulBytesStayInNames) {
  const std::string name("cn2\0.evil", 9);
  const auto info = parse_csr(csr_with([&](X509_REQ& request) { add_entry(request, NID_organizationName, name); }));
  ASSERT_TRUE(info);
  EXPECT_EQ(info->subject.organizations.back(), name);
}

TEST(HostileCsr, AlternativeNamesOfEveryKindAreSeen) {
  const auto info = parse_csr(csr_with([](X509_REQ& request) {
    add_extension(request, NID_subject_alt_name, "DNS:a,IP:10.0.0.1,IP:::1,email:m@x,URI:spiffe://x");
  }));
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->dns_names, std::vector<std::string>{"a"});
  EXPECT_EQ(info->ip_addresses, (std::vector<std::string>{"10.0.0.1", "::1"}));
  EXPECT_EQ(info->emails, std::vector<std::string>{"m@x"});
  EXPECT_EQ(info->uris, std::vector<std::string>{"spiffe://x"});
  EXPECT_FALSE(info->other_extensions);
  const auto rid = parse_csr(csr_with([](X509_REQ& request) { add_extension(request, NID_subject_alt_name, "RID:1.2.3.4"); }));
  ASSERT_TRUE(rid);
  EXPECT_TRUE(rid->other_extensions);
}

TEST(HostileCsr, OtherExtensionsAreSeen) {
  const auto info = parse_csr(csr_with([](X509_REQ& request) { add_extension(request, NID_basic_constraints, "CA:TRUE"); }));
  ASSERT_TRUE(info);
  EXPECT_TRUE(info->other_extensions);
}

std::string extension_list(const char* names) {
  ExtensionsPtr list(sk_X509_EXTENSION_new_null());
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, nullptr, nullptr, nullptr, nullptr, 0);
  sk_X509_EXTENSION_push(list.get(), X509V3_EXT_conf_nid(nullptr, &context, NID_subject_alt_name, names));
  unsigned char* data = nullptr;
  const int length = i2d_X509_EXTENSIONS(list.get(), &data);
  std::string der(reinterpret_cast<char*>(data), static_cast<std::size_t>(length));
  OPENSSL_free(data);
  return der;
}

TEST(HostileCsr, ASecondListOfExtensionsIsSeen) {
  const std::string second = extension_list("DNS:b");
  const auto* data = reinterpret_cast<const unsigned char*>(second.data());
  const auto size = static_cast<int>(second.size());
  // As a second value of the same attribute.
  const auto value = parse_csr(csr_with([&](X509_REQ& request) {
    add_extension(request, NID_subject_alt_name, "DNS:a");
    X509_ATTRIBUTE_set1_data(X509_REQ_get_attr(&request, 0), V_ASN1_SEQUENCE, data, size);
  }));
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_TRUE(value->other_extensions);
  // As a second attribute: OpenSSL makes none, so challengePassword's identifier is rewritten afterwards.
  const std::string pem = csr_with([&](X509_REQ& request) {
    add_extension(request, NID_subject_alt_name, "DNS:a");
    X509_REQ_add1_attr_by_NID(&request, NID_pkcs9_challengePassword, V_ASN1_SEQUENCE, data, size);
  });
  std::string der = read_pem(pem, true)->front().der;
  const std::size_t at = der.find("\x2a\x86\x48\x86\xf7\x0d\x01\x09\x07");
  ASSERT_NE(at, std::string::npos);
  der[at + 8] = '\x0e';
  const auto attribute = parse_csr(write_pem("CERTIFICATE REQUEST", der));
  ASSERT_TRUE(attribute) << attribute.error().message;
  EXPECT_TRUE(attribute->other_extensions);
}

TEST(HostileCsr, AForeignSignatureIsSeen) {
  const auto info = parse_csr(csr_with([](X509_REQ&) {}, false));
  ASSERT_TRUE(info);
  EXPECT_FALSE(info->signature_valid);
  EXPECT_TRUE(parse_csr(csr_with([](X509_REQ&) {}))->signature_valid);
}

TEST(HostileCsr, TrailingDataIsRefused) {
  const std::string good = csr_with([](X509_REQ&) {});
  const std::string der = read_pem(good, true)->front().der;
  EXPECT_TRUE(parse_csr(write_pem("CERTIFICATE REQUEST", der)));
  EXPECT_FALSE(parse_csr(write_pem("CERTIFICATE REQUEST", der + "x")));
  EXPECT_FALSE(parse_csr(write_pem("NEW CERTIFICATE REQUEST", der)));
  EXPECT_FALSE(parse_csr("-----BEGIN CERTIFICATE REQUEST-----\nProc-Type: 4,ENCRYPTED\n\n" + base64_encode(der) +
                         "\n-----END CERTIFICATE REQUEST-----\n"));
}

TEST(HostileCsr, NoPrefixOrBitFlipDoesHarm) {
  const std::string good = csr_with([](X509_REQ&) {});
  const std::string der = read_pem(good, true)->front().der;
  for (std::size_t length = 0; length < der.size(); ++length) {
    EXPECT_FALSE(parse_csr(write_pem("CERTIFICATE REQUEST", der.substr(0, length)))) << length;
  }
  for (std::size_t at = 0; at < der.size(); ++at) {
    std::string bad = der;
    bad[at] = static_cast<char>(static_cast<unsigned char>(bad[at]) ^ 0x41U);
    const auto info = parse_csr(write_pem("CERTIFICATE REQUEST", bad));
    EXPECT_FALSE(info && info->signature_valid) << at;
  }
}

TEST(HostileCsr, WeakAndStrangeKeysAreNamed) {
  for (const auto& [bits, strength] : {std::pair(1024U, 80), std::pair(2048U, 112)}) {
    const KeyPtr rsa(EVP_RSA_gen(bits));
    const RequestPtr request(X509_REQ_new());
    X509_REQ_set_pubkey(request.get(), rsa.get());
    X509_REQ_sign(request.get(), rsa.get(), EVP_sha256());
    const std::string pem = write_pem("CERTIFICATE REQUEST", der_of(*request));
    EXPECT_EQ(parse_csr(pem)->public_key_algorithm, "RSA " + std::to_string(bits));
    EXPECT_EQ(csr_key(pem)->strength, strength);
  }
}

TEST(HostileCsr, OnlyDistinguishedEncodingsAreDer) {
  const auto encoded = [](std::initializer_list<unsigned char> bytes) { return std::string(bytes.begin(), bytes.end()); };
  EXPECT_TRUE(is_der(encoded({0x30, 0x03, 0x02, 0x01, 0x05})));
  EXPECT_TRUE(is_der(encoded({0x30, 0x00})));
  EXPECT_TRUE(is_der(encoded({0x02, 0x02, 0x00, 0x80})));
  EXPECT_FALSE(is_der(encoded({0x30, 0x81, 0x03, 0x02, 0x01, 0x05}))) << "a length in more bytes than it needs";
  EXPECT_FALSE(is_der(encoded({0x30, 0x80, 0x02, 0x01, 0x05, 0x00, 0x00}))) << "an indefinite length";
  EXPECT_FALSE(is_der(encoded({0x30, 0x04, 0x02, 0x02, 0x00, 0x05}))) << "a padded integer";
  EXPECT_FALSE(is_der(encoded({0x30, 0x03, 0x01, 0x01, 0x01}))) << "another true";
  EXPECT_FALSE(is_der(encoded({0x30, 0x05, 0x2c, 0x03, 0x0c, 0x01, 'a'}))) << "a string in pieces";
  EXPECT_FALSE(is_der(encoded({0x30, 0x03, 0x02, 0x01, 0x05, 0x00}))) << "something behind it";
  EXPECT_FALSE(is_der(encoded({0x30, 0x04, 0x02, 0x01, 0x05}))) << "cut";
  EXPECT_FALSE(is_der({}));
  // A request with an outer length in the long form: OpenSSL reads it, and its signature is valid.
  std::string der = read_pem(csr_with([](X509_REQ&) {}), true)->front().der;
  ASSERT_TRUE(is_der(der));
  ASSERT_EQ(static_cast<unsigned char>(der[1]), 0x81U);
  der.replace(1, 2, std::string("\x82\x00", 2) + der[2]);
  const std::string pem = write_pem("CERTIFICATE REQUEST", der);
  const auto info = parse_csr(pem);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_TRUE(info->signature_valid);
  ASSERT_TRUE(csr_key(pem));
  EXPECT_FALSE(csr_key(pem)->der);
}

}  // namespace
}  // namespace fleetadm::pki
