// Every rule of certificate approval, with what a hostile requester might send.
#include <functional>
#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "core/registration/hub/csr_rules.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::registration::hub {
namespace {

const std::string kGroup = "system:open-cluster-management:c1";
const std::string kAll = "system:open-cluster-management:managed-clusters";
const std::string kName = kGroup + ":agent1";

std::string request_for(const std::string& common_name, const std::vector<std::string>& organizations,
                        const std::vector<std::string>& units = {}) {
  const auto key = pki::generate_key();
  return pki::make_csr(*key, {common_name, organizations, units}).value();
}

/// A request with whatever OpenSSL lets one write; `edit` runs before it is signed.
std::string request_with(const std::function<void(X509_REQ*)>& edit, EVP_PKEY* key = EVP_EC_gen("P-256")) {
  X509_REQ* request = X509_REQ_new();
  X509_NAME* name = X509_REQ_get_subject_name(request);
  const auto entry = [&](const char* field, const std::string& value) {
    X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.data()),
                               static_cast<int>(value.size()), -1, 0);
  };
  entry("O", kGroup);
  entry("O", kAll);
  entry("CN", kName);
  X509_REQ_set_pubkey(request, key);
  edit(request);
  X509_REQ_sign(request, key, EVP_sha256());
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509_REQ(bio, request);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string pem(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  X509_REQ_free(request);
  EVP_PKEY_free(key);
  return pem;
}

/// The same request, its outer length in more bytes than it needs: the signature does not cover that.
std::string in_ber(const std::string& pem) {
  BIO* in = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;
  PEM_read_bio(in, &name, &header, &data, &size);
  std::string der(reinterpret_cast<char*>(data), static_cast<std::size_t>(size));
  der.insert(2, 1, '\0');
  der[1] = static_cast<char>(der[1] + 1);
  BIO* out = BIO_new(BIO_s_mem());
  PEM_write_bio(out, name, "", reinterpret_cast<const unsigned char*>(der.data()), static_cast<long>(der.size()));
  char* text = nullptr;
  const long length = BIO_get_mem_data(out, &text);
  std::string made(text, static_cast<std::size_t>(length));
  BIO_free(out);
  OPENSSL_free(name);
  OPENSSL_free(header);
  OPENSSL_free(data);
  BIO_free(in);
  return made;
}

void add_extension(X509_REQ* request, int nid, const char* value) {
  STACK_OF(X509_EXTENSION)* extensions = sk_X509_EXTENSION_new_null();
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, nullptr, nullptr, request, nullptr, 0);
  sk_X509_EXTENSION_push(extensions, X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  X509_REQ_add_extensions(request, extensions);
  sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
}

void add_subject(X509_REQ* request, const char* field, const std::string& value) {
  X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(request), field, MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(value.data()), static_cast<int>(value.size()), -1, 0);
}

Json csr_of(const std::string& pem) {
  return {{"apiVersion", "certificates.k8s.io/v1"},
          {"kind", "CertificateSigningRequest"},
          {"metadata", {{"name", "c1-abcde"}, {"uid", "u1"}, {"labels", {{"open-cluster-management.io/cluster-name", "c1"}}}}},
          {"spec",
           {{"signerName", "kubernetes.io/kube-apiserver-client"},
            {"usages", {"digital signature", "key encipherment", "client auth"}},
            {"username", kName},
            {"groups", {kGroup, kAll, "system:authenticated"}},
            {"request", base64_encode(pem)}}}};
}

Json good() { return csr_of(request_for(kName, {kGroup, kAll})); }

TEST(CsrIdentity, AcceptsWhatAgentsSend) {
  const auto identity = csr_identity(good());
  ASSERT_TRUE(identity) << identity.error().message;
  EXPECT_EQ(identity->cluster, "c1");
  EXPECT_EQ(identity->agent, "agent1");
  EXPECT_EQ(identity->common_name, kName);
}

TEST(CsrIdentity, AcceptsHarmlessVariants) {
  EXPECT_TRUE(csr_identity(csr_of(request_for(kName, {kGroup})))) << "without the common organization";
  EXPECT_TRUE(csr_identity(csr_of(request_for(kName, {kAll, kGroup})))) << "in another order";
  EXPECT_TRUE(csr_identity(csr_of(request_with([](X509_REQ*) {})))) << "each organization in an RDN of its own";
  EXPECT_TRUE(csr_identity(csr_of(request_for(kGroup + ":9b1c8f7e-0a3d-4b5c-8d6e-7f8a9b0c1d2e", {kGroup, kAll}))));
}

struct Hostile {
  const char* what;
  std::function<Json()> make;
};
void PrintTo(const Hostile& hostile, std::ostream* out) { *out << hostile.what; }

Json with(const std::function<void(Json&)>& change) {
  Json csr = good();
  change(csr);
  return csr;
}
Json subject(const std::string& common_name, const std::vector<std::string>& organizations) {
  return csr_of(request_for(common_name, organizations));
}

class HostileCsr : public testing::TestWithParam<Hostile> {};

TEST_P(HostileCsr, IsNotOurs) {
  const auto identity = csr_identity(GetParam().make());
  ASSERT_FALSE(identity) << GetParam().what;
  EXPECT_EQ(identity.error().category, Category::kInvalid);
  EXPECT_FALSE(identity.error().message.empty());
  EXPECT_LT(identity.error().message.size(), 600u);
  for (const unsigned char c : identity.error().message) EXPECT_GE(c, 0x20) << "control characters are escaped";
}

const Hostile kHostile[] = {
    {"an RSA key of 1024 bits", [] { return csr_of(request_with([](X509_REQ*) {}, EVP_RSA_gen(1024))); }},
    {"a request in BER",
     [] {
       return csr_of(in_ber(request_for(kName, {kGroup, kAll})));
     }},
    {"common name of another cluster",
     [] {
       return subject("system:open-cluster-management:c2:agent1", {kGroup, kAll});
     }},
    {"common name and organization of another cluster",
     [] {
       return subject("system:open-cluster-management:c2:agent1", {"system:open-cluster-management:c2", kAll});
     }},
    {"c10 in a request labelled c1",
     [] {
       return subject("system:open-cluster-management:c10:agent1", {"system:open-cluster-management:c10", kAll});
     }},
    {"c10 as common name with c1's organization",
     [] {
       return subject("system:open-cluster-management:c10:agent1", {kGroup, kAll});
     }},
    {"c1's name with c10's organization",
     [] {
       return subject(kName, {"system:open-cluster-management:c10", kAll});
     }},
    {"label c10, names of c1",
     [] {
       return with([](Json& c) { at_or_make(c, {"metadata", "labels", "open-cluster-management.io/cluster-name"}) = "c10"; });
     }},
    {"extra part behind the agent",
     [] {
       return subject(kName + ":admin", {kGroup, kAll});
     }},
    {"extra empty part",
     [] {
       return subject(kName + ":", {kGroup, kAll});
     }},
    {"no agent",
     [] {
       return subject(kGroup + ":", {kGroup, kAll});
     }},
    {"no separator",
     [] {
       return subject(kGroup, {kGroup, kAll});
     }},
    {"common name glued to the cluster",
     [] {
       return subject(kGroup + "agent1", {kGroup, kAll});
     }},
    {"upper case",
     [] {
       return subject("system:open-cluster-management:C1:agent1", {kGroup, kAll});
     }},
    {"empty common name",
     [] {
       return subject("", {kGroup, kAll});
     }},
    {"cluster administrator", [] { return subject("kubernetes-admin", {"system:masters"}); }},
    {"system:masters besides",
     [] {
       return subject(kName, {kGroup, kAll, "system:masters"});
     }},
    {"another cluster's organization besides",
     [] {
       return subject(kName, {kGroup, "system:open-cluster-management:c2", kAll});
     }},
    {"empty organization besides", [] { return csr_of(request_with([](X509_REQ* r) { add_subject(r, "O", " "); })); }},
    {"only the common organization", [] { return subject(kName, {kAll}); }},
    {"no organization", [] { return subject(kName, {}); }},
    {"organizational unit",
     [] {
       return csr_of(request_for(kName, {kGroup, kAll}, {"admins"}));
     }},
    {"second common name", [] { return csr_of(request_with([](X509_REQ* r) { add_subject(r, "CN", "kubernetes-admin"); })); }},
    {"country in the subject", [] { return csr_of(request_with([](X509_REQ* r) { add_subject(r, "C", "DE"); })); }},
    {"agent with a space",
     [] {
       return subject(kGroup + ":a b", {kGroup, kAll});
     }},
    {"agent with a newline",
     [] {
       return subject(kGroup + ":a\nb", {kGroup, kAll});
     }},
    {"agent beyond ASCII",
     [] {
       return subject(kGroup + ":agent\xC3\xA9", {kGroup, kAll});
     }},
    {"DNS name",
     [] { return csr_of(request_with([](X509_REQ* r) { add_extension(r, NID_subject_alt_name, "DNS:kubernetes.default"); })); }},
    {"IP address",
     [] { return csr_of(request_with([](X509_REQ* r) { add_extension(r, NID_subject_alt_name, "IP:10.0.0.1"); })); }},
    {"e-mail", [] { return csr_of(request_with([](X509_REQ* r) { add_extension(r, NID_subject_alt_name, "email:a@b.c"); })); }},
    {"URI", [] { return csr_of(request_with([](X509_REQ* r) { add_extension(r, NID_subject_alt_name, "URI:spiffe://x/y"); })); }},
    {"CA certificate",
     [] { return csr_of(request_with([](X509_REQ* r) { add_extension(r, NID_basic_constraints, "CA:TRUE"); })); }},
    {"extended key usage",
     [] { return csr_of(request_with([](X509_REQ* r) { add_extension(r, NID_ext_key_usage, "serverAuth"); })); }},
    {"serving signer",
     [] { return with([](Json& c) {
            at_or_make(c, {"spec", "signerName"}) = "kubernetes.io/kubelet-serving";
          }); }},
    {"kubelet's client signer",
     [] { return with([](Json& c) {
            at_or_make(c, {"spec", "signerName"}) = "kubernetes.io/kube-apiserver-client-kubelet";
          }); }},
    {"no signer", [] { return with([](Json& c) {
                         erase_at(c, {"spec", "signerName"});
                       }); }},
    {"server auth besides", [] { return with([](Json& c) {
                                   at_or_make(c, {"spec", "usages"}).push_back("server auth");
                                 }); }},
    {"any usage", [] { return with([](Json& c) {
                         at_or_make(c, {"spec", "usages"}) = {"any"};
                       }); }},
    {"cert sign besides", [] { return with([](Json& c) {
                                 at_or_make(c, {"spec", "usages"}).push_back("cert sign");
                               }); }},
    {"no client auth",
     [] { return with([](Json& c) {
            at_or_make(c, {"spec", "usages"}) = {"digital signature", "key encipherment"};
          }); }},
    {"no usages", [] { return with([](Json& c) {
                         erase_at(c, {"spec", "usages"});
                       }); }},
    {"usage that is no text", [] { return with([](Json& c) {
                                     at_or_make(c, {"spec", "usages"}).push_back(7);
                                   }); }},
    {"no label", [] { return with([](Json& c) {
                        erase_at(c, {"metadata", "labels"});
                      }); }},
    {"empty label",
     [] { return with([](Json& c) {
            at_or_make(c, {"metadata", "labels", "open-cluster-management.io/cluster-name"}) = "";
          }); }},
    {"label that is no name",
     [] {
       return with([](Json& c) { at_or_make(c, {"metadata", "labels", "open-cluster-management.io/cluster-name"}) = "c1.x"; });
     }},
    {"add-on",
     [] {
       return with([](Json& c) { at_or_make(c, {"metadata", "labels", "open-cluster-management.io/addon-name"}) = "proxy"; });
     }},
    {"label managed-clusters",
     [] {
       Json csr = subject(kAll + ":agent1", {kAll});
       at_or_make(csr, {"metadata", "labels", "open-cluster-management.io/cluster-name"}) = "managed-clusters";
       return csr;
     }},
    {"request missing", [] { return with([](Json& c) {
                               erase_at(c, {"spec", "request"});
                             }); }},
    {"request not base64", [] { return with([](Json& c) {
                                  at_or_make(c, {"spec", "request"}) = "%%%";
                                }); }},
    {"request not PEM", [] { return csr_of("hello"); }},
    {"two requests",
     [] {
       return csr_of(request_for(kName, {kGroup, kAll}) + request_for("kubernetes-admin", {"system:masters"}));
     }},
    {"a certificate instead", [] { return csr_of(pki::make_ca(kName, std::chrono::hours(1)).value().certificate); }},
    {"spec missing", [] { return with([](Json& c) { erase_at(c, {"spec"}); }); }},
    {"broken self-signature",
     [] {
       std::string der = *base64_decode([] {
         std::string pem = request_for(kName, {kGroup, kAll});
         pem = pem.substr(pem.find('\n') + 1);
         pem = pem.substr(0, pem.find("-----"));
         std::erase(pem, '\n');
         return pem;
       }());
       der.back() = static_cast<char>(der.back() ^ 1);
       return csr_of("-----BEGIN CERTIFICATE REQUEST-----\n" + base64_encode(der) + "\n-----END CERTIFICATE REQUEST-----\n");
     }},
};
INSTANTIATE_TEST_SUITE_P(Table, HostileCsr, testing::ValuesIn(kHostile));

TEST(CsrPath, RequesterDecides) {
  const CsrIdentity identity{"c1", "agent1", kName};
  const std::set<std::string> trusted{"system:serviceaccount:open-cluster-management:agent-registration-bootstrap"};
  struct {
    const char* requester;
    bool with_trust;
    CsrPath path;
  } const table[] = {
      {"system:open-cluster-management:c1:agent1", false, CsrPath::kRenewal},
      {"system:open-cluster-management:c1:agent2", false, CsrPath::kPerson},
      {"system:open-cluster-management:c2:agent1", false, CsrPath::kPerson},
      {"system:open-cluster-management:c10:agent1", true, CsrPath::kPerson},
      {"system:open-cluster-management:c1:agent1:x", true, CsrPath::kPerson},
      {"system:serviceaccount:open-cluster-management:agent-registration-bootstrap", true, CsrPath::kBootstrap},
      {"system:serviceaccount:open-cluster-management:agent-registration-bootstrap", false, CsrPath::kPerson},
      {"system:bootstrap:abcdef", true, CsrPath::kPerson},
      {"", true, CsrPath::kPerson},
  };
  for (const auto& row : table) {
    Json csr = good();
    at_or_make(csr, {"spec", "username"}) = row.requester;
    EXPECT_EQ(csr_path(csr, identity, row.with_trust ? trusted : std::set<std::string>{}), row.path) << row.requester;
  }
}

TEST(CsrDecided, ApprovedDeniedFailedAndIssuedAreLeftAlone) {
  EXPECT_FALSE(csr_decided(good()));
  for (const char* type : {"Approved", "Denied", "Failed"}) {
    EXPECT_TRUE(csr_decided(with([&](Json& c) {
      at_or_make(c, {"status", "conditions"}) = Json::array({{{"type", type}, {"status", "True"}}});
    })));
  }
  EXPECT_TRUE(csr_decided(with([](Json& c) { at_or_make(c, {"status", "certificate"}) = "LS0t"; })));
  EXPECT_FALSE(csr_decided(with([](Json& c) { at_or_make(c, {"status", "conditions"}) = Json::array({7, nullptr}); })));
}

TEST(RenewalReview, AsksForTheRequesterWithAllItIs) {
  Json csr = good();
  at_or_make(csr, {"spec", "uid"}) = "requester-uid";
  at_or_make(csr, {"spec", "extra"}) = {{"example.org/key", {"v"}}};
  const Json review = renewal_review(csr);
  EXPECT_EQ(str(review, {"kind"}), "SubjectAccessReview");
  EXPECT_EQ(str(review, {"spec", "user"}), kName);
  EXPECT_EQ(str(review, {"spec", "uid"}), "requester-uid");
  EXPECT_EQ(list_at(review, {"spec", "groups"}).size(), 3u);
  EXPECT_EQ(find(review, {"spec", "extra"})->dump(), R"({"example.org/key":["v"]})");
  EXPECT_EQ(str(review, {"spec", "resourceAttributes", "group"}), "register.open-cluster-management.io");
  EXPECT_EQ(str(review, {"spec", "resourceAttributes", "resource"}), "managedclusters");
  EXPECT_EQ(str(review, {"spec", "resourceAttributes", "subresource"}), "clientcertificates");
  EXPECT_EQ(str(review, {"spec", "resourceAttributes", "verb"}), "renew");
}

TEST(AddApproval, IsUpstreamsCondition) {
  Json csr = good();
  add_approval(csr, *parse_time("2026-01-01T00:00:00Z"));
  ASSERT_TRUE(csr_decided(csr));
  const Json& condition = list_at(csr, {"status", "conditions"}).at(0);
  EXPECT_EQ(str(condition, {"type"}), "Approved");
  EXPECT_EQ(str(condition, {"status"}), "True");
  EXPECT_EQ(str(condition, {"reason"}), "AutoApprovedByHubCSRApprovingController");
}

}  // namespace
}  // namespace fleetadm::registration::hub
