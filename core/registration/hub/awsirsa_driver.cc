#include "core/registration/hub/awsirsa_driver.h"

#include <algorithm>
#include <re2/re2.h>

#include "core/api/agent_identity.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"
#include "kubeclient/base/log.h"

namespace fleetadm::registration::hub {
namespace {

constexpr const char* kDriver = "awsirsa";

Result<std::vector<std::shared_ptr<re2::RE2>>> compiled(const std::vector<std::string>& patterns) {
  std::vector<std::shared_ptr<re2::RE2>> all;
  for (const std::string& pattern : patterns) {
    auto one = std::make_shared<re2::RE2>(pattern, re2::RE2::Quiet);
    if (!one->ok())
      return fail(Category::kUsage, "\"" + pattern + "\" is not a regular expression: " + one->error(),
                  "for example: arn:aws:eks:us-west-2:123456789012:cluster/.*");
    all.push_back(std::move(one));
  }
  return all;
}

bool is_accepted_member(const Json& cluster) {
  return flag(cluster, {"spec", "hubAcceptsClient"}) || controller::condition_is(cluster, api::kConditionHubAccepted, "True");
}

}  // namespace

AwsIrsaDriver::AwsIrsaDriver(aws::EksCluster hub, aws::Identities identities, std::vector<std::shared_ptr<re2::RE2>> patterns,
                             std::shared_ptr<kube::Informer> clusters)
    : hub_(std::move(hub)), identities_(std::move(identities)), patterns_(std::move(patterns)), clusters_(std::move(clusters)) {}

Result<std::shared_ptr<AwsIrsaDriver>> AwsIrsaDriver::make(AwsIrsaOptions options, std::shared_ptr<kube::Informer> clusters) {
  FLEETADM_TRY(aws::EksCluster hub, aws::parse_eks_arn(options.hub_arn));
  FLEETADM_TRY(auto patterns, compiled(options.patterns));
  aws::Identities identities(std::make_shared<aws::Services>(std::move(options.environment)), hub, std::move(options.tags));
  return std::shared_ptr<AwsIrsaDriver>(
      new AwsIrsaDriver(std::move(hub), std::move(identities), std::move(patterns), std::move(clusters)));
}

bool AwsIrsaDriver::handles(const Json& cluster) const {
  return !annotation_of(cluster, aws::kArnAnnotation).empty() && !annotation_of(cluster, aws::kSuffixAnnotation).empty();
}

bool AwsIrsaDriver::trusts(const Json& cluster) const {
  const std::string arn = annotation_of(cluster, aws::kArnAnnotation);
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [&arn](const std::shared_ptr<re2::RE2>& pattern) { return re2::RE2::FullMatch(arn, *pattern); });
}

std::string AwsIrsaDriver::other_owner(const Json& cluster) const {
  const std::string suffix = annotation_of(cluster, aws::kSuffixAnnotation);
  for (const kube::CachedPtr& cached : clusters_->list()) {
    if (cached->key() == name_of(cluster)) continue;
    const Json other = cached->decode();
    if (annotation_of(other, aws::kSuffixAnnotation) == suffix && handles(other) && is_accepted_member(other))
      return cached->key();
  }
  return {};
}

Status AwsIrsaDriver::grant(const Json& cluster, const std::stop_token& stop) {
  const auto member = aws::parse_eks_arn(annotation_of(cluster, aws::kArnAnnotation));
  if (!member) return fail(Category::kInvalid, member.error().message);
  const std::string suffix = aws::role_suffix(hub_, *member);
  if (suffix != annotation_of(cluster, aws::kSuffixAnnotation)) {
    return fail(Category::kInvalid, "the cluster has joined another hub than " + aws::arn_of(hub_) +
                                        ": the suffix of its roles is not the one of both ARNs");
  }
  if (const std::string owner = other_owner(cluster); !owner.empty())
    return fail(Category::kInvalid, aws::arn_of(*member) + " is the accepted cluster " + owner + " already");
  const std::string name = name_of(cluster);
  FLEETADM_CHECK(identities_.create_role(aws::hub_role_name(suffix), aws::trust_policy(hub_, *member), stop));
  FLEETADM_CHECK(
      identities_.create_access_entry(aws::hub_role_arn(hub_, suffix), name, std::string(api::kAwsGroupPrefix) + name, stop));
  log::info(1, kDriver, name + ": the role " + aws::hub_role_name(suffix) + " may come as this cluster");
  return {};
}

Status AwsIrsaDriver::withdraw(const Json& cluster, const std::stop_token& stop) {
  const auto member = aws::parse_eks_arn(annotation_of(cluster, aws::kArnAnnotation));
  if (!member) return {};  // it never got anything
  // Exactly what was made for it: the annotation is the cluster's own word.
  const std::string suffix = aws::role_suffix(hub_, *member);
  if (suffix != annotation_of(cluster, aws::kSuffixAnnotation)) return {};
  if (const std::string owner = other_owner(cluster); !owner.empty()) {
    log::warn(kDriver, name_of(cluster) + ": the role " + aws::hub_role_name(suffix) + " is cluster " + owner + "'s, and stays");
    return {};
  }
  FLEETADM_CHECK(identities_.delete_access_entry(aws::hub_role_arn(hub_, suffix), stop));
  return identities_.delete_role(aws::hub_role_name(suffix), stop);
}

Status check_awsirsa_options(const AwsIrsaOptions& options) {
  FLEETADM_CHECK(aws::parse_eks_arn(options.hub_arn).map([](const aws::EksCluster&) {}));
  return compiled(options.patterns).map([](const auto&) {});
}

Result<aws::Tags> parse_tags(const std::vector<std::string>& texts) {
  aws::Tags tags;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || text.find('=', equals + 1) != std::string::npos)
      return fail(Category::kUsage, "\"" + text + "\" is not a tag", "write KEY=VALUE");
    tags[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return tags;
}

}  // namespace fleetadm::registration::hub
