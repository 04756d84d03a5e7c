#include "core/api/certificate_request.h"

#include <set>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/log.h"
#include "kubeclient/pki/csr_key.h"

namespace fleetadm::api {
namespace {

constexpr std::size_t kMaxQuoted = 120;
constexpr int kLeastKeyStrength = 112;  // bits of security: RSA 2048

tl::unexpected<Error> bad_request(std::string why) { return fail(Category::kInvalid, std::move(why)); }

}  // namespace

std::string quoted_text(const std::string& text) {
  std::string shown = log::escape_terminal(text.substr(0, kMaxQuoted));
  if (text.size() > kMaxQuoted) shown += "...";
  return "\"" + shown + "\"";
}

Status check_client_usages(const Json& csr) {
  static const std::set<std::string> kWanted{"client auth", "digital signature", "key encipherment"};
  std::set<std::string> usages;
  for (const Json& usage : list_at(csr, {"spec", "usages"})) {
    if (!usage.is_string()) return bad_request("a usage is no text");
    usages.insert(usage.get<std::string>());
  }
  if (usages == kWanted) return {};
  std::string named;
  for (const auto& usage : usages) named += (named.empty() ? "" : ", ") + quoted_text(usage);
  return bad_request("the usages are " + (named.empty() ? std::string("missing") : named) + " instead of those of a client");
}

Result<pki::CsrInfo> checked_request(const Json& csr) {
  auto pem = base64_decode(str(csr, {"spec", "request"}));
  if (!pem) return bad_request("the request is not base64");
  auto info = pki::parse_csr(*pem);
  if (!info) return bad_request("the request cannot be read: " + log::escape_terminal(info.error().message));
  const auto key = pki::csr_key(*pem);
  if (!key || !key->der) return bad_request("the request is not in DER: another program may read it as something else");
  if (key->strength < kLeastKeyStrength) return bad_request("its key is too weak: " + info->public_key_algorithm);
  if (!info->signature_valid) return bad_request("its self-signature is wrong: the requester does not hold the key");
  return std::move(*info);
}

bool csr_decided(const Json& csr) {
  if (!str(csr, {"status", "certificate"}).empty()) return true;
  for (const Json& condition : list_at(csr, {"status", "conditions"})) {
    const std::string type = str(condition, {"type"});
    if (type == "Approved" || type == "Denied" || type == "Failed") return true;
  }
  return false;
}

bool awaits_certificate(const Json& csr) {
  if (!str(csr, {"status", "certificate"}).empty()) return false;
  bool approved = false;
  for (const Json& condition : list_at(csr, {"status", "conditions"})) {
    const std::string type = str(condition, {"type"});
    if (type == "Denied" || type == "Failed") return false;
    if (type == "Approved") approved = str(condition, {"status"}, "True") == "True";
  }
  return approved;
}

void add_approval(Json& csr, std::string_view message, Instant now) {
  Json& conditions = at_or_make(csr, {"status", "conditions"});
  if (!conditions.is_array()) conditions = Json::array();
  conditions.push_back({{"type", "Approved"},
                        {"status", "True"},
                        {"reason", "AutoApprovedByHubCSRApprovingController"},
                        {"message", std::string(message)},
                        {"lastUpdateTime", format_time(now)}});
}

}  // namespace fleetadm::api
