#include "core/registration/agent/awsirsa_driver.h"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

#include "core/api/kinds.h"
#include "core/registration/agent/status.h"
#include "core/registration/aws/eks_token.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::registration::agent {
namespace {

/// The agent's image has no such program; where somebody has put one, it is asked, as by every other reader of the kubeconfig.
bool is_on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    if (!folder.empty() && ::access((std::string(folder) + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

class AwsIrsaDriver final : public RegistrationDriver {
 public:
  AwsIrsaDriver(aws::EksCluster hub, const aws::EksCluster& member, std::string suffix)
      : hub_(std::move(hub)),
        member_arn_(aws::arn_of(member)),
        suffix_(suffix.empty() ? aws::role_suffix(hub_, member) : std::move(suffix)) {}

  std::map<std::string, std::string> annotations() const override {
    return {{std::string(aws::kArnAnnotation), member_arn_}, {std::string(aws::kSuffixAnnotation), suffix_}};
  }

  std::string kubeconfig(const Endpoint& hub) const override {
    Json document = kube::make_kubeconfig(hub.server, hub.ca_pem, aws::exec_user(hub_, suffix_), hub.entry);
    Json& cluster = document["clusters"][0]["cluster"];
    if (!hub.proxy_url.empty()) cluster["proxy-url"] = hub.proxy_url;
    if (!hub.tls_server_name.empty()) cluster["tls-server-name"] = hub.tls_server_name;
    return dump_yaml(document);
  }

  std::string why_unusable(const HubSecret& stored, const Identity& /*identity*/, const std::optional<Endpoint>& bootstrap,
                           Instant /*now*/) const override {
    const std::string text = stored.get(kKubeconfigKey);
    if (text.empty()) return "there is no hub kubeconfig yet";
    const auto endpoint = endpoint_of(text);
    if (!endpoint) return "the stored hub kubeconfig cannot be read: " + endpoint.error().message;
    if (bootstrap && !(*endpoint == *bootstrap)) return "the bootstrap kubeconfig names another hub";
    if (text != kubeconfig(*endpoint)) return "the stored hub kubeconfig is of another identity";
    return {};
  }

  Result<Issuance> advance(const kube::Client& hub, const HubSecretStore& store, const Identity& identity,
                           const Endpoint& endpoint, const Clock& /*clock*/) const override {
    FLEETADM_TRY(const auto cluster, hub.find(api::managed_clusters(), {}, identity.cluster));
    if (!cluster || !is_accepted(*cluster))
      return Issuance{Issuance::State::kWaiting, {}, "waits for the hub to accept the cluster", {}};
    FLEETADM_TRY(HubSecret stored, store.edit([&](HubSecret& secret) -> Status {
      secret.data[kClusterNameKey] = identity.cluster;
      secret.data[kAgentNameKey] = identity.agent;
      secret.data[kKubeconfigKey] = kubeconfig(endpoint);
      // Of a registration with a certificate before this one.
      for (const char* key : {kCertificateKey, kPrivateKeyKey, kPendingKeyKey, kPendingRequestKey}) secret.data.erase(key);
      return {};
    }));
    return Issuance{Issuance::State::kIssued, {}, "hub kubeconfig stored", std::move(stored)};
  }

  bool has_certificate() const override { return false; }

  Result<std::shared_ptr<kube::CredentialSource>> credentials() const override {
    if (!is_on_path(aws::kCommand)) {
      return aws::eks_token_source(std::make_shared<aws::Services>(aws::process_environment()), hub_,
                                   aws::hub_role_arn(hub_, suffix_));
    }
    // Of a kubeconfig that only says who, so that the plugin's protocol has one home.
    const std::string text = dump_yaml(kube::make_kubeconfig("https://hub", "", aws::exec_user(hub_, suffix_)));
    FLEETADM_TRY(const kube::Kubeconfig parsed, kube::Kubeconfig::from_text(text, "of the hub"));
    kube::ConfigOverrides overrides;
    overrides.interactive = false;
    FLEETADM_TRY(const kube::RestConfig config, parsed.resolve(overrides));
    return config.credentials;
  }

 private:
  aws::EksCluster hub_;
  std::string member_arn_;
  std::string suffix_;
};

}  // namespace

std::shared_ptr<const RegistrationDriver> awsirsa_driver(const aws::EksCluster& hub, const aws::EksCluster& member,
                                                         std::string suffix) {
  return std::make_shared<AwsIrsaDriver>(hub, member, std::move(suffix));
}

}  // namespace fleetadm::registration::agent
