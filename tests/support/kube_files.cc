// The files of a KubeServer: kubeconfigs, the audit log.
#include <algorithm>
#include <fstream>

#include "kubeclient/base/encoding.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {
namespace fs = std::filesystem;

namespace {

Json kubeconfig_document(const std::string& name, const std::string& server, const std::string& ca_pem, Json user) {
  Json document;
  document["apiVersion"] = "v1";
  document["kind"] = "Config";
  document["current-context"] = name;
  document["clusters"] =
      Json::array({{{"name", name}, {"cluster", {{"server", server}, {"certificate-authority-data", base64_encode(ca_pem)}}}}});
  document["users"] = Json::array({{{"name", name}, {"user", std::move(user)}}});
  document["contexts"] = Json::array({{{"name", name}, {"context", {{"cluster", name}, {"user", name}}}}});
  return document;
}

AuditEntry entry_of(const Json& event) {
  AuditEntry entry;
  entry.id = str(event, {"auditID"});
  entry.stage = str(event, {"stage"});
  entry.verb = str(event, {"verb"});
  entry.uri = str(event, {"requestURI"});
  entry.user = str(event, {"user", "username"});
  entry.groups = string_list_at(event, {"user", "groups"});
  entry.impersonated_user = str(event, {"impersonatedUser", "username"});
  entry.user_agent = str(event, {"userAgent"});
  entry.api_group = str(event, {"objectRef", "apiGroup"});
  entry.resource = str(event, {"objectRef", "resource"});
  entry.subresource = str(event, {"objectRef", "subresource"});
  entry.ns = str(event, {"objectRef", "namespace"});
  entry.name = str(event, {"objectRef", "name"});
  entry.code = static_cast<int>(num(event, {"responseStatus", "code"}));
  if (const Json* body = find(event, {"requestObject"})) entry.request = *body;
  if (const Json* body = find(event, {"responseObject"})) entry.response = *body;
  return entry;
}

}  // namespace

std::string KubeServer::kubeconfig_with(const pki::KeyPair& user) const {
  return dump_json(kubeconfig_document(
      options_.name, url_, ca_.certificate,
      {{"client-certificate-data", base64_encode(user.certificate)}, {"client-key-data", base64_encode(user.key)}}));
}

std::string KubeServer::kubeconfig_file() const { return (folder() / "admin.kubeconfig").string(); }

std::string KubeServer::kubeconfig_for(std::string_view common_name, const std::vector<std::string>& organizations) const {
  pki::LeafOptions leaf;
  leaf.subject = {.common_name = std::string(common_name), .organizations = organizations, .organizational_units = {}};
  leaf.client = true;
  leaf.backdate = pki::kClocksApart;  // tests have clocks that differ
  const auto user = pki::issue(ca_, leaf);
  return user ? kubeconfig_with(*user) : std::string();
}

std::string KubeServer::kubeconfig_file_for(std::string_view common_name, const std::vector<std::string>& organizations) const {
  std::string file = "user-" + sha256_hex(dump_json(Json{common_name, organizations})).substr(0, 16) + ".kubeconfig";
  return folder_.write(file, kubeconfig_for(common_name, organizations));
}

std::string KubeServer::kubeconfig_with_token(std::string_view token) const {
  return dump_json(kubeconfig_document(options_.name, url_, ca_.certificate, {{"token", std::string(token)}}));
}

std::uintmax_t KubeServer::audit_position() const {
  std::error_code missing;
  const auto size = fs::file_size(audit_file(), missing);
  return missing ? 0 : size;
}

std::vector<AuditEntry> KubeServer::audit(const std::function<bool(const AuditEntry&)>& keep) const {
  return audit_since(0, keep);
}

std::vector<AuditEntry> KubeServer::audit_since(std::uintmax_t position,
                                                const std::function<bool(const AuditEntry&)>& keep) const {
  std::vector<AuditEntry> entries;
  std::ifstream in(audit_file(), std::ios::binary);
  in.seekg(static_cast<std::streamoff>(std::max(position, audit_begin_)));
  std::string line;
  while (std::getline(in, line)) {
    const auto event = parse_json(line);  // the last line may still be on its way
    if (!event) continue;
    AuditEntry entry = entry_of(*event);
    if (!keep || keep(entry)) entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace fleetadm::testkit
