// What a hostile requester might ask for in the name of an add-on: each is refused, by the rule that it breaks.
#include "core/addon/rules/csr_verdict.h"

#include <gtest/gtest.h>
#include <set>

#include "core/addon/rules/agent_identity.h"
#include "core/addon/rules/csr_signing.h"
#include "core/api/certificate_request.h"
#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"
#include "tests/support/vectors.h"

namespace fleetadm::addon {
namespace {

constexpr const char* kVerdictSigner = "example.com/signer";

Json template_with(Json registrations) {
  return {{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
          {"kind", "AddOnTemplate"},
          {"metadata", {{"name", "t1"}}},
          {"spec", {{"addonName", "hello"}, {"registration", std::move(registrations)}}}};
}

Json custom_signer(const std::string& name, Json more = Json::object()) {
  more["signerName"] = name;
  more["signingCA"] = {{"name", "ca"}};
  return {{"type", "CustomSigner"}, {"customSigner", std::move(more)}};
}

Json kube_client() { return {{"type", "KubeClient"}, {"kubeClient", Json::object()}}; }

Json cluster(const std::string& name, bool accepted = true) {
  return {{"apiVersion", "cluster.open-cluster-management.io/v1"},
          {"kind", "ManagedCluster"},
          {"metadata", {{"name", name}}},
          {"spec", {{"hubAcceptsClient", accepted}}}};
}

Json enabled_addon(const std::string& cluster, const std::string& addon) {
  Json reference{{"group", "addon.open-cluster-management.io"},
                 {"resource", "addontemplates"},
                 {"desiredConfig", {{"name", "t1"}, {"specHash", "h"}}}};
  return {{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
          {"kind", "ManagedClusterAddOn"},
          {"metadata", {{"name", addon}, {"namespace", cluster}}},
          {"status", {{"configReferences", Json::array({std::move(reference)})}}}};
}

class AddonCsr : public ::testing::Test {
 protected:
  AddonCsr() {
    for (const char* name : {"prod1", "prod10"}) {
      objects.put(cluster(name));
      objects.put(enabled_addon(name, "hello"));
      objects.put(enabled_addon(name, "other"));
    }
    objects.put(template_with(Json::array({kube_client(), custom_signer(kVerdictSigner)})));
  }

  static pki::Subject hello_of(const std::string& cluster) {
    return {agent_user(cluster, "hello", "hello-agent"), {cluster_addon_group(cluster, "hello"), addon_group("hello")}, {}};
  }
  static std::string request(const pki::Subject& subject, const std::vector<std::string>& dns = {}) {
    return pki::make_csr(pki::generate_key().value(), subject, dns).value();
  }
  static Json csr(const std::string& request, std::string_view signer = "kubernetes.io/kube-apiserver-client") {
    return {{"apiVersion", "certificates.k8s.io/v1"},
            {"kind", "CertificateSigningRequest"},
            {"metadata",
             {{"name", "addon-prod1-hello-x1"},
              {"labels", {{std::string(api::kClusterNameLabel), "prod1"}, {std::string(api::kAddonNameLabel), "hello"}}}}},
            {"spec",
             {{"request", base64_encode(request)},
              {"signerName", std::string(signer)},
              {"username", "system:open-cluster-management:prod1:agent1"},
              {"usages", Json::array({"client auth", "digital signature", "key encipherment"})}}}};
  }
  static Json good_csr(std::string_view signer = "kubernetes.io/kube-apiserver-client") {
    return csr(request(hello_of("prod1"), {"hello.addon.open-cluster-management.io"}), signer);
  }

  /// The rule that refuses it; "approved" and "others" where none does.
  std::string verdict(const Json& request) const {
    const CsrVerdict verdict = judge_addon_request(objects, request);
    if (verdict.answer == CsrVerdict::Answer::kApproved) return "approved";
    return verdict.answer == CsrVerdict::Answer::kOthers ? "others" : verdict.rule;
  }

  MemoryObjects objects;
};

TEST_F(AddonCsr, OfTheClustersOwnAgentIsSound) {
  EXPECT_EQ(verdict(good_csr()), "approved");
  EXPECT_EQ(verdict(csr(request(hello_of("prod1")))), "approved");
  pki::Subject authenticated = hello_of("prod1");
  authenticated.organizations.push_back("system:authenticated");
  EXPECT_EQ(verdict(csr(request(authenticated))), "approved");
  const CsrVerdict custom = judge_addon_request(objects, good_csr(kVerdictSigner));
  ASSERT_EQ(custom.answer, CsrVerdict::Answer::kApproved) << custom.why;
  EXPECT_EQ(str(custom.signer, {"signingCA", "name"}), "ca");
}

TEST_F(AddonCsr, OfAnAgentWithAnIdentityOfAwsIsSound) {
  Json by_aws = good_csr();
  by_aws["spec"]["username"] = "prod1";
  EXPECT_EQ(verdict(by_aws), "requester") << "a user of that name";
  by_aws["spec"]["groups"] = Json::array({"open-cluster-management:prod10", "system:authenticated"});
  EXPECT_EQ(verdict(by_aws), "requester") << "in another cluster's group";
  by_aws["spec"]["groups"].push_back("open-cluster-management:prod1");
  EXPECT_EQ(verdict(by_aws), "approved");
  by_aws["spec"]["username"] = "prod10";
  EXPECT_EQ(verdict(by_aws), "requester");
}

TEST_F(AddonCsr, OfAnotherProgramIsLeftAlone) {
  Json unlabelled = good_csr();
  unlabelled["metadata"].erase("labels");
  EXPECT_EQ(verdict(unlabelled), "others");
  Json framework = enabled_addon("prod1", "hello");
  framework["status"].erase("configReferences");
  objects.put(framework);
  EXPECT_EQ(verdict(good_csr()), "others");
}

TEST_F(AddonCsr, ForAnotherAddonIsRefused) {
  pki::Subject other{
      agent_user("prod1", "other", "other-agent"), {cluster_addon_group("prod1", "other"), addon_group("other")}, {}};
  EXPECT_EQ(verdict(csr(request(other))), "subject");
  Json labelled = csr(request(other));
  labelled["metadata"]["labels"][std::string(api::kAddonNameLabel)] = "other";
  EXPECT_EQ(verdict(labelled), "name");
  labelled["metadata"]["labels"][std::string(api::kAddonNameLabel)] = "missing";
  EXPECT_EQ(verdict(labelled), "addon");
}

TEST_F(AddonCsr, ForAnotherClusterIsRefused) {
  EXPECT_EQ(verdict(csr(request(hello_of("prod10")))), "subject");
  Json labelled = csr(request(hello_of("prod10")));
  labelled["metadata"]["labels"][std::string(api::kClusterNameLabel)] = "prod10";
  EXPECT_EQ(verdict(labelled), "name");
  labelled["metadata"]["name"] = "addon-prod10-hello-x1";
  EXPECT_EQ(verdict(labelled), "requester");
}

TEST_F(AddonCsr, OfARequesterWhoseNameOnlyBeginsAlikeIsRefused) {
  Json request = good_csr();
  for (const char* user : {"system:open-cluster-management:prod10:agent1", "system:open-cluster-management:prod1",
                           "system:open-cluster-management:prod1:", "system:open-cluster-management:prod1:a:b",
                           "system:open-cluster-management:cluster:prod1:addon:hello:agent:hello-agent", "system:admin", ""}) {
    request["spec"]["username"] = user;
    EXPECT_EQ(verdict(request), "requester") << user;
  }
  // Who may write annotations is not who asks.
  request["spec"]["username"] = "system:serviceaccount:open-cluster-management-hub:grpc-server-sa";
  request["metadata"]["annotations"]["open-cluster-management.io/csr-user"] = "system:open-cluster-management:prod1:agent1";
  EXPECT_EQ(verdict(request), "requester");
}

TEST_F(AddonCsr, WithANameOfAnotherPrefixIsRefused) {
  Json request = good_csr();
  for (const char* name : {"addon-prod10-hello-x1", "addon-prod1-hello2-x1", "addon-prod1-hello", "csr-x1", "addonx"}) {
    request["metadata"]["name"] = name;
    EXPECT_EQ(verdict(request), "name") << name;
  }
}

TEST_F(AddonCsr, WithMoreOrFewerOrganizationsIsRefused) {
  for (const char* more : {"system:masters", "system:open-cluster-management:prod1",
                           "system:open-cluster-management:managed-clusters", "system:nodes"}) {
    pki::Subject subject = hello_of("prod1");
    subject.organizations.emplace_back(more);
    EXPECT_EQ(verdict(csr(request(subject))), "subject") << more;
    EXPECT_EQ(verdict(csr(request(subject), kVerdictSigner)), "subject") << more;
  }
  pki::Subject fewer = hello_of("prod1");
  fewer.organizations.pop_back();
  EXPECT_EQ(verdict(csr(request(fewer))), "subject");
  pki::Subject units = hello_of("prod1");
  units.organizational_units.emplace_back("system:masters");
  EXPECT_EQ(verdict(csr(request(units), kVerdictSigner)), "subject");
}

TEST_F(AddonCsr, ForAnotherUserIsRefused) {
  pki::Subject subject = hello_of("prod1");
  for (const char* user : {"system:admin", "system:open-cluster-management:cluster:prod1:addon:hello:agent:hello-agent2",
                           "system:open-cluster-management:cluster:prod1:addon:hello:agent:other-agent", ""}) {
    subject.common_name = user;
    EXPECT_EQ(verdict(csr(request(subject))), "subject") << user;
  }
}

TEST_F(AddonCsr, OfKubernetesOwnSignersIsRefused) {
  for (const char* signer : {"kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving",
                             "kubernetes.io/legacy-unknown", "example.com/other", ""}) {
    EXPECT_EQ(verdict(good_csr(signer)), "signer") << signer;
  }
  for (const char* signer : {"kubernetes.io/kubelet-serving", "x.kubernetes.io/a", "k8s.io/a", "networking.k8s.io/a"}) {
    objects.put(template_with(Json::array({custom_signer(signer), kube_client()})));
    EXPECT_EQ(verdict(good_csr(signer)), "kubernetes-signer") << signer;
  }
  objects.put(template_with(Json::array({custom_signer("kubernetes.io/kube-apiserver-client"), kube_client()})));
  EXPECT_EQ(verdict(good_csr()), "kubernetes-signer");
  EXPECT_FALSE(is_kubernetes_signer("notkubernetes.io/a"));
  EXPECT_FALSE(is_kubernetes_signer("open-cluster-management.io/proxy"));
}

TEST_F(AddonCsr, WithOtherUsagesIsRefused) {
  Json request = good_csr();
  for (const Json& usages : {Json::array({"server auth", "digital signature", "key encipherment"}), Json::array(),
                             Json::array({"client auth", "digital signature", "key encipherment", "cert sign"})}) {
    request["spec"]["usages"] = usages;
    EXPECT_EQ(verdict(request), "usages") << usages;
  }
}

TEST_F(AddonCsr, WithOtherNamesIsRefused) {
  for (const std::vector<std::string>& names : {std::vector<std::string>{"kubernetes.default.svc"},
                                                {"hello.addon.open-cluster-management.io", "kubernetes"},
                                                {"other.addon.open-cluster-management.io"},
                                                {"*.addon.open-cluster-management.io"}}) {
    EXPECT_EQ(verdict(csr(request(hello_of("prod1"), names), kVerdictSigner)), "alternative-names") << names.front();
    EXPECT_EQ(verdict(csr(request(hello_of("prod1"), names))), "alternative-names") << names.front();
  }
}

TEST_F(AddonCsr, OfAClusterThatIsNotAcceptedOrLeavesIsRefused) {
  objects.put(cluster("prod1", false));
  EXPECT_EQ(verdict(good_csr()), "cluster");
  Json leaving = cluster("prod1");
  leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  objects.put(leaving);
  EXPECT_EQ(verdict(good_csr()), "cluster");
  objects.remove(managed_clusters(), {}, "prod1");
  EXPECT_EQ(verdict(good_csr()), "cluster");
}

TEST_F(AddonCsr, WithABrokenSignatureIsRefused) {
  std::string der;
  const std::string pem = request(hello_of("prod1"));
  const std::string begin = "-----BEGIN CERTIFICATE REQUEST-----";
  const std::string end = "-----END CERTIFICATE REQUEST-----";
  der = base64_decode(pem.substr(begin.size(), pem.find(end) - begin.size())).value();
  der.back() = static_cast<char>(der.back() ^ 1);
  EXPECT_EQ(verdict(csr(begin + "\n" + base64_encode(der) + "\n" + end + "\n")), "request");
}

TEST_F(AddonCsr, ThatIsNoRequestIsRefused) {
  const std::string good = request(hello_of("prod1"));
  for (const std::string& text : {std::string("garbage"), std::string(), "x" + good, good + good}) {
    EXPECT_EQ(verdict(csr(text)), "request") << text.substr(0, 40);
    EXPECT_EQ(verdict(csr(text, kVerdictSigner)), "request") << text.substr(0, 40);
  }
}

TEST_F(AddonCsr, WithLabelsThatNameNothingIsRefused) {
  Json request = good_csr();
  request["metadata"]["labels"][std::string(api::kClusterNameLabel)] = "Prod/1";
  EXPECT_EQ(verdict(request), "labels");
}

/// Requests as Go's crypto/x509 writes them, sound and hostile: the signature is right unless the row says otherwise.
TEST_F(AddonCsr, OfAnotherProgramsMakingIsApprovedOnlyWhereItIsTheRegistrations) {
  const pki::KeyPair ca = pki::make_ca("signer", std::chrono::hours(10)).value();
  const Json secret{{"kind", "Secret"},
                    {"metadata", {{"name", "ca"}, {"namespace", "open-cluster-management-hub"}}},
                    {"data", {{"tls.crt", base64_encode(ca.certificate)}, {"tls.key", base64_encode(ca.key)}}}};
  int rows = 0;
  const Status read = test::for_each_vector("addon-requests.jsonl.gz", [&](const Json& row) {
    ++rows;
    const std::string signer = str(row, {"signer"}, "kubernetes.io/kube-apiserver-client");
    const Json request = csr(str(row, {"request"}), signer);
    EXPECT_EQ(verdict(request), str(row, {"expect"})) << str(row, {"name"}) << ": " << judge_addon_request(objects, request).why;
    if (signer != kVerdictSigner || verdict(request) != "approved") return;
    const auto signed_one = sign_addon_request(request, secret, Clock::system()->now());
    ASSERT_TRUE(signed_one) << str(row, {"name"}) << ": " << signed_one.error().message;
    const pki::CertInfo leaf = pki::parse_certificates(*signed_one).value().front();
    EXPECT_EQ(leaf.subject.common_name, hello_of("prod1").common_name) << str(row, {"name"});
    EXPECT_EQ(std::set<std::string>(leaf.subject.organizations.begin(), leaf.subject.organizations.end()),
              (std::set<std::string>{cluster_addon_group("prod1", "hello"), addon_group("hello")}));
    EXPECT_FALSE(leaf.is_ca);
  });
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  EXPECT_EQ(rows, 190);
}

TEST_F(AddonCsr, OfACustomSignerHasTheSubjectOfItsRegistration) {
  const Json subject{{"user", "u"}, {"groups", Json::array({"g"})}, {"organizationUnit", Json::array({"ou"})}};
  objects.put(template_with(Json::array({custom_signer(kVerdictSigner, {{"subject", subject}})})));
  EXPECT_EQ(verdict(csr(request({"u", {"g"}, {"ou"}}), kVerdictSigner)), "approved");
  EXPECT_EQ(verdict(csr(request({"u", {"g"}, {}}), kVerdictSigner)), "subject");
  EXPECT_EQ(verdict(csr(request({"u", {"g", "system:authenticated"}, {"ou"}}), kVerdictSigner)), "subject");
  EXPECT_EQ(verdict(good_csr(kVerdictSigner)), "subject");
}

TEST_F(AddonCsr, IsSignedForServersAndClientsAndNeverAsACa) {
  const pki::KeyPair ca = pki::make_ca("signer", std::chrono::hours(10)).value();
  const Json secret{{"kind", "Secret"},
                    {"metadata", {{"name", "ca"}, {"namespace", "open-cluster-management-hub"}}},
                    {"data", {{"tls.crt", base64_encode(ca.certificate)}, {"tls.key", base64_encode(ca.key)}}}};
  const Instant now = Clock::system()->now();
  const auto pem = sign_addon_request(good_csr(kVerdictSigner), secret, now);
  ASSERT_TRUE(pem) << pem.error().message;
  const pki::CertInfo leaf = pki::parse_certificates(*pem).value().front();
  EXPECT_EQ(leaf.subject.common_name, hello_of("prod1").common_name);
  EXPECT_EQ(std::set<std::string>(leaf.subject.organizations.begin(), leaf.subject.organizations.end()),
            (std::set<std::string>{cluster_addon_group("prod1", "hello"), addon_group("hello")}));
  EXPECT_EQ(leaf.dns_names, std::vector<std::string>{"hello.addon.open-cluster-management.io"});
  EXPECT_FALSE(leaf.is_ca);
  EXPECT_EQ(leaf.usages, (std::vector<std::string>{"digital signature", "key encipherment", "server auth", "client auth"}));
  EXPECT_LE(leaf.not_after, now + std::chrono::hours(10)) << "no longer than the CA";
  EXPECT_GT(leaf.not_after, now + std::chrono::hours(9));
}

TEST_F(AddonCsr, IsNotSignedByWhatIsNoCa) {
  const pki::KeyPair ca = pki::make_ca("signer", std::chrono::hours(10)).value();
  pki::LeafOptions server;
  server.subject.common_name = "x";
  server.server = true;
  const pki::KeyPair leaf = pki::issue(ca, server).value();
  const pki::KeyPair other = pki::make_ca("other", std::chrono::hours(10)).value();
  const Instant now = Clock::system()->now();
  const std::string asked = request(hello_of("prod1"));
  EXPECT_FALSE(pki::sign_request(leaf, asked, now, std::chrono::hours(1)));
  EXPECT_FALSE(pki::sign_request({ca.certificate, other.key}, asked, now, std::chrono::hours(1)));
  EXPECT_FALSE(pki::sign_request(ca, asked, now + std::chrono::hours(11), std::chrono::hours(1)));
  EXPECT_FALSE(pki::sign_request({"", ""}, asked, now, std::chrono::hours(1)));
  EXPECT_TRUE(pki::sign_request(ca, request(hello_of("prod1"), {"hello"}), now, std::chrono::hours(1)));
  for (const std::string& name : {std::string("h\xe9llo"), std::string("hello\0x", 7), std::string("hello world")}) {
    EXPECT_FALSE(pki::sign_request(ca, request(hello_of("prod1"), {name}), now, std::chrono::hours(1))) << name;
  }
}

TEST(AwaitsCertificate, OnlyOnceApprovedAndNeitherDeniedNorSigned) {
  Json csr = Json::object();
  EXPECT_FALSE(api::awaits_certificate(csr));
  csr["status"]["conditions"] = Json::array({{{"type", "Approved"}, {"status", "True"}}});
  EXPECT_TRUE(api::awaits_certificate(csr));
  csr["status"]["conditions"].push_back({{"type", "Denied"}, {"status", "True"}});
  EXPECT_FALSE(api::awaits_certificate(csr));
  csr["status"] = {{"conditions", Json::array({{{"type", "Approved"}}})}, {"certificate", "LS0t"}};
  EXPECT_FALSE(api::awaits_certificate(csr));
}

}  // namespace
}  // namespace fleetadm::addon
