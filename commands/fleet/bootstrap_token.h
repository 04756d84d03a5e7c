// The token and the pin that a cluster joins with, and the join command that carries them.
#pragma once

#include <string>

#include "commands/framework/command.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

struct JoinTicket {
  std::string hub_apiserver;
  std::string ca_pin;  // empty where the kubeconfig trusts the system's roots
  std::string token;
  std::string expires;  // RFC 3339; empty: never
};

/// Of the hub that the configuration leads to, with its pin.
Result<JoinTicket> ticket_without_token(const kube::RestConfig& config);

/// A token of the bootstrap ServiceAccount (TokenRequest). kNotFound where the hub was not initialised.
Result<JoinTicket> make_ticket(const kube::Client& hub, const kube::RestConfig& config, Duration lifetime);

/// "fleetadm join --hub-token-file - --hub-apiserver … --ca-cert-hash … --cluster-name <cluster_name>", which reads the token
/// from standard input: arguments can be read by every user of a machine.
std::string join_command(const JoinTicket& ticket);

/// What init and get token answer. The token is in it only where it may be shown: asked for, or stdout is no terminal.
Report ticket_report(const JoinTicket& ticket, bool show_token);

/// Whether a token may be printed: a terminal keeps what is on it, so there it has to be asked for.
bool may_show_token(Context& context, bool asked);

/// --output-join-command-file
Flag& join_file_flag(FlagSet& flags, std::string* into);

/// A shell script that joins the cluster that is its first argument; it holds the token. kUsage: an address that no shell takes.
Result<std::string> join_script(const JoinTicket& ticket);

/// Writes it, for its owner alone, and tells so in the report; in a dry run it only tells.
Status write_join_script(Context& context, const std::string& path, const JoinTicket& ticket, Report& report);

}  // namespace fleetadm::commands
