// Random certificate requests: their parser, and the hub's verdict on those of add-ons' agents.
#include <algorithm>
#include <bit>
#include <memory>
#include <openssl/asn1.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>
#include <set>

#include "core/addon/rules/csr_signing.h"
#include "core/addon/rules/csr_verdict.h"
#include "core/api/certificate_request.h"
#include "core/api/kinds.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/csr_key.h"
#include "kubeclient/pki/pki.h"
#include "tests/fuzz/targets.h"

namespace fleetadm::fuzz {
namespace {

using Texts = std::set<std::string>;

tl::unexpected<Error> untrue(std::string what) { return fail(Category::kInternal, "broken promise: " + std::move(what)); }

std::string pem_of(std::string_view der) {
  return "-----BEGIN CERTIFICATE REQUEST-----\n" + base64_encode(der) + "\n-----END CERTIFICATE REQUEST-----\n";
}

const pki::KeyPair& test_ca() {
  static const pki::KeyPair ca = pki::make_ca("signer", std::chrono::hours(24)).value();
  return ca;
}

/// Whatever the order: they are sets.
bool same_subject(const pki::Subject& a, const pki::Subject& b) {
  const auto sorted = [](std::vector<std::string> texts) {
    std::sort(texts.begin(), texts.end());
    return texts;
  };
  return a.common_name == b.common_name && sorted(a.organizations) == sorted(b.organizations) &&
         sorted(a.organizational_units) == sorted(b.organizational_units);
}

std::string width(std::size_t count) { return std::to_string(std::bit_width(count)); }

std::string shape_of_info(const pki::CsrInfo& info) {
  return width(info.subject.organizations.size()) + width(info.subject.organizational_units.size()) +
         (info.subject.common_name.empty() ? "-" : "c") + width(info.dns_names.size()) + width(info.ip_addresses.size()) +
         width(info.emails.size()) + width(info.uris.size()) + (info.other_subject_attributes ? "a" : "-") +
         (info.other_extensions ? "e" : "-") + (info.signature_valid ? "s " : "- ") + info.public_key_algorithm;
}

// --- the parser: a text in PEM, or the request itself
// ---------------------------------------------------------------------------

Result<std::string> run_request(std::string_view text) {
  const std::string pem = text.find("-----BEGIN") == std::string_view::npos ? pem_of(text) : std::string(text);
  const auto info = pki::parse_csr(pem);
  const auto key = pki::csr_key(pem);
  const auto certificate = pki::sign_request(test_ca(), pem, Clock::system()->now(), std::chrono::hours(1));
  if (!info) {
    if (certificate) return untrue("a request that cannot be read was signed");
    return "error: " + shape_of(info.error().message);
  }
  if (!key) return untrue("a request without a key: " + key.error().message);
  const auto again = pki::parse_csr(pem);
  if (!again || !same_subject(again->subject, info->subject) || again->dns_names != info->dns_names)
    return untrue("two readings of one request");
  std::string shape = shape_of_info(*info) + (key->der ? " der" : " ber");
  if (!certificate) return shape + " unsigned: " + shape_of(certificate.error().message);
  const auto leaf = pki::parse_certificates(*certificate);
  if (!leaf) return untrue("a certificate that cannot be read: " + leaf.error().message);
  if (leaf->front().is_ca) return untrue("a CA's certificate");
  if (!same_subject(leaf->front().subject, info->subject)) return untrue("a certificate of another subject");
  if (leaf->front().dns_names != info->dns_names) return untrue("a certificate of other names");
  return shape + " signed";
}

// --- the verdict: the first line says who asks for what, and what follows is the part of the request that is signed
// -------------

std::string der(unsigned char tag, std::string_view content) {
  std::string made(1, static_cast<char>(tag));
  if (content.size() < 0x80) {
    made += static_cast<char>(content.size());
  } else {
    const int bytes = content.size() < 0x100 ? 1 : 2;
    made += static_cast<char>(0x80 + bytes);
    if (bytes == 2) made += static_cast<char>(content.size() >> 8);
    made += static_cast<char>(content.size() & 0xFFU);
  }
  return made.append(content);
}

/// Everything of the request is as the input has it; the signature is by the key of 32 zeros (Ed25519).
std::string signed_request(std::string_view info) {
  static const std::string seed(32, '\0');
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, reinterpret_cast<const unsigned char*>(seed.data()), seed.size()),
      EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::string signature(64, '\0');
  std::size_t size = signature.size();
  if (!key || !context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     reinterpret_cast<const unsigned char*>(info.data()), info.size()) != 1) {
    return {};
  }
  const std::string algorithm = der(0x30, der(0x06, "\x2b\x65\x70"));
  return der(0x30, std::string(info) + algorithm + der(0x03, std::string(1, '\0') + signature));
}

struct Requester {
  std::string name, cluster, addon, signer, user, usages;
};

Requester requester_of(std::string_view line) {
  Requester asked;
  for (std::string* field : {&asked.name, &asked.cluster, &asked.addon, &asked.signer, &asked.user, &asked.usages}) {
    const std::size_t end = line.find('\t');
    *field = line.substr(0, end);
    line = end == std::string_view::npos ? std::string_view() : line.substr(end + 1);
  }
  return asked;
}

Json csr_of(const Requester& asked, const std::string& request) {
  Json usages = Json::array();
  std::string_view rest = asked.usages;
  while (!rest.empty()) {
    const std::size_t end = rest.find(',');
    usages.push_back(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return {
      {"apiVersion", "certificates.k8s.io/v1"},
      {"kind", "CertificateSigningRequest"},
      {"metadata",
       {{"name", asked.name},
        {"labels", {{std::string(api::kClusterNameLabel), asked.cluster}, {std::string(api::kAddonNameLabel), asked.addon}}}}},
      {"spec",
       {{"request", base64_encode(pem_of(request))},
        {"signerName", asked.signer},
        {"username", asked.user},
        {"usages", std::move(usages)}}}};
}

/// Clusters "prod1" and "prod10", and "left", which is not accepted; each with the add-ons "hello" and "other".
const addon::MemoryObjects& fleet_objects() {
  static const addon::MemoryObjects made = [] {
    addon::MemoryObjects objects;
    const Json reference{{"group", "addon.open-cluster-management.io"},
                         {"resource", "addontemplates"},
                         {"desiredConfig", {{"name", "t1"}, {"specHash", "h"}}}};
    for (const char* cluster : {"prod1", "prod10", "left"}) {
      objects.put({{"apiVersion", "cluster.open-cluster-management.io/v1"},
                   {"kind", "ManagedCluster"},
                   {"metadata", {{"name", cluster}}},
                   {"spec", {{"hubAcceptsClient", std::string_view(cluster) != "left"}}}});
      for (const char* name : {"hello", "other"}) {
        objects.put({{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
                     {"kind", "ManagedClusterAddOn"},
                     {"metadata", {{"name", name}, {"namespace", cluster}}},
                     {"status", {{"configReferences", Json::array({reference})}}}});
      }
    }
    const auto custom = [](const char* signer, Json more) {
      more["signerName"] = signer;
      more["signingCA"] = {{"name", "ca"}};
      return Json{{"type", "CustomSigner"}, {"customSigner", std::move(more)}};
    };
    const Json own{{"subject", {{"user", "u"}, {"groups", {"g"}}, {"organizationUnit", {"o"}}}}};
    objects.put({{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
                 {"kind", "AddOnTemplate"},
                 {"metadata", {{"name", "t1"}}},
                 {"spec",
                  {{"registration", Json::array({{{"type", "KubeClient"}, {"kubeClient", Json::object()}},
                                                 custom("example.com/signer", Json::object()),
                                                 custom("example.com/own", own),
                                                 custom("kubernetes.io/kubelet-serving", Json::object())})}}}});
    return objects;
  }();
  return made;
}

/// What a request asks for, read by OpenSSL alone: "CN=…", "O=…", "OU=…", "dns=…"; "?" for anything else.
Texts contents_of(const std::string& request) {
  const auto* at = reinterpret_cast<const unsigned char*>(request.data());
  const std::unique_ptr<X509_REQ, decltype(&X509_REQ_free)> read(d2i_X509_REQ(nullptr, &at, static_cast<long>(request.size())),
                                                                 X509_REQ_free);
  if (!read) return {"?"};
  Texts found;
  const X509_NAME* subject = X509_REQ_get_subject_name(read.get());
  for (int i = 0; i < X509_NAME_entry_count(subject); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(subject, i);
    unsigned char* text = nullptr;
    const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry));
    const std::string value = size < 0 ? "?" : std::string(reinterpret_cast<char*>(text), static_cast<std::size_t>(size));
    OPENSSL_free(text);
    switch (OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry))) {
      case NID_commonName: found.insert("CN=" + value); break;
      case NID_organizationName: found.insert("O=" + value); break;
      case NID_organizationalUnitName: found.insert("OU=" + value); break;
      default: found.insert("?");
    }
  }
  const auto free_all = [](STACK_OF(X509_EXTENSION) * all) { sk_X509_EXTENSION_pop_free(all, X509_EXTENSION_free); };
  const std::unique_ptr<STACK_OF(X509_EXTENSION), decltype(free_all)> extensions(X509_REQ_get_extensions(read.get()), free_all);
  for (int i = 0; extensions && i < sk_X509_EXTENSION_num(extensions.get()); ++i) {
    X509_EXTENSION* extension = sk_X509_EXTENSION_value(extensions.get(), i);
    const bool names_it = OBJ_obj2nid(X509_EXTENSION_get_object(extension)) == NID_subject_alt_name;
    const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
        names_it ? static_cast<GENERAL_NAMES*>(X509V3_EXT_d2i(extension)) : nullptr, GENERAL_NAMES_free);
    if (!names) found.insert("?");
    for (int n = 0; names && n < sk_GENERAL_NAME_num(names.get()); ++n) {
      const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), n);
      if (name->type != GEN_DNS) {
        found.insert("?");
        continue;
      }
      found.insert("dns=" + std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                                        static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName))));
    }
  }
  return found;
}

/// Why it should not have been approved; empty: it should. By its own reading of the rules, from nothing that the verdict uses.
std::string should_not(const Requester& asked, const std::string& request) {
  const bool known =
      (asked.cluster == "prod1" || asked.cluster == "prod10") && (asked.addon == "hello" || asked.addon == "other");
  if (!known) return "no add-on of an accepted cluster";
  if (asked.name.rfind("addon-" + asked.cluster + "-" + asked.addon + "-", 0) != 0) return "another name";
  const std::string group = "system:open-cluster-management:" + asked.cluster + ":";
  if (asked.user.rfind(group, 0) != 0 || asked.user.size() == group.size()) return "another requester";
  if (asked.user.find(':', group.size()) != std::string::npos) return "another requester";
  Texts usages;
  const Json csr = csr_of(asked, request);
  for (const std::string& usage : string_list_at(csr, {"spec", "usages"})) usages.insert(usage);
  if (usages != Texts{"client auth", "digital signature", "key encipherment"}) return "other usages";
  const std::string of_addon = "system:open-cluster-management:cluster:" + asked.cluster + ":addon:" + asked.addon;
  Texts wanted{"CN=" + of_addon + ":agent:" + asked.addon + "-agent", "O=" + of_addon,
               "O=system:open-cluster-management:addon:" + asked.addon};
  Texts contents = contents_of(request);
  contents.erase("dns=" + asked.addon + ".addon.open-cluster-management.io");
  if (asked.signer == "example.com/own") {
    wanted = {"CN=u", "O=g", "OU=o"};
  } else if (asked.signer == "kubernetes.io/kube-apiserver-client" || asked.signer == "example.com/signer") {
    contents.erase("O=system:authenticated");
  } else {
    return "another signer";
  }
  return contents == wanted ? "" : "other contents";
}

Result<std::string> run_addon_csr(std::string_view text) {
  const std::size_t end = text.find('\n');
  const Requester asked = requester_of(text.substr(0, end));
  const std::string request = signed_request(end == std::string_view::npos ? std::string_view() : text.substr(end + 1));
  if (request.empty()) return untrue("the test's own key does not sign");
  const Json csr = csr_of(asked, request);
  const addon::CsrVerdict verdict = addon::judge_addon_request(fleet_objects(), csr);
  if (verdict.answer == addon::CsrVerdict::Answer::kOthers) return std::string("others");
  if (verdict.answer == addon::CsrVerdict::Answer::kRefused) {
    if (verdict.rule.empty() || verdict.why.empty()) return untrue("refused without a reason");
    const bool of_contents = verdict.rule == "request" || verdict.rule == "subject";
    return verdict.rule + (of_contents ? ": " + shape_of(verdict.why) : std::string());
  }
  if (const std::string why = should_not(asked, request); !why.empty()) return untrue("approved, in spite of " + why);
  if (verdict.signer.is_null() != (asked.signer == "kubernetes.io/kube-apiserver-client")) return untrue("another signer's");
  const Json secret{{"data", {{"tls.crt", base64_encode(test_ca().certificate)}, {"tls.key", base64_encode(test_ca().key)}}}};
  const auto certificate = addon::sign_addon_request(csr, secret, Clock::system()->now());
  if (!certificate) return untrue("approved, and cannot be signed: " + certificate.error().message);
  const auto leaf = pki::parse_certificates(*certificate);
  const auto info = pki::parse_csr(pem_of(request));
  if (!leaf || !info || !same_subject(leaf->front().subject, info->subject) || leaf->front().is_ca)
    return untrue("another certificate");
  return "approved " + asked.signer + " " + shape_of_info(*info) + asked.cluster + asked.addon;
}

const std::vector<std::string_view> kAddonCsrWords = {
    "system:open-cluster-management:cluster:prod1:addon:hello:agent:hello-agent",
    "system:open-cluster-management:cluster:prod1:addon:hello",
    "system:open-cluster-management:addon:hello",
    "system:open-cluster-management:prod10:agent1",
    "addon-prod1-hello-x",
    "addon-prod10-other-x",
    "\tprod1\t",
    "\tprod10\t",
    "\tleft\t",
    "\thello\t",
    "\tother\t",
    "\tmissing\t",
    "kubernetes.io/kube-apiserver-client",
    "kubernetes.io/kubelet-serving",
    "example.com/signer",
    "example.com/own",
    "client auth,digital signature,key encipherment",
    "server auth",
    "system:masters",
    "system:authenticated",
    ":",
    "\t",
    "\x06\x03\x55\x04\x03\x0c",
    "\x06\x03\x55\x04\x0a\x0c",
    "\x06\x03\x55\x1d\x11",
    "\x06\x03\x55\x1d\x13"};
const std::vector<std::string_view> kRequestWords = {"-----BEGIN CERTIFICATE REQUEST-----\n",
                                                     "-----END CERTIFICATE REQUEST-----\n",
                                                     "NEW ",
                                                     "\n",
                                                     "\x30\x80",
                                                     "\x30\x82",
                                                     "\x31",
                                                     "\xa0",
                                                     "\x06\x03\x55\x04\x03",
                                                     "\x06\x03\x55\x04\x0a",
                                                     "\x06\x03\x55\x04\x0b",
                                                     "\x06\x03\x55\x1d\x11",
                                                     "\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x09\x0e",
                                                     "\x0c",
                                                     "\x13",
                                                     "\x1e",
                                                     "\x82",
                                                     "\x87\x04"};

}  // namespace

std::vector<Target> certificate_targets() {
  return {{"certificate_request", 6'000, false, kRequestWords, run_request},
          {"addon_csr", 4'000, false, kAddonCsrWords, run_addon_csr}};
}

}  // namespace fleetadm::fuzz
