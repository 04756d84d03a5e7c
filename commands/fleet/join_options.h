// The flags of join, and what they make of the agent.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "commands/fleet/image_flags.h"
#include "commands/fleet/pod_flags.h"
#include "commands/framework/command.h"
#include "commands/framework/grammar.h"
#include "commands/framework/member_side.h"

namespace fleetadm::commands {

inline constexpr std::string_view kHubTokenVariable = "FLEETADM_HUB_TOKEN";

/// A member that the hub dials: the command's own connection is then the hub's.
struct PushOptions {
  bool on = false;
  std::string kubeconfig;  // of the member
  std::string context;
  bool allow_loopback = false;
  bool full_rights = false;
  bool karmada_names = false;
  Duration token_lifetime = std::chrono::hours(7 * 24);
};
/// --push, --member-kubeconfig and --member-context; `what`: what --push is for.
void bind_push(FlagSet& flags, PushOptions& options, const std::string& what);
/// kUsage where the others are given without --push, or it lacks the member while that is needed.
Status validate_push(const PushOptions& options, bool member_needed);

struct JoinOptions {
  std::string filename;  // of a Klusterlet
  std::string cluster_name;
  std::vector<std::string> labels;                // KEY=VALUE of the ManagedCluster
  std::vector<std::string> annotations;           // KEY=VALUE, as annotation_key() completes the key
  std::vector<std::string> claims;                // NAME=VALUE
  std::vector<std::string> external_server_urls;  // of this cluster's API server
  std::string hub_apiserver;
  std::string hub_token;
  std::string hub_token_file;
  std::string ca_cert_hash;
  std::string ca_file;
  bool system_roots = false;
  bool hub_in_file = false;  // what is trusted is in --filename
  bool signed_info = false;  // the hub is known by its signed cluster-info (`register`)
  std::string proxy_url;
  std::string proxy_ca_file;
  std::vector<std::string> fallback_hubs;  // files
  MemberSide member;
  std::string member_apiserver;  // as the hosting cluster reaches it; empty: that of the kubeconfig
  ImageOptions image;
  PodOptions pods;
  std::string registration_auth = "csr";
  std::string hub_cluster_arn;      // with awsirsa
  std::string managed_cluster_arn;  // with awsirsa
  std::vector<std::string> agent_args;
  bool network_policy = false;
  bool report_figures = false;
  bool preflight_only = false;
  PushOptions push;
  std::string wait = "none";
  Duration timeout = kWaitTimeout;
};

/// --labels and --annotation, and whether they are any.
Status check_labels(const JoinOptions& options);
std::map<std::string, std::string> labels_of_join(const JoinOptions& options);
std::map<std::string, std::string> annotations_of_join(const JoinOptions& options);

/// The flags of what joins with an agent: what is told of the cluster, the way to the hub, the agent itself.
void bind_told(FlagSet& flags, JoinOptions& options);
void bind_hub_proxy(FlagSet& flags, JoinOptions& options);
void bind_agent(FlagSet& flags, JoinOptions& options);
void bind_join_wait(FlagSet& flags, JoinOptions& options);
/// "sha256:" and 64 hex digits.
bool is_ca_pin(std::string_view text);
/// https://host[:port][/prefix] and nothing else: no credentials, no query, nothing that a terminal or a header would obey.
bool is_hub_url(std::string_view text);

void bind_join(FlagSet& flags, JoinOptions& options);
/// Of options that are complete.
Status validate_join(const JoinOptions& options);

/// The IAM role of the agent, with awsirsa; else empty.
std::string role_of(const JoinOptions& options);

/// Names and values of the claims.
std::vector<std::pair<std::string, std::string>> claims_of(const JoinOptions& options);

/// Further arguments of `agent run` that follow from the flags: first those of --agent-arg.
std::vector<std::string> agent_args_of(const JoinOptions& options);

}  // namespace fleetadm::commands
