#include "kubeclient/config/rest_config.h"

namespace fleetadm::kube {
namespace {

class StaticSource final : public CredentialSource {
 public:
  explicit StaticSource(Credentials credentials) : credentials_(std::move(credentials)) {}
  Result<Credentials> current() override { return credentials_; }
  bool refresh() override { return false; }

 private:
  const Credentials credentials_;
};

}  // namespace

std::shared_ptr<CredentialSource> static_credentials(Credentials credentials) {
  return std::make_shared<StaticSource>(std::move(credentials));
}

}  // namespace fleetadm::kube
