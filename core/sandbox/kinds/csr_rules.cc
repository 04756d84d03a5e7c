// CertificateSigningRequests (docs/reference/kubernetes-access.md#certificate-requests).
#include <algorithm>
#include <set>

#include "core/sandbox/kinds/kind_rules.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::sandbox {
namespace {

const std::set<std::string>& known_usages() {
  static const std::set<std::string> all = {"signing",
                                            "digital signature",
                                            "content commitment",
                                            "key encipherment",
                                            "key agreement",
                                            "data encipherment",
                                            "cert sign",
                                            "crl sign",
                                            "encipher only",
                                            "decipher only",
                                            "any",
                                            "server auth",
                                            "client auth",
                                            "code signing",
                                            "email protection",
                                            "s/mime",
                                            "ipsec end system",
                                            "ipsec tunnel",
                                            "ipsec user",
                                            "timestamping",
                                            "ocsp signing",
                                            "microsoft sgc",
                                            "netscape sgc"};
  return all;
}

ApiStatus check_spec(const StrategyContext& context, const Json& csr) {
  std::vector<Cause> causes;
  const auto signer = str(csr, {"spec", "signerName"});
  const auto pem = base64_decode(str(csr, {"spec", "request"}));
  const auto parsed = pem ? pki::parse_csr(*pem) : Result<pki::CsrInfo>(fail(Category::kInvalid, ""));
  if (!parsed || !parsed->signature_valid)
    causes.push_back(bad_value("spec.request", str(csr, {"spec", "request"}), "PEM block type must be CERTIFICATE REQUEST"));
  if (signer.empty()) causes.push_back(required("spec.signerName"));
  if (!signer.empty() && signer.find('/') == std::string::npos)
    causes.push_back(
        bad_value("spec.signerName", signer, "must be a fully qualified domain and path of the form 'example.com/signer-name'"));
  if (signer == "kubernetes.io/legacy-unknown")
    causes.push_back(bad_value("spec.signerName", signer, "the legacy signerName is not allowed via this API version"));
  const auto usages = string_list_at(csr, {"spec", "usages"});
  if (usages.empty()) causes.push_back(required("spec.usages"));
  std::set<std::string> seen;
  for (std::size_t i = 0; i < usages.size(); ++i) {
    const auto at = "spec.usages[" + std::to_string(i) + "]";
    if (!known_usages().contains(usages[i]))
      causes.push_back(unsupported(at, usages[i], {known_usages().begin(), known_usages().end()}));
    if (!seen.insert(usages[i]).second) causes.push_back(duplicate(at, usages[i]));
  }
  if (const Json* seconds = find(csr, {"spec", "expirationSeconds"});
      seconds != nullptr && num(csr, {"spec", "expirationSeconds"}) < 600) {
    causes.push_back(
        bad_value("spec.expirationSeconds", *seconds, "may not specify a duration less than 600 seconds (10 minutes)"));
  }
  if (!causes.empty()) return invalid(context.kind, name_of(csr), causes);
  const auto& organizations = parsed->subject.organizations;
  if (signer == "kubernetes.io/kube-apiserver-client" &&
      std::find(organizations.begin(), organizations.end(), "system:masters") != organizations.end()) {
    return forbidden(context.kind, name_of(csr),
                     "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed");
  }
  return {};
}

ApiStatus check_conditions(const StrategyContext& context, Json& csr, const Json& old) {
  std::vector<Cause> causes;
  std::set<std::string> types;
  const auto now = format_time(context.now);
  const auto before = list_at(old, {"status", "conditions"});
  if (Json& list = at_or_make(csr, {"status", "conditions"}); list.is_array()) {
    int index = 0;
    for (Json& one : list) {
      const auto at = "status.conditions[" + std::to_string(index++) + "]";
      const auto type = str(one, {"type"});
      if (str(one, {"status"}).empty()) causes.push_back(required(at + ".status"));
      const bool strict = type == "Approved" || type == "Denied" || type == "Failed";
      if (strict && !str(one, {"status"}).empty() && str(one, {"status"}) != "True")
        causes.push_back(unsupported(at + ".status", str(one, {"status"}), {"True"}));
      if (!types.insert(type).second) causes.push_back(duplicate(at + ".type", type));
      if (find(one, {"lastUpdateTime"}) == nullptr || one["lastUpdateTime"].is_null()) one["lastUpdateTime"] = now;
      if (find(one, {"lastTransitionTime"}) == nullptr || one["lastTransitionTime"].is_null()) one["lastTransitionTime"] = now;
    }
  } else {
    erase_at(csr, {"status", "conditions"});
  }
  if (types.contains("Approved") && types.contains("Denied")) {
    causes.push_back(bad_value("status.conditions", "Denied", "Approved and Denied conditions are mutually exclusive"));
  }
  for (const Json& one : before) {
    const auto type = str(one, {"type"});
    if ((type == "Approved" || type == "Denied" || type == "Failed") && !types.contains(type)) {
      causes.push_back(forbidden_field("status.conditions", "updates may not remove a condition of type \"" + type + "\""));
    }
  }
  if (causes.empty()) return {};
  return invalid(context.kind, name_of(csr), causes);
}

}  // namespace

Strategy csr_strategy() {
  Strategy out;
  out.create = [](const StrategyContext& context, Json& csr) -> ApiStatus {
    Json& spec = at_or_make(csr, {"spec"});
    const serve::User& user = context.options.user;
    for (const char* field : {"username", "uid", "groups", "extra"}) spec.erase(field);
    if (!user.name.empty()) spec["username"] = user.name;
    if (!user.uid.empty()) spec["uid"] = user.uid;
    if (!user.groups.empty()) spec["groups"] = user.groups;
    if (!user.extra.empty()) spec["extra"] = user.extra;
    csr["status"] = Json::object();
    return check_spec(context, csr);
  };
  out.update = [](const StrategyContext& context, Json& csr, const Json& old) -> ApiStatus {
    csr["spec"] = object_at(old, {"spec"});
    if (context.options.subresource.empty()) {
      csr["status"] = object_at(old, {"status"});
      return {};
    }
    if (const auto certificate = str(old, {"status", "certificate"});
        !certificate.empty() && str(csr, {"status", "certificate"}) != certificate) {
      return invalid(context.kind, name_of(csr),
                     {forbidden_field("status.certificate", "updates may not set certificate content to nil or change it")});
    }
    return check_conditions(context, csr, old);
  };
  return out;
}

}  // namespace fleetadm::sandbox
