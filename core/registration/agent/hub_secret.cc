#include "core/registration/agent/hub_secret.h"

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::registration::agent {
namespace {

constexpr int kEditRounds = 5;

// The entry of a kubeconfig's named list ("clusters", "contexts"); nullptr where there is none.
const Json* entry_named(const Json& document, std::string_view list, std::string_view name) {
  for (const Json& item : list_at(document, {list})) {
    if (str(item, {"name"}) == name) return &item;
  }
  return nullptr;
}

Result<HubSecret> decode(const Json& secret) {
  HubSecret decoded;
  for (const auto& [key, value] : strings_at(secret, {"data"})) {
    FLEETADM_TRY(decoded.data[key], base64_decode(value));
  }
  return decoded;
}

// Only keys that differ are touched: another writer's encoding of an unchanged value stays.
void encode(const HubSecret& before, const HubSecret& after, Json& secret) {
  Json& data = at_or_make(secret, {"data"});
  if (!data.is_object()) data = Json::object();
  for (const auto& [key, value] : before.data) {
    if (!after.data.contains(key)) data.erase(key);
  }
  for (const auto& [key, value] : after.data) {
    const auto old = before.data.find(key);
    if (old == before.data.end() || old->second != value) data[key] = base64_encode(value);
  }
}

}  // namespace

HubSecret HubSecret::former() const {
  HubSecret other;
  for (const char* key : {kClusterNameKey, kAgentNameKey}) other.data[key] = get(key);
  for (const char* key : {kKubeconfigKey, kCertificateKey, kPrivateKeyKey})
    other.data[key] = get(std::string(kFormerPrefix) + key);
  return other;
}

std::string HubSecret::get(const std::string& key) const {
  const auto found = data.find(key);
  return found == data.end() ? std::string() : found->second;
}

Result<Endpoint> endpoint_of(std::string_view kubeconfig) {
  const auto invalid = [](std::string what) { return fail(Category::kInvalid, "invalid kubeconfig: " + std::move(what)); };
  Result<Json> document = parse_yaml(kubeconfig);
  if (!document) return fail(document.error().wrap("invalid kubeconfig"));
  const std::string current = str(*document, {"current-context"});
  const Json* context = entry_named(*document, "contexts", current);
  if (current.empty() || context == nullptr) return invalid("no current context");
  Endpoint endpoint;
  endpoint.entry = str(*context, {"context", "cluster"});
  const Json* cluster = entry_named(*document, "clusters", endpoint.entry);
  if (cluster == nullptr) return invalid("context \"" + current + "\" names no cluster entry");
  endpoint.server = str(*cluster, {"cluster", "server"});
  if (endpoint.server.empty()) return invalid("cluster \"" + endpoint.entry + "\" has no server");
  const std::string ca = str(*cluster, {"cluster", "certificate-authority-data"});
  if (ca.empty() && !str(*cluster, {"cluster", "certificate-authority"}).empty()) {
    return invalid("cluster \"" + endpoint.entry + "\" keeps its CA in a file; only certificate-authority-data can be used");
  }
  FLEETADM_TRY(endpoint.ca_pem, base64_decode(ca));
  endpoint.proxy_url = str(*cluster, {"cluster", "proxy-url"});
  endpoint.tls_server_name = str(*cluster, {"cluster", "tls-server-name"});
  return endpoint;
}

kube::RestConfig config_of(const Endpoint& endpoint) {
  kube::RestConfig config;
  config.server = endpoint.server;
  config.ca_data = endpoint.ca_pem;
  config.proxy_url = endpoint.proxy_url;
  config.tls_server_name = endpoint.tls_server_name;
  config.name = "hub";
  return config;
}

std::string hub_kubeconfig(const Endpoint& endpoint, StoredCredential credential) {
  const Json user = credential == StoredCredential::kToken
                        ? Json{{"tokenFile", "token"}}
                        : Json{{"client-certificate", kCertificateKey}, {"client-key", kPrivateKeyKey}};
  Json cluster = {{"server", endpoint.server}};
  if (!endpoint.ca_pem.empty()) cluster["certificate-authority-data"] = base64_encode(endpoint.ca_pem);
  if (!endpoint.proxy_url.empty()) cluster["proxy-url"] = endpoint.proxy_url;
  if (!endpoint.tls_server_name.empty()) cluster["tls-server-name"] = endpoint.tls_server_name;
  const Json document = {
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"clusters", Json::array({{{"name", endpoint.entry}, {"cluster", std::move(cluster)}}})},
      {"contexts",
       Json::array({{{"name", "default-context"},
                     {"context", {{"cluster", endpoint.entry}, {"namespace", "configuration"}, {"user", "default-auth"}}}}})},
      {"current-context", "default-context"},
      {"users", Json::array({{{"name", "default-auth"}, {"user", user}}})},
  };
  return dump_yaml(document);
}

std::string why_unusable(const HubSecret& secret, const Identity& identity, const std::optional<Endpoint>& bootstrap,
                         Instant now) {
  const std::string kubeconfig = secret.get(kKubeconfigKey);
  if (kubeconfig.empty()) return "there is no hub kubeconfig yet";
  const Result<Endpoint> endpoint = endpoint_of(kubeconfig);
  if (!endpoint) return "the stored hub kubeconfig cannot be read: " + endpoint.error().message;
  if (bootstrap && !(*endpoint == *bootstrap)) return "the bootstrap kubeconfig names another hub";
  const std::string certificate = secret.get(kCertificateKey);
  const std::string key = secret.get(kPrivateKeyKey);
  if (key.empty()) return "there is no private key";
  const auto chain = pki::parse_certificates(certificate);
  if (!chain) return "there is no readable client certificate";
  if (chain->front().subject.common_name != common_name(identity)) return "the client certificate is for another identity";
  for (const pki::CertInfo& link : *chain) {
    if (link.not_after <= now) return "the client certificate expired at " + format_time(link.not_after);
  }
  if (!pki::key_matches(certificate, key)) return "the client certificate does not belong to the private key";
  return {};
}

HubSecretStore::HubSecretStore(kube::Client spoke, std::string ns, std::string name, std::map<std::string, std::string> labels)
    : spoke_(std::move(spoke)), ns_(std::move(ns)), name_(std::move(name)), labels_(std::move(labels)) {}

Status HubSecretStore::remove() const {
  const auto gone = spoke_.remove(kube::resources::secrets(), ns_, name_);
  remember(std::nullopt);
  if (gone || gone.error().category == Category::kNotFound) return {};
  return fail(gone.error().wrap("secret " + ns_ + "/" + name_));
}

Result<HubSecret> HubSecretStore::load() const {
  FLEETADM_TRY(const std::optional<Json> secret, spoke_.find(kube::resources::secrets(), ns_, name_));
  remember(secret);
  if (!secret) return HubSecret{};
  return decode(*secret);
}

void HubSecretStore::remember(std::optional<Json> secret) const {
  const std::lock_guard lock(seen_->mutex);
  seen_->secret = std::move(secret);
}

std::optional<Json> HubSecretStore::known() const {
  const std::lock_guard lock(seen_->mutex);
  return seen_->secret;
}

Result<HubSecret> HubSecretStore::edit(const std::function<Status(HubSecret&)>& change) const {
  for (int round = 0;; ++round) {
    std::optional<Json> current = round == 0 ? known() : std::nullopt;
    if (!current) {
      FLEETADM_TRY(current, spoke_.find(kube::resources::secrets(), ns_, name_));
    }
    HubSecret stored;
    if (current) {
      FLEETADM_TRY(stored, decode(*current));
    }
    HubSecret wanted = stored;
    FLEETADM_CHECK(change(wanted));
    if (current && wanted.data == stored.data) {
      remember(std::move(current));
      return stored;
    }
    Json object = current ? *current
                          : Json{{"apiVersion", "v1"},
                                 {"kind", "Secret"},
                                 {"type", "Opaque"},
                                 {"metadata", {{"name", name_}, {"namespace", ns_}}}};
    if (!current && !labels_.empty()) object["metadata"]["labels"] = labels_;
    encode(stored, wanted, object);
    const Result<Json> written =
        current ? spoke_.update(kube::resources::secrets(), object) : spoke_.create(kube::resources::secrets(), ns_, object);
    if (written) {
      remember(*written);
      return decode(*written);
    }
    // Someone else wrote, created or deleted it in between: look again.
    const bool raced =
        written.error().category == Category::kConflict || (current && written.error().category == Category::kNotFound);
    if (!raced || round + 1 == kEditRounds) return fail(written.error().wrap("secret " + ns_ + "/" + name_));
  }
}

}  // namespace fleetadm::registration::agent
