// msa create: an account on a cluster, whose token the add-on's agent keeps in a Secret on the hub.
#include <limits>

#include "commands/framework/accounts.h"
#include "commands/framework/grammar.h"
#include "commands/framework/named.h"
#include "commands/framework/write_report.h"
#include "commands/msa/msa.h"
#include "core/api/managed_service_account.h"
#include "core/controller/controller.h"
#include "core/msa/rules/demand.h"
#include "kubeclient/watch/informer.h"

namespace fleetadm::commands {
namespace {

struct CreateAccountOptions {
  std::string cluster;
  Duration validity = Duration::zero();  // zero: as the API has it
  Duration ttl = Duration::zero();       // zero: for ever
  bool wait = false;
  Duration timeout = kWaitTimeout;
};

Status validate_create_account(const CreateAccountOptions& options, const std::vector<std::string>& args) {
  FLEETADM_CHECK(validate_account(options.cluster, args));
  if (options.validity != Duration::zero()) {
    const auto seconds = msa::validity_seconds(format_duration(options.validity), "--validity");
    if (!seconds) return fail(Category::kUsage, seconds.error().message, seconds.error().hint);
  }
  constexpr std::chrono::seconds kMost{std::numeric_limits<std::int32_t>::max()};
  if (options.ttl != Duration::zero() && (options.ttl < std::chrono::seconds(1) || options.ttl > kMost))
    return fail(Category::kUsage, "--ttl must be between 1s and 68 years");
  return {};
}

Json asked_account(const CreateAccountOptions& options, const std::string& name) {
  const auto& type = api::managed_service_accounts();
  Json object{{"apiVersion", type.api_version()},
              {"kind", type.kind},
              {"metadata", {{"name", name}, {"namespace", options.cluster}}},
              {"spec", {{"rotation", Json::object()}}}};
  if (options.validity != Duration::zero()) object["spec"]["rotation"]["validity"] = format_duration(options.validity);
  if (options.ttl != Duration::zero())
    object["spec"]["ttlSecondsAfterCreation"] = std::chrono::duration_cast<std::chrono::seconds>(options.ttl).count();
  return object;
}

Result<Json> wait_for_token(Context& context, const kube::Client& hub, const CreateAccountOptions& options, const Json& object,
                            bool fresh) {
  const std::string name = name_of(object);
  context.progress().begin("Waiting for the token of " + name);
  const auto reported = [&](const std::optional<Json>& live) -> Result<bool> {
    if (!live || uid_of(*live) != uid_of(object)) return fail(Category::kConflict, "the account was deleted meanwhile");
    // What an earlier content of the object led to is no answer to this one.
    if (const auto trouble = account_trouble(*live); trouble && fresh) return fail(Category::kInvalid, *trouble);
    return controller::condition_is(*live, api::kConditionTokenReported, "True");
  };
  auto waited =
      kube::wait_for(hub, api::managed_service_accounts(), options.cluster, name, reported, options.timeout, context.stop());
  if (!waited) {
    context.progress().failed(waited.error().message);
    Error error = waited.error().wrap("there is no token of account " + name + " yet");
    if (error.hint.empty())
      error.hint = "see the add-on: fleetadm addon status managed-serviceaccount --clusters " + options.cluster;
    return fail(std::move(error));
  }
  context.progress().done();
  return std::move(**waited);
}

Result<Report> run_create_account(Context& context, const CreateAccountOptions& options, const std::vector<std::string>& args) {
  const auto& type = api::managed_service_accounts();
  const std::string& name = args.front();
  FLEETADM_TRY(const auto hub, context.client());
  FLEETADM_CHECK(on_hub(cluster_exists(hub, options.cluster)));
  const Json asked = asked_account(options, name);
  FLEETADM_TRY(auto existing, with_account_kind(hub.find(type, options.cluster, name)));
  std::string what = existing ? "unchanged" : "created";
  Json written;
  if (!existing) {
    FLEETADM_TRY(written, with_account_kind(hub.create(type, options.cluster, asked)));
  } else if (is_deleting(*existing)) {
    return fail(Category::kConflict, "account " + name + " of cluster " + options.cluster + " is being deleted",
                "wait until it has been deleted");
  } else if (holds(*existing, asked)) {
    written = *existing;
  } else {
    what = "configured";
    FLEETADM_TRY(written, hub.modify(type, options.cluster, name, [&](Json& object) -> Status {
      at_or_make(object, {"spec"}).merge_patch(asked["spec"]);
      return {};
    }));
  }
  if (what != "unchanged") {
    FLEETADM_TRY(written, read_back(context, hub, type, options.cluster, name, asked, std::move(written)));
  }
  if (options.wait && !is_dry(context)) {
    FLEETADM_TRY(written, wait_for_token(context, hub, options, written, !existing));
  }
  Report report = written_report(context, type, std::move(written), what + " for cluster " + options.cluster);
  if (!options.wait) note_missing_agent(hub, options.cluster, report);
  return report;
}

}  // namespace

void register_msa_create(Registry& registry) {
  Command command;
  command.path = "msa create";
  command.group = "Add-ons";
  command.summary = "Create an account on a managed cluster, with a token on the hub";
  command.description =
      "Writes a ManagedServiceAccount into the cluster's namespace. The agent of the add-on managed-serviceaccount creates a "
      "ServiceAccount of that name on the cluster and keeps a token of it in a Secret of that name on the hub; it is replaced "
      "after 80 % of its lifetime. The account has no permissions until a role is bound to it on the cluster.\n\n"
      "If the account exists, --validity and --ttl change it; a new validity takes effect with the next token.";
  command.args = {"NAME", 1, 1};
  command.aliases = {"create msa"};
  command.examples = {{"An account whose tokens last a day", "fleetadm msa create deployer --cluster c1 --validity 24h"},
                      {"An account for an hour", "fleetadm msa create visitor --cluster c1 --validity 1h --ttl 1h"}};
  command.make = invocation<CreateAccountOptions>(
      [](FlagSet& flags, CreateAccountOptions& options) {
        account_cluster_flag(flags, &options.cluster);
        flags.duration(&options.validity, "validity", "Lifetime to request for each token, at least 10m").default_text = "8640h";
        flags.duration(&options.ttl, "ttl", "Delete the account so long after its creation").default_text = "never";
        wait_flag(flags, &options.wait, "Wait until the token is on the hub");
        timeout_flag(flags, &options.timeout, "How long to wait");
      },
      validate_create_account, run_create_account);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
