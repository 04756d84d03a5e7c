#include "kubeclient/config/data_only.h"

#include <array>

#include "kubeclient/base/log.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::kube {

Status check_holds_data_only(const std::string& text) {
  const Result<Json> parsed = parse_yaml(text);
  if (!parsed) return tl::unexpected(parsed.error());
  struct Refused {
    std::string_view list, entry, member, instead;
  };
  static constexpr std::array<Refused, 6> kRefused{{
      {"users", "user", "exec", "token or client-certificate-data"},
      {"users", "user", "auth-provider", "token or client-certificate-data"},
      {"users", "user", "tokenFile", "token"},
      {"users", "user", "client-certificate", "client-certificate-data"},
      {"users", "user", "client-key", "client-key-data"},
      {"clusters", "cluster", "certificate-authority", "certificate-authority-data"},
  }};
  for (const Refused& refused : kRefused) {
    for (const Json& one : list_at(*parsed, {refused.list})) {
      const Json* member = find(one, {refused.entry, refused.member});
      if (member == nullptr || member->is_null() || *member == "") continue;
      return fail(Category::kInvalid,
                  std::string(refused.entry) + " \"" + log::escape_terminal(str(one, {"name"})) + "\" has " +
                      std::string(refused.member) + ": a kubeconfig in a Secret must not name programs or files",
                  "put the data itself there: " + std::string(refused.instead));
    }
  }
  return {};
}

}  // namespace fleetadm::kube
