#include "core/registration/aws/identities.h"

namespace fleetadm::registration::aws {
namespace {

Status unless(const Result<kube::Response>& answer, std::string_view harmless) {
  if (answer || answer.error().reason == harmless) return {};
  return tl::unexpected(answer.error());
}

}  // namespace

Status Identities::iam(const std::string& action, const std::string& parameters, const std::stop_token& stop) const {
  kube::Request request;
  request.method = kube::Method::kPost;
  request.path = "/";
  request.content_type = "application/x-www-form-urlencoded";
  request.accept = "*/*";
  request.stop = stop;
  request.body = "Action=" + action + "&Version=2010-05-08" + parameters;
  const auto answer = services_->call({hub_.region, "iam"}, std::move(request));
  return unless(answer, action == "CreateRole" ? "EntityAlreadyExists" : "NoSuchEntity");
}

Status Identities::create_role(const std::string& name, const Json& trust_policy, const std::stop_token& stop) const {
  std::string parameters =
      "&RoleName=" + percent_encoded(name) + "&AssumeRolePolicyDocument=" + percent_encoded(dump_json(trust_policy));
  int number = 0;
  for (const auto& [key, value] : tags_) {
    const std::string member = "&Tags.member." + std::to_string(++number);
    parameters += member + ".Key=" + percent_encoded(key) + member + ".Value=" + percent_encoded(value);
  }
  return iam("CreateRole", parameters, stop);
}

Status Identities::delete_role(const std::string& name, const std::stop_token& stop) const {
  return iam("DeleteRole", "&RoleName=" + percent_encoded(name), stop);
}

std::string Identities::entries_path() const { return "/clusters/" + hub_.name + "/access-entries"; }

Status Identities::create_access_entry(const std::string& principal, const std::string& user, const std::string& group,
                                       const std::stop_token& stop) const {
  Json entry{{"principalArn", principal}, {"username", user}, {"kubernetesGroups", Json::array({group})}};
  if (!tags_.empty()) entry["tags"] = tags_;
  kube::Request request;
  request.method = kube::Method::kPost;
  request.path = entries_path();
  request.body = dump_json(entry);
  request.stop = stop;
  auto answer = services_->call({hub_.region, "eks"}, std::move(request));
  if (!answer && answer.error().reason == "InvalidParameterException") answer.error().category = Category::kUnavailable;
  return unless(answer, "ResourceInUseException");
}

Status Identities::delete_access_entry(const std::string& principal, const std::stop_token& stop) const {
  kube::Request request;
  request.method = kube::Method::kDelete;
  request.path = entries_path() + "/" + percent_encoded(principal);
  request.stop = stop;
  return unless(services_->call({hub_.region, "eks"}, std::move(request)), "ResourceNotFoundException");
}

}  // namespace fleetadm::registration::aws
