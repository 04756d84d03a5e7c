#include "commands/framework/accounts.h"

#include "commands/framework/grammar.h"
#include "commands/framework/named.h"
#include "commands/framework/write_report.h"
#include "core/api/kinds.h"
#include "core/api/managed_service_account.h"
#include "core/controller/controller.h"
#include "core/msa/rules/exec_credential.h"
#include "core/msa/rules/token_secret.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::commands {
namespace {

Error no_token(const Json& object, std::string why) {
  Error error;
  error.category = Category::kNotFound;
  error.message = "the hub has no token of account " + name_of(object) + " of cluster " + namespace_of(object) + ": " + why;
  error.hint = "see fleetadm msa describe " + name_of(object) + " --cluster " + namespace_of(object);
  return error;
}

}  // namespace

void account_cluster_flag(FlagSet& flags, std::string* into) {
  cluster_flag(flags, into, "the cluster that has the account").required = true;
}

Status validate_account(const std::string& cluster, const std::vector<std::string>& names) {
  if (cluster.empty()) return fail(Category::kUsage, "missing flag: --cluster", "name the cluster with --cluster");
  FLEETADM_CHECK(check_name("cluster", cluster));
  for (const std::string& name : names) FLEETADM_CHECK(check_name("account", name));
  return {};
}

Result<Json> read_account(const kube::Client& hub, const std::string& cluster, const std::string& name) {
  FLEETADM_TRY(auto object, with_account_kind(hub.find(api::managed_service_accounts(), cluster, name)));
  if (object) return std::move(*object);
  FLEETADM_CHECK(cluster_exists(hub, cluster));
  NearNames near(hub, api::managed_service_accounts(), cluster);
  return fail(Category::kNotFound, "cluster " + cluster + " has no managed service account \"" + name + "\"",
              near.hint(name, "create it: fleetadm msa create " + name + " --cluster " + cluster));
}

void note_missing_agent(const kube::Client& hub, const std::string& cluster, Report& report) {
  const std::string addon(api::kManagedServiceAccountAddon);
  const auto found = hub.find(api::managed_cluster_addons(), cluster, addon);
  if (!found || *found) return;  // who may not read add-ons is told nothing
  report.notes.push_back("The account is created once the add-on is enabled: fleetadm addon enable " + addon + " --clusters " +
                         cluster);
}

std::optional<std::string> account_trouble(const Json& object) {
  const Json* reported = controller::find_condition(object, api::kConditionTokenReported);
  if (reported == nullptr || str(*reported, {"status"}) != "False") return std::nullopt;
  return str(*reported, {"message"});
}

Result<AccountToken> account_token(const kube::Client& hub, const std::string& cluster, const std::string& name, Instant now) {
  FLEETADM_TRY(const Json object, read_account(hub, cluster, name));
  const std::string secret_name = str(object, {"status", "tokenSecretRef", "name"});
  if (secret_name.empty()) return fail(no_token(object, account_trouble(object).value_or("its cluster has not reported one")));
  FLEETADM_TRY(const auto secret, hub.find(kube::resources::secrets(), cluster, secret_name));
  if (!secret) return fail(no_token(object, "Secret " + cluster + "/" + secret_name + " is gone"));
  if (const Status ours = msa::check_secret(*secret, object); !ours) return fail(no_token(object, ours.error().message));
  const auto token = msa::usable_token(*secret, now);
  if (!token) return fail(no_token(object, token.error().message));
  return AccountToken{token->text, token->claims.expires, base64_decode(str(*secret, {"data", "ca.crt"})).value_or("")};
}

}  // namespace fleetadm::commands
