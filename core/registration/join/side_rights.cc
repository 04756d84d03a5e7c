#include "core/registration/join/side_rights.h"

#include <optional>
#include <utility>
#include <vector>

#include "kubeclient/base/joined.h"

namespace fleetadm::join {
namespace {

/// What the identity may not do there.
Result<std::vector<std::string>> missing_rights(const kube::Client& client, std::string_view ns,
                                                std::span<const SideRight> rights) {
  std::vector<std::string> missing;
  for (const SideRight& right : rights) {
    Json attributes{{"verb", right.verb}, {"group", right.group}, {"resource", right.resource}};
    if (*right.subresource != '\0') attributes["subresource"] = right.subresource;
    if (right.in_namespace) attributes["namespace"] = std::string(ns);
    const Json review{{"apiVersion", "authorization.k8s.io/v1"},
                      {"kind", "SelfSubjectAccessReview"},
                      {"spec", {{"resourceAttributes", std::move(attributes)}}}};
    FLEETADM_TRY(const Json answer, client.post(kube::resources::self_subject_access_reviews().path(""), review, true));
    if (flag(answer, {"status", "allowed"})) continue;
    if (std::string_view(right.verb) == "*") {
      missing.emplace_back("do everything");
      continue;
    }
    missing.push_back(std::string(right.verb) + " " + right.resource + (*right.subresource == '\0' ? "" : "/") +
                      right.subresource);
  }
  return missing;
}

}  // namespace

void check_side(const char* name, const std::string& flags, const kube::Client& client, std::string_view ns,
                std::span<const SideRight> rights, Preflight& into) {
  std::optional<Error> error;
  const auto missing = missing_rights(client, ns, rights);
  if (!missing) {
    error = missing.error().wrap("the " + std::string(name));
    if (error->hint.empty()) error->hint = "check " + flags;
  } else if (!missing->empty()) {
    error = fail(Category::kAuth, "your identity may not " + joined(*missing, ", ") + " on the " + name,
                 "use credentials of an administrator: " + flags)
                .value();
  }
  into.checks.push_back({name, error ? Outcome::kFailed : Outcome::kPassed, error ? error->message : "reached, with the rights"});
  if (error && !into.error) into.error = std::move(error);
}

}  // namespace fleetadm::join
