#include "core/registration/aws/eks_token.h"

#include "kubeclient/base/encoding.h"

namespace fleetadm::registration::aws {
namespace {

constexpr const char* kPrefix = "k8s-aws-v1.";
constexpr auto kValid = std::chrono::seconds(60);      // of the request: the cluster sends it at once
constexpr auto kTokenLife = std::chrono::minutes(10);  // clusters take a token for 15 minutes

class EksTokenSource final : public kube::CredentialSource {
 public:
  EksTokenSource(std::shared_ptr<const Services> services, EksCluster cluster, std::string role)
      : services_(std::move(services)), cluster_(std::move(cluster)), role_(std::move(role)) {}

  Result<kube::Credentials> current() override {
    const std::lock_guard lock(mutex_);
    const Instant now = services_->now();
    if (token_.empty() || now >= asked_ + kTokenLife) {
      FLEETADM_TRY(token_, eks_token(*services_, cluster_, role_, {}));
      asked_ = now;
    }
    kube::Credentials credentials;
    credentials.token = token_;
    return credentials;
  }
  bool refresh() override {
    const std::lock_guard lock(mutex_);
    token_.clear();
    return true;
  }
  bool blocks() const override { return true; }

 private:
  std::shared_ptr<const Services> services_;
  EksCluster cluster_;
  std::string role_;
  std::mutex mutex_;
  std::string token_;
  Instant asked_{};
};

}  // namespace

Result<std::string> eks_token(const Services& services, const EksCluster& cluster, const std::string& role_arn,
                              const std::stop_token& stop) {
  FLEETADM_TRY(const Credentials role, services.assume_role(cluster.region, role_arn, stop));
  const std::string host = "sts." + cluster.region + ".amazonaws.com";
  const std::string query =
      presigned_query({{"Action", "GetCallerIdentity"}, {"Version", "2011-06-15"}},
                      {{"host", host}, {"x-k8s-aws-id", cluster.name}}, role, {cluster.region, "sts"}, services.now(), kValid);
  std::string encoded = base64url_encode("https://" + host + "/?" + query);
  while (encoded.ends_with('=')) encoded.pop_back();
  return kPrefix + encoded;
}

std::shared_ptr<kube::CredentialSource> eks_token_source(std::shared_ptr<const Services> services, EksCluster cluster,
                                                         std::string role_arn) {
  return std::make_shared<EksTokenSource>(std::move(services), std::move(cluster), std::move(role_arn));
}

}  // namespace fleetadm::registration::aws
