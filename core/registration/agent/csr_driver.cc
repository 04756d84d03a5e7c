#include "core/registration/agent/driver.h"

namespace fleetadm::registration::agent {
namespace {

class CsrDriver final : public RegistrationDriver {
 public:
  explicit CsrDriver(RequestOptions options) : options_(options) {}

  std::map<std::string, std::string> annotations() const override { return {}; }
  std::string kubeconfig(const Endpoint& hub) const override { return hub_kubeconfig(hub); }
  std::string why_unusable(const HubSecret& stored, const Identity& identity, const std::optional<Endpoint>& bootstrap,
                           Instant now) const override {
    return agent::why_unusable(stored, identity, bootstrap, now);
  }
  Result<Issuance> advance(const kube::Client& hub, const HubSecretStore& store, const Identity& identity,
                           const Endpoint& endpoint, const Clock& clock) const override {
    return agent::advance(hub, {store, store}, agent_order(identity, endpoint, options_), clock);
  }
  bool has_certificate() const override { return true; }
  Result<std::shared_ptr<kube::CredentialSource>> credentials() const override {
    return fail(Category::kInternal, "a certificate is what is stored");
  }

 private:
  RequestOptions options_;
};

}  // namespace

std::shared_ptr<const RegistrationDriver> csr_driver(RequestOptions options) { return std::make_shared<CsrDriver>(options); }

}  // namespace fleetadm::registration::agent
