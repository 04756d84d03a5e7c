#include "core/work/agent/executor.h"

#include <utility>

namespace fleetadm::work {
namespace {

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";
/// A role with more combinations than this is not checked rule by rule: it is refused unless `escalate` is allowed.
constexpr int kMaxReviews = 400;

struct Subject {
  std::string ns;
  std::string name;
};

struct Access {
  std::string verb;
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource;
  std::string ns;
  std::string name;
  std::string path;  // nonResourceURLs
};

Json review_of(const Subject& subject, const Access& access) {
  Json review = Json::object();
  review["apiVersion"] = "authorization.k8s.io/v1";
  review["kind"] = "SubjectAccessReview";
  Json& spec = at_or_make(review, {"spec"});
  spec["user"] = "system:serviceaccount:" + subject.ns + ":" + subject.name;
  spec["groups"] = Json::array({"system:serviceaccounts", "system:authenticated", "system:serviceaccounts:" + subject.ns});
  if (!access.path.empty()) {
    spec["nonResourceAttributes"] = Json::object({{"path", access.path}, {"verb", access.verb}});
    return review;
  }
  Json attributes = Json::object({{"verb", access.verb}, {"group", access.group}, {"resource", access.resource}});
  if (!access.version.empty()) attributes["version"] = access.version;
  if (!access.subresource.empty()) attributes["subresource"] = access.subresource;
  if (!access.ns.empty()) attributes["namespace"] = access.ns;
  if (!access.name.empty()) attributes["name"] = access.name;
  spec["resourceAttributes"] = std::move(attributes);
  return review;
}

Result<bool> allowed(const kube::Client& spoke, const Subject& subject, const Access& access) {
  FLEETADM_TRY(const Json answer,
               spoke.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review_of(subject, access), true));
  return flag(answer, {"status", "allowed"}) && !flag(answer, {"status", "denied"});
}

Access split_resource(const std::string& verb, const std::string& group, const std::string& resource, const std::string& ns) {
  Access access;
  access.verb = verb;
  access.group = group;
  access.ns = ns;
  const std::size_t slash = resource.find('/');
  access.resource = resource.substr(0, slash);
  if (slash != std::string::npos) access.subresource = resource.substr(slash + 1);
  return access;
}

std::vector<Access> accesses_of(const Json& rules, const std::string& ns) {
  std::vector<Access> accesses;
  if (!rules.is_array()) return accesses;
  for (const Json& rule : rules) {
    std::vector<std::string> names = string_list_at(rule, {"resourceNames"});
    if (names.empty()) names.emplace_back();
    for (const std::string& verb : string_list_at(rule, {"verbs"})) {
      for (const std::string& path : string_list_at(rule, {"nonResourceURLs"})) {
        Access access;
        access.verb = verb;
        access.path = path;
        accesses.push_back(std::move(access));
      }
      for (const std::string& group : string_list_at(rule, {"apiGroups"})) {
        for (const std::string& resource : string_list_at(rule, {"resources"})) {
          for (const std::string& name : names) {
            Access access = split_resource(verb, group, resource, ns);
            access.name = name;
            accesses.push_back(std::move(access));
          }
        }
      }
    }
  }
  return accesses;
}

Result<bool> holds_rules(const kube::Client& spoke, const Subject& subject, const Json& rules, const std::string& ns) {
  const std::vector<Access> accesses = accesses_of(rules, ns);
  if (accesses.size() > kMaxReviews) return false;
  for (const Access& access : accesses) {
    FLEETADM_TRY(const bool ok, allowed(spoke, subject, access));
    if (!ok) return false;
  }
  return true;
}

/// Role and ClusterRole: the executor may escalate, or holds every rule itself. An aggregated role's rules are not known yet.
Result<bool> may_grant_role(const kube::Client& spoke, const Subject& subject, const Manifest& manifest) {
  Access access;
  access.verb = "escalate";
  access.group = manifest.group;
  access.version = manifest.version;
  access.resource = manifest.resource->plural;
  access.ns = manifest.ns;
  access.name = manifest.name;
  FLEETADM_TRY(const bool escalate, allowed(spoke, subject, access));
  if (escalate) return true;
  if (find(manifest.object, {"aggregationRule"}) != nullptr) return false;
  return holds_rules(spoke, subject, list_at(manifest.object, {"rules"}), manifest.ns);
}

/// RoleBinding and ClusterRoleBinding: the executor may bind that role, or holds every rule of it.
Result<bool> may_bind_role(const kube::Client& spoke, const Subject& subject, const Manifest& manifest) {
  const std::string kind = str(manifest.object, {"roleRef", "kind"});
  const std::string name = str(manifest.object, {"roleRef", "name"});
  const bool cluster_role = kind == "ClusterRole";
  if (!cluster_role && kind != "Role") return false;
  const kube::Resource& resource = cluster_role ? kube::resources::cluster_roles() : kube::resources::roles();
  Access access;
  access.verb = "bind";
  access.group = std::string(kRbacGroup);
  access.version = "v1";
  access.resource = resource.plural;
  access.ns = manifest.ns;
  access.name = name;
  FLEETADM_TRY(const bool bind, allowed(spoke, subject, access));
  if (bind) return true;
  FLEETADM_TRY(const std::optional<Json> role, spoke.find(resource, cluster_role ? std::string{} : manifest.ns, name));
  if (!role) return false;
  return holds_rules(spoke, subject, list_at(*role, {"rules"}), manifest.ns);
}

tl::unexpected<Error> denied(std::string message) {
  Error error = fail(Category::kAuth, std::move(message)).value();
  error.reason = kExecutorDenied;
  return tl::unexpected(std::move(error));
}

tl::unexpected<Error> denied(const char* verb, const Manifest& manifest) {
  return denied("not allowed to " + std::string(verb) + " the resource " + manifest.group + " " + manifest.resource->plural +
                ", " + manifest.ns + " " + manifest.name + ", will try again in 1m0s");
}

bool names_executor(const Json& work) {
  const Json* executor = find(work, {"spec", "executor"});
  return executor != nullptr && !executor->is_null();
}

/// Members are empty where the work names nobody.
Result<Subject> subject_of(const Json& work) {
  const Json& subject = object_at(work, {"spec", "executor", "subject"});
  if (str(subject, {"type"}) != "ServiceAccount") return denied("only support ServiceAccount type for the executor");
  return Subject{str(subject, {"serviceAccount", "namespace"}), str(subject, {"serviceAccount", "name"})};
}

Result<bool> allowed_on(const kube::Client& spoke, const Subject& subject, const std::string& verb, const Manifest& manifest) {
  if (subject.ns.empty() || subject.name.empty()) return false;
  Access access;
  access.verb = verb;
  access.group = manifest.group;
  access.version = manifest.version;
  access.resource = manifest.resource->plural;
  access.ns = manifest.ns;
  access.name = manifest.name;
  return allowed(spoke, subject, access);
}

}  // namespace

std::vector<std::string> executor_verbs(bool owned) {
  std::vector<std::string> verbs = {"create", "update", "patch", "get"};
  if (owned) verbs.emplace_back("delete");
  return verbs;
}

Status check_executor(const kube::Client& spoke, const Json& work, const Manifest& manifest, bool owned) {
  if (!names_executor(work)) return {};
  FLEETADM_TRY(const Subject subject, subject_of(work));
  for (const std::string& verb : executor_verbs(owned)) {
    FLEETADM_TRY(const bool ok, allowed_on(spoke, subject, verb, manifest));
    if (!ok) return denied("apply", manifest);
  }
  if (manifest.group != kRbacGroup) return {};
  const bool is_role = manifest.kind == "Role" || manifest.kind == "ClusterRole";
  FLEETADM_TRY(const bool ok, is_role ? may_grant_role(spoke, subject, manifest) : may_bind_role(spoke, subject, manifest));
  if (!ok) return denied("apply", manifest);
  return {};
}

Status check_executor_reads(const kube::Client& spoke, const Json& work, const Manifest& manifest) {
  if (!names_executor(work)) return {};
  FLEETADM_TRY(const Subject subject, subject_of(work));
  FLEETADM_TRY(const bool ok, allowed_on(spoke, subject, "get", manifest));
  if (!ok) return denied("get", manifest);
  return {};
}

bool executor_may_list(const kube::Client& spoke, const Json& work, const std::string& resource, const std::string& ns) {
  const Json* executor = find(work, {"spec", "executor"});
  if (executor == nullptr || executor->is_null()) return true;
  const Subject subject{str(*executor, {"subject", "serviceAccount", "namespace"}),
                        str(*executor, {"subject", "serviceAccount", "name"})};
  if (subject.ns.empty() || subject.name.empty()) return false;
  Access access;
  access.verb = "list";
  access.version = "v1";
  access.resource = resource;
  access.ns = ns;
  return allowed(spoke, subject, access).value_or(false);
}

}  // namespace fleetadm::work
