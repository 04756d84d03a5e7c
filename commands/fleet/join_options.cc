#include "commands/fleet/join_options.h"

#include <algorithm>
#include <utility>

#include "commands/fleet/changes.h"
#include "commands/framework/files.h"
#include "core/api/cluster_claim.h"
#include "core/api/hosted_member.h"
#include "core/registration/aws/names.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

constexpr std::string_view kAgentAnnotations = "agent.open-cluster-management.io/";

Status check_trust(const JoinOptions& options) {
  if (options.ca_cert_hash.empty() && options.ca_file.empty() && !options.system_roots) {
    return fail(Category::kUsage, "the hub's CA is not specified",
                "pass --ca-cert-hash as printed by `fleetadm init`, --ca-file, or --system-roots if the hub's "
                "certificate is publicly signed");
  }
  if (options.system_roots && !(options.ca_cert_hash.empty() && options.ca_file.empty())) {
    return fail(Category::kUsage, "--system-roots cannot be combined with --ca-cert-hash or --ca-file", "use only one of them");
  }
  if (!options.ca_cert_hash.empty() && !is_ca_pin(options.ca_cert_hash)) {
    return fail(
        Category::kUsage,
        "--ca-cert-hash \"" + options.ca_cert_hash + "\" is not a valid CA hash (expected sha256: followed by 64 hex digits)",
        "copy all of it from what `fleetadm init` or `fleetadm get token` prints on the hub");
  }
  return {};
}

/// The part before the first '=' and the part after it; none of both without one.
std::pair<std::string, std::string> pair_of(const std::string& word) {
  const auto equals = word.find('=');
  if (equals == std::string::npos) return {};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

std::string annotation_key(const std::string& key) {
  return key.starts_with(kAgentAnnotations) ? key : std::string(kAgentAnnotations) + key;
}

Status check_registration(const JoinOptions& options) {
  if (options.registration_auth != "awsirsa") {
    if (options.hub_cluster_arn.empty() && options.managed_cluster_arn.empty()) return {};
    return fail(Category::kUsage, "--hub-cluster-arn and --managed-cluster-arn require --registration-auth awsirsa");
  }
  if (is_hosted_mode(options.member))
    return fail(Category::kUsage, "--mode hosted cannot be combined with --registration-auth awsirsa",
                "a member that is hosted has no IAM role of its own");
  for (const auto& [flag, arn] : {std::pair{"--hub-cluster-arn", options.hub_cluster_arn},
                                  std::pair{"--managed-cluster-arn", options.managed_cluster_arn}}) {
    if (arn.empty()) return fail(Category::kUsage, std::string("--registration-auth awsirsa requires ") + flag);
    const auto parsed = registration::aws::parse_eks_arn(arn);
    if (!parsed) return fail(parsed.error().wrap(flag));
  }
  return {};
}

Status check_member(const JoinOptions& options) {
  FLEETADM_CHECK(validate_member_side(options.member, true));
  const std::string& url = options.member_apiserver;
  if (!url.empty() && !is_hosted_mode(options.member))
    return fail(Category::kUsage, "--managed-cluster-apiserver requires --mode hosted");
  if (!url.empty() && !is_hub_url(url)) {
    return fail(Category::kUsage, "--managed-cluster-apiserver \"" + url + "\" is not an https URL",
                "for example: https://c1.example.com:6443");
  }
  if (!is_hosted_mode(options.member)) return {};
  for (const std::string& arg : options.agent_args) {
    if (Status good = api::check_hosted_member_arg(arg); !good) return fail(good.error().wrap("--agent-arg"));
  }
  return {};
}

}  // namespace

bool is_ca_pin(std::string_view text) {
  constexpr std::string_view kKind = "sha256:";
  return text.size() == kKind.size() + 64 && text.starts_with(kKind) &&
         std::all_of(text.begin() + kKind.size(), text.end(), is_hex);
}

bool is_hub_url(std::string_view text) {
  constexpr std::string_view kScheme = "https://";
  if (!text.starts_with(kScheme)) return false;
  text.remove_prefix(kScheme.size());
  const std::string_view host = text.substr(0, text.find_first_of("/:"));
  return !host.empty() && std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || std::string_view("@?#\\\"<>").find(c) != std::string_view::npos;
  });
}

Status check_labels(const JoinOptions& options) {
  for (const std::string& word : options.labels) {
    const auto [key, value] = pair_of(word);
    if (!qualified_name_problems(key).empty() || !label_value_problems(value).empty())
      return fail(Category::kUsage, "--labels \"" + word + "\" is not a label as KEY=VALUE",
                  "for example: --labels env=prod,region=eu");
  }
  for (const std::string& word : options.annotations) {
    const auto [key, value] = pair_of(word);
    if (key.empty() || !qualified_name_problems(annotation_key(key)).empty()) {
      return fail(Category::kUsage,
                  "--annotation \"" + word + "\" is not KEY=VALUE with a key below " + std::string(kAgentAnnotations),
                  "for example: --annotation owner=team-a");
    }
  }
  for (const std::string& word : options.claims) {
    const auto [name, value] = pair_of(word);
    if (word.find('=') == std::string::npos)
      return fail(Category::kUsage, "--claim \"" + word + "\" is not NAME=VALUE", "for example: --claim region.example.com=eu");
    if (Status good = api::check_claim(name, value); !good) return fail(good.error().wrap("--claim"));
  }
  return {};
}

std::map<std::string, std::string> labels_of_join(const JoinOptions& options) {
  std::map<std::string, std::string> labels;
  for (const std::string& word : options.labels) labels.insert_or_assign(pair_of(word).first, pair_of(word).second);
  return labels;
}

std::map<std::string, std::string> annotations_of_join(const JoinOptions& options) {
  std::map<std::string, std::string> annotations;
  for (const std::string& word : options.annotations) {
    const auto [key, value] = pair_of(word);
    annotations.insert_or_assign(annotation_key(key), value);
  }
  return annotations;
}

void bind_push(FlagSet& flags, PushOptions& options, const std::string& what) {
  flags.boolean(&options.on, "push", what);
  file_flag(flags, &options.kubeconfig, "member-kubeconfig", "Kubeconfig of the cluster of --push, if it is a different file");
  flags.text(&options.context, "member-context", "Context of the cluster of --push").complete = Complete::kContexts;
}

Status validate_push(const PushOptions& options, bool member_needed) {
  const bool named = !options.kubeconfig.empty() || !options.context.empty();
  const std::pair<const char*, bool> given[]{{"--member-kubeconfig", !options.kubeconfig.empty()},
                                             {"--member-context", named},
                                             {"--allow-loopback", options.allow_loopback},
                                             {"--full-rights", options.full_rights},
                                             {"--karmada-names", options.karmada_names}};
  for (const auto& [flag, is_given] : given) {
    if (is_given && !options.on) return fail(Category::kUsage, std::string(flag) + " requires --push");
  }
  if (options.on && member_needed && !named) {
    return fail(Category::kUsage, "--push requires --member-kubeconfig or --member-context",
                "the current context is the hub, and the cluster is another one");
  }
  if (options.token_lifetime < std::chrono::minutes(10)) return fail(Category::kUsage, "--token-lifetime must be at least 10m");
  return {};
}

void bind_told(FlagSet& flags, JoinOptions& options) {
  flags
      .comma_texts(&options.labels, "labels",
                   "Labels that the cluster is registered with; `fleetadm cluster label` changes them later")
      .value_name = "KEY=VALUE,...";
  flags
      .texts(&options.annotations, "annotation",
             "Annotation that the cluster is registered with; its key is below agent.open-cluster-management.io/, which is added "
             "where it is missing; repeatable")
      .value_name = "KEY=VALUE";
  flags
      .texts(&options.claims, "claim",
             "Claim (ClusterClaim) that the cluster makes about itself and its agent reports to the hub; repeatable")
      .value_name = "NAME=VALUE";
  flags
      .comma_texts(&options.external_server_urls, "external-server-urls",
                   "Addresses at which the hub's users reach this cluster's API server (managedClusterClientConfigs)")
      .value_name = "URL,...";
}

void bind_hub_proxy(FlagSet& flags, JoinOptions& options) {
  flags.text(&options.proxy_url, "proxy-url", "Proxy for connections to the hub and its gateway").value_name = "URL";
  auto& proxy_ca = flags.text(&options.proxy_ca_file, "proxy-ca-file",
                              "File with the CA of that proxy (PEM), trusted in addition to the hub's; requires --proxy-url");
  proxy_ca.value_name = "FILE";
  proxy_ca.complete = Complete::kFiles;
}

void bind_agent(FlagSet& flags, JoinOptions& options) {
  image_flags(flags, options.image, "the agent");
  pod_flags(flags, options.pods, "the agent");
  flags.texts(&options.agent_args, "agent-arg", "Extra argument for `fleetadm agent run`, as --name=value; repeatable")
      .value_name = "ARG";
  flags.boolean(&options.network_policy, "network-policy",
                "Let only pods of the same namespace connect to the agent (health and metrics); the kubelet's probes are not "
                "affected");
  flags.boolean(
      &options.report_figures, "report-figures",
      "Let the agent see the cluster's pods, and report whether the cluster is ready, how many nodes are, what pods hold and "
      "which APIs it serves, as the hub does for clusters that it dials");
  flags.boolean(&options.preflight_only, "preflight-only", "Only check connectivity to the hub; change nothing");
}

void bind_join_wait(FlagSet& flags, JoinOptions& options) {
  wait_flag(flags, &options.wait, {"registered", "joined", "available"}, "registered",
            "Wait until the agent is running and the cluster is registered on the hub, or for a later state (which requires "
            "acceptance on the hub)");
  timeout_flag(flags, &options.timeout, "How long to wait");
}

void bind_join(FlagSet& flags, JoinOptions& options) {
  filename_flag(
      flags, &options.filename,
      "Klusterlet of upstream's operator, with its bootstrap Secret if it is there, to join as; - reads standard input. "
      "Each field is told: what it becomes, or why it has no effect. Flags come before it");
  flags.text(&options.cluster_name, "cluster-name", "Name of this cluster in the fleet (a DNS label); required unless -f has it");
  bind_told(flags, options);
  files_flag(
      flags, &options.fallback_hubs, "fallback-hub",
      "Kubeconfig with a bootstrap token of a further hub, which the agent joins where the hubs before it deny the cluster or "
      "are silent; repeatable, in the order of preference");
  bind_member_side(
      flags, options.member,
      "Where the agent runs: on the managed cluster itself, or (hosted) on the cluster of --kubeconfig and --context "
      "for a managed cluster that it reaches over the network, where nothing runs");
  flags
      .text(&options.member_apiserver, "managed-cluster-apiserver",
            "Address of the managed cluster's API server as the hosting cluster reaches it (default: that of its kubeconfig)")
      .value_name = "URL";
  auto& hub = flags.text(&options.hub_apiserver, "hub-apiserver", "Address of the hub's API server; required unless -f has it");
  hub.value_name = "URL";
  flags
      .text(&options.hub_token, "hub-token",
            "Bootstrap token from `fleetadm get token`; visible to other users of this machine, "
            "prefer --hub-token-file or the environment variable FLEETADM_HUB_TOKEN")
      .value_name = "TOKEN";
  auto& token_file =
      flags.text(&options.hub_token_file, "hub-token-file", "File with the bootstrap token; - reads standard input");
  token_file.value_name = "FILE";
  token_file.complete = Complete::kFiles;
  flags.text(&options.ca_cert_hash, "ca-cert-hash", "SHA-256 hash of the hub CA's public key, as sha256:HEX").value_name = "PIN";
  auto& ca_file = flags.text(&options.ca_file, "ca-file", "File with the hub's CA (PEM)");
  ca_file.value_name = "FILE";
  ca_file.complete = Complete::kFiles;
  flags.boolean(&options.system_roots, "system-roots", "The hub's certificate is signed by a CA that this system trusts");
  flags
      .choice(&options.registration_auth, "registration-auth", {"csr", "awsirsa"},
              "How the cluster registers: with a client certificate of the hub, or on EKS with an IAM role of its own")
      .default_text = "csr";
  flags.text(&options.hub_cluster_arn, "hub-cluster-arn", "ARN of the hub's EKS cluster; required with awsirsa").value_name =
      "ARN";
  flags.text(&options.managed_cluster_arn, "managed-cluster-arn", "ARN of this EKS cluster; required with awsirsa").value_name =
      "ARN";
  bind_hub_proxy(flags, options);
  bind_agent(flags, options);
  bind_push(
      flags, options.push,
      "Join a cluster that the hub dials, where no agent runs: the current context is the hub, and the hub gets a token of an "
      "account of its own on the cluster");
  flags.boolean(&options.push.allow_loopback, "allow-loopback",
                "With --push, dial an API server on a loopback address: the hub controllers run on this machine");
  flags.boolean(&options.push.full_rights, "full-rights",
                "With --push, let works be about any kind of object, and not only what an agent may apply; given once, it holds "
                "until the cluster leaves");
  flags.boolean(&options.push.karmada_names, "karmada-names",
                "With --push, be on the cluster what a Karmada control plane is, by its names; the hub's token may then do "
                "everything there, and it holds until the cluster leaves");
  flags
      .duration(&options.push.token_lifetime, "token-lifetime",
                "With --push, how long the hub's token lasts; it is renewed after four fifths of that time")
      .default_text = "168h";
  bind_join_wait(flags, options);
}

Status validate_join(const JoinOptions& options) {
  std::vector<std::string> missing;
  if (options.cluster_name.empty()) missing.emplace_back("--cluster-name");
  if (options.hub_apiserver.empty()) missing.emplace_back("--hub-apiserver");
  if (!missing.empty()) {
    return fail(Category::kUsage,
                std::string("missing required flag") + (missing.size() == 1 ? ": " : "s: ") + joined(missing, ", "),
                options.filename.empty() ? "-f reads them from a Klusterlet" : options.filename + " does not say it either");
  }
  if (!is_dns_label(options.cluster_name)) {
    return fail(Category::kUsage, "--cluster-name \"" + options.cluster_name + "\" is not a valid DNS label",
                "use at most 63 lowercase letters, digits and '-': the name becomes a namespace on the hub");
  }
  FLEETADM_CHECK(check_labels(options));
  FLEETADM_CHECK(check_member(options));
  for (const std::string& url : options.external_server_urls) {
    if (!is_hub_url(url))
      return fail(Category::kUsage, "--external-server-urls \"" + url + "\" is not an https URL",
                  "for example: https://c1.example.com:6443");
  }
  if (!is_hub_url(options.hub_apiserver)) {
    return fail(Category::kUsage, "--hub-apiserver \"" + options.hub_apiserver + "\" is not an https URL",
                "for example: https://hub.example.com:6443");
  }
  if (!options.hub_token.empty() && !options.hub_token_file.empty())
    return fail(Category::kUsage, "--hub-token cannot be combined with --hub-token-file", "use only one of them");
  if (!options.hub_in_file) FLEETADM_CHECK(check_trust(options));
  FLEETADM_CHECK(check_proxy_url("--proxy-url", options.proxy_url));
  if (!options.proxy_ca_file.empty() && options.proxy_url.empty())
    return fail(Category::kUsage, "--proxy-ca-file requires --proxy-url");
  if (!options.proxy_ca_file.empty() && options.system_roots) {
    return fail(Category::kUsage, "--proxy-ca-file cannot be combined with --system-roots",
                "name with --ca-file all CAs that are to be trusted");
  }
  FLEETADM_CHECK(check_registration(options));
  FLEETADM_CHECK(validate_image_options(options.image));
  FLEETADM_CHECK(validate_pod_options(options.pods));
  return check_program_args("agent-arg", options.agent_args);
}

std::vector<std::pair<std::string, std::string>> claims_of(const JoinOptions& options) {
  std::vector<std::pair<std::string, std::string>> claims;
  for (const std::string& word : options.claims) claims.push_back(pair_of(word));
  return claims;
}

std::vector<std::string> agent_args_of(const JoinOptions& options) {
  std::vector<std::string> args = options.agent_args;
  for (const std::string& label : options.labels) args.push_back("--cluster-labels=" + label);
  for (const std::string& word : options.annotations) {
    const auto [key, value] = pair_of(word);
    args.push_back("--cluster-annotations=" + annotation_key(key) + "=" + value);
  }
  if (options.report_figures) args.emplace_back("--report-figures=true");
  if (options.registration_auth == "awsirsa") {
    args.insert(args.end(), {"--registration-auth=awsirsa", "--hub-cluster-arn=" + options.hub_cluster_arn,
                             "--managed-cluster-arn=" + options.managed_cluster_arn});
  }
  if (!options.external_server_urls.empty())
    args.push_back("--spoke-external-server-urls=" + joined(options.external_server_urls, ","));
  return args;
}

std::string role_of(const JoinOptions& options) {
  if (options.registration_auth != "awsirsa") return {};
  const auto hub = registration::aws::parse_eks_arn(options.hub_cluster_arn);
  const auto member = registration::aws::parse_eks_arn(options.managed_cluster_arn);
  return hub && member ? registration::aws::member_role_arn(*member, registration::aws::role_suffix(*hub, *member)) : "";
}

}  // namespace fleetadm::commands
