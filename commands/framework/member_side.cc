#include "commands/framework/member_side.h"

#include "commands/framework/files.h"
#include "core/api/hosted_member.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {

std::string hosted_namespace(const MemberSide& side) { return side.ns.empty() ? std::string(api::kHostedNamespace) : side.ns; }

void bind_hosting(FlagSet& flags, MemberSide& side, const std::string& mode) {
  flags.choice(&side.mode, "mode", {"default", "hosted"}, mode).default_text = "default";
  Flag& ns = flags.text(&side.ns, "hosted-namespace", "Namespace of the agents on the hosting cluster");
  ns.value_name = "NAMESPACE";
  ns.default_text = api::kHostedNamespace;
}

void bind_member_side(FlagSet& flags, MemberSide& side, const std::string& mode) {
  bind_hosting(flags, side, mode);
  file_flag(flags, &side.kubeconfig, "managed-cluster-kubeconfig",
            "Kubeconfig of the managed cluster in hosted mode, if it is a different file");
  flags.text(&side.context, "managed-cluster-context", "Context of the managed cluster in hosted mode").complete =
      Complete::kContexts;
}

Status validate_member_side(const MemberSide& side, bool member_needed) {
  if (!is_hosted_mode(side)) {
    const std::string flag = !side.kubeconfig.empty() ? "--managed-cluster-kubeconfig"
                             : !side.context.empty()  ? "--managed-cluster-context"
                             : !side.ns.empty()       ? "--hosted-namespace"
                                                      : "";
    if (!flag.empty()) return fail(Category::kUsage, flag + " requires --mode hosted");
    return {};
  }
  if (!is_dns_label(hosted_namespace(side)))
    return fail(Category::kUsage, "--hosted-namespace \"" + side.ns + "\" is not a valid namespace name",
                "use at most 63 lowercase letters, digits and '-'");
  if (member_needed && !side.named()) {
    return fail(Category::kUsage, "--mode hosted requires --managed-cluster-kubeconfig or --managed-cluster-context",
                "the agent runs on the cluster of --kubeconfig and --context, and the managed cluster is another one");
  }
  return {};
}

Error not_hosted(const std::string& cluster, const std::string& ns) {
  return fail(Category::kNotFound, "cluster \"" + cluster + "\" is not hosted in namespace " + ns,
              "check --context and --hosted-namespace; who is hosted: fleetadm certs check --mode hosted")
      .value();
}

Result<kube::Client> hosting_client(Context& context) {
  FLEETADM_TRY(const kube::RestConfig config, context.rest_config());
  context.name_side(config, "hosting-cluster");
  return context.client();
}

Result<HostedSides> hosted_sides(Context& context, const MemberSide& side) {
  FLEETADM_TRY(const kube::Client hosting, hosting_client(context));
  kube::ConfigOverrides overrides;  // who acts on the hosting cluster, and how it is reached, says nothing of the member
  overrides.interactive = context.global().config.interactive;
  overrides.kubeconfig = side.kubeconfig.empty() ? context.global().config.kubeconfig : side.kubeconfig;
  overrides.context = side.context;
  const auto resolve = [&]() -> Result<kube::RestConfig> {
    if (!side.kubeconfig.empty() || !side.context.empty()) return context.rest_config(overrides);
    FLEETADM_TRY(const kube::Kubeconfig parsed, kube::Kubeconfig::from_text(side.text));
    return parsed.resolve({});
  };
  auto config = resolve();
  if (!config) return fail(config.error().wrap("the managed cluster"));
  context.name_side(*config, "cluster");
  return HostedSides{hosting, context.client(*config), *config};
}

}  // namespace fleetadm::commands
