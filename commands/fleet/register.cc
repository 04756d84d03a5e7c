// register HOST:PORT: finds and checks a hub by its signed cluster-info, and joins it.
#include <utility>

#include "commands/fleet/changes.h"
#include "commands/fleet/fleet.h"
#include "commands/fleet/join_options.h"
#include "commands/fleet/join_steps.h"
#include "commands/framework/files.h"
#include "core/registration/join/cluster_info.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/host_port.h"
#include "kubeclient/base/ip_address.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

constexpr std::size_t kMaxTokenFile = 4096;

struct RegisterOptions {
  JoinOptions join;
  std::string token;
  std::string token_file;
};

void bind_register(FlagSet& flags, RegisterOptions& options) {
  flags
      .text(&options.token, "token",
            "Bootstrap token of the hub, as ID.SECRET; visible to other users of this machine, prefer --token-file or the "
            "environment variable FLEETADM_HUB_TOKEN")
      .value_name = "TOKEN";
  auto& file = flags.text(&options.token_file, "token-file", "File with the bootstrap token; - reads standard input");
  file.value_name = "FILE";
  file.complete = Complete::kFiles;
  flags
      .text(&options.join.ca_cert_hash, "discovery-token-ca-cert-hash",
            "SHA-256 hash of the hub CA's public key, as sha256:HEX; required")
      .value_name = "PIN";
  flags.text(&options.join.cluster_name, "cluster-name",
             "Name of this cluster in the fleet (a DNS label; default: the name of the current context)");
  bind_told(flags, options.join);
  bind_hub_proxy(flags, options.join);
  bind_agent(flags, options.join);
  bind_join_wait(flags, options.join);
}

/// "https://HOST:PORT". What is a URL already is taken as it is.
Result<std::string> url_of(const std::string& endpoint) {
  if (is_hub_url(endpoint)) return endpoint;
  const auto parts = split_host_port(endpoint);
  const auto port = parts ? parse_port(parts->port) : std::nullopt;
  const bool bare_ipv6 = parts && parts->host.find(':') != std::string::npos && !endpoint.starts_with('[');
  const bool host_is_one = parts && !bare_ipv6 && (is_dns_subdomain(parts->host) || IpAddress::parse(parts->host));
  if (!host_is_one || port.value_or(0) == 0) {
    return fail(Category::kUsage, "\"" + endpoint + "\" is not HOST:PORT",
                "give the address of the hub's API server, for example hub.example.com:6443");
  }
  return "https://" + join_host_port(parts->host, parts->port);
}

Status validate_register(const RegisterOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY([[maybe_unused]] const std::string url, url_of(args.front()));
  const std::string& pin = options.join.ca_cert_hash;
  if (pin.empty()) {
    return fail(Category::kUsage, "missing required flag: --discovery-token-ca-cert-hash",
                "`fleetadm token create --print-register-command` prints it on the hub");
  }
  if (!is_ca_pin(pin)) {
    return fail(Category::kUsage,
                "--discovery-token-ca-cert-hash \"" + pin + "\" is not a CA hash (expected sha256: followed by 64 hex digits)",
                "copy all of it from what `fleetadm token create --print-register-command` prints on the hub");
  }
  if (!options.token.empty() && !options.token_file.empty())
    return fail(Category::kUsage, "--token cannot be combined with --token-file", "use only one of them");
  return {};
}

/// None of the messages repeats it.
Result<std::string> token_of(Context& context, const RegisterOptions& options) {
  std::string token = options.token;
  std::string source = "--token";
  if (!options.token_file.empty()) {
    FLEETADM_TRY(token, read_file_or_stdin(context, options.token_file, kMaxTokenFile));
    source = "--token-file";
  } else if (token.empty()) {
    token = context.env(kHubTokenVariable);
    source = kHubTokenVariable;
  }
  token = std::string(trimmed(token));
  const std::string hint = "get one on the hub: fleetadm token create --print-register-command";
  if (token.empty() && source == kHubTokenVariable)
    return fail(Category::kUsage, "the bootstrap token is missing: use --token-file or " + source, hint);
  if (join::is_bootstrap_token(token)) return token;
  return fail(Category::kUsage, source + " holds no bootstrap token (ID.SECRET: 6 and 16 lowercase letters and digits)", hint);
}

Result<Report> run_register(Context& context, const RegisterOptions& options, const std::vector<std::string>& args) {
  JoinOptions join = options.join;
  FLEETADM_TRY(join.hub_apiserver, url_of(args.front()));
  FLEETADM_TRY(join.hub_token, token_of(context, options));
  join.signed_info = true;
  if (join.cluster_name.empty()) {
    FLEETADM_TRY(const kube::RestConfig here, context.rest_config());
    join.cluster_name = here.name;
    if (!is_dns_label(join.cluster_name))
      return fail(Category::kUsage, "the context's name \"" + join.cluster_name + "\" is not a valid DNS label",
                  "give the cluster a name: --cluster-name");
  }
  return join_cluster(context, join);
}

}  // namespace

void register_register(Registry& registry) {
  Command command;
  command.path = "register";
  command.target = Target::kCluster;
  command.group = "Fleet";
  command.summary = "Join the current cluster to the hub at an address";
  command.description =
      "Needs the hub's address, a bootstrap token and the hash of the hub's CA alone, as \"fleetadm token create "
      "--print-register-command\" prints them. The hub's kube-public/cluster-info is read; it has to be signed with the token and "
      "to have a CA with that hash, before and after the connection was verified. Only then is the token sent to the hub, and "
      "everything goes on as with \"fleetadm join\": the same checks, the same agent, and \"fleetadm accept\" on the hub.\n\n"
      "Nothing is followed elsewhere: the address is the one that was given, whatever cluster-info says, and a redirect is an "
      "error. What any check finds ends the command before anything is written.";
  command.args = {"HOST:PORT", 1, 1};
  command.examples = {
      {"With what the hub prints, and the token in a file",
       "fleetadm register hub:6443 --context c1 --token-file bootstrap-token --discovery-token-ca-cert-hash sha256:…"},
      {"Under another name than that of the context",
       "fleetadm register hub:6443 --context c1 --cluster-name c1 --token-file bootstrap-token "
       "--discovery-token-ca-cert-hash sha256:…"},
      {"Only check the hub",
       "fleetadm register hub:6443 --context c1 --token-file bootstrap-token --discovery-token-ca-cert-hash "
       "sha256:… --preflight-only"}};
  command.make = invocation<RegisterOptions>(bind_register, validate_register, run_register);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
