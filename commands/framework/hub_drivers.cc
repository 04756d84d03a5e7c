#include "commands/framework/hub_drivers.h"

#include <algorithm>

namespace fleetadm::commands {
namespace {

constexpr const char* kCsr = "csr";
constexpr const char* kAwsIrsa = "awsirsa";

bool names(const HubDriverOptions& options, std::string_view driver) {
  return std::find(options.drivers.begin(), options.drivers.end(), driver) != options.drivers.end();
}

}  // namespace

bool HubDriverOptions::csr() const { return drivers.empty() || names(*this, kCsr); }
bool HubDriverOptions::awsirsa() const { return names(*this, kAwsIrsa); }

void bind_hub_drivers(FlagSet& flags, HubDriverOptions& options) {
  Flag& drivers =
      flags.comma_texts(&options.drivers, "registration-drivers",
                        "Ways in which clusters may register: csr (a client certificate of the hub) and awsirsa (clusters "
                        "of EKS with an IAM role of their own)");
  drivers.value_name = "DRIVER,...";
  drivers.default_text = kCsr;
  flags.text(&options.hub_cluster_arn, "hub-cluster-arn", "ARN of the hub's own EKS cluster; required with awsirsa").value_name =
      "ARN";
  flags
      .comma_texts(&options.auto_approved_arn_patterns, "auto-approved-arn-patterns",
                   "Regular expressions: clusters of EKS whose whole ARN matches one are accepted automatically, once each")
      .value_name = "REGEX,...";
  flags.comma_texts(&options.aws_resource_tags, "aws-resource-tags", "Tags of what the hub makes in AWS for clusters")
      .value_name = "KEY=VALUE,...";
}

Status validate_hub_drivers(const HubDriverOptions& options) {
  for (const std::string& driver : options.drivers) {
    if (driver == kCsr || driver == kAwsIrsa) continue;
    return fail(Category::kUsage, "--registration-drivers \"" + driver + "\" is not a registration driver",
                "use csr, awsirsa, or both");
  }
  if (!options.awsirsa()) {
    const bool meant =
        !options.hub_cluster_arn.empty() || !options.auto_approved_arn_patterns.empty() || !options.aws_resource_tags.empty();
    if (!meant) return {};
    return fail(Category::kUsage, "--hub-cluster-arn, --auto-approved-arn-patterns and --aws-resource-tags require awsirsa",
                "add it: --registration-drivers csr,awsirsa");
  }
  if (options.hub_cluster_arn.empty())
    return fail(Category::kUsage, "--registration-drivers awsirsa requires --hub-cluster-arn",
                "aws eks describe-cluster --name NAME --query cluster.arn prints it");
  FLEETADM_TRY(const auto awsirsa, awsirsa_of(options));
  if (Status good = registration::hub::check_awsirsa_options(*awsirsa); !good) return fail(good.error());
  return {};
}

std::vector<std::string> hub_driver_args(const HubDriverOptions& options) {
  std::vector<std::string> args;
  const auto add = [&args](const char* flag, const std::vector<std::string>& values) {
    for (const std::string& value : values) args.push_back(std::string(flag) + "=" + value);
  };
  add("--registration-drivers", options.drivers);
  if (!options.hub_cluster_arn.empty()) args.push_back("--hub-cluster-arn=" + options.hub_cluster_arn);
  add("--auto-approved-arn-patterns", options.auto_approved_arn_patterns);
  add("--aws-resource-tags", options.aws_resource_tags);
  return args;
}

Result<std::optional<registration::hub::AwsIrsaOptions>> awsirsa_of(const HubDriverOptions& options) {
  if (!options.awsirsa()) return std::nullopt;
  registration::hub::AwsIrsaOptions awsirsa;
  awsirsa.hub_arn = options.hub_cluster_arn;
  awsirsa.patterns = options.auto_approved_arn_patterns;
  auto tags = registration::hub::parse_tags(options.aws_resource_tags);
  if (!tags) return fail(tags.error().wrap("--aws-resource-tags"));
  awsirsa.tags = std::move(*tags);
  awsirsa.environment = registration::aws::process_environment();
  return awsirsa;
}

}  // namespace fleetadm::commands
