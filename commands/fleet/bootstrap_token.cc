#include "commands/fleet/bootstrap_token.h"

#include <filesystem>
#include <system_error>

#include "commands/framework/dry_run.h"
#include "commands/framework/files.h"
#include "core/api/kinds.h"
#include "kubeclient/config/files.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::commands {

Result<JoinTicket> ticket_without_token(const kube::RestConfig& config) {
  JoinTicket ticket;
  ticket.hub_apiserver = config.server;
  if (!config.ca_data.empty()) {
    FLEETADM_TRY(ticket.ca_pin, pki::ca_pin(config.ca_data));
  }
  return ticket;
}

Result<JoinTicket> make_ticket(const kube::Client& hub, const kube::RestConfig& config, Duration lifetime) {
  FLEETADM_TRY(JoinTicket ticket, ticket_without_token(config));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(lifetime).count();
  const Json request{
      {"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", {{"expirationSeconds", seconds}}}};
  const std::string path =
      kube::resources::service_accounts().path(api::kBootstrapNamespace, api::kBootstrapServiceAccount, "token");
  // A TokenRequest stores nothing: it is no write in the sense of a dry run.
  auto answer = hub.post(path, request, true);
  if (!answer) {
    Error error = answer.error().wrap("cannot get a bootstrap token");
    if (error.category == Category::kNotFound) error.hint = "this cluster is not a hub yet: run `fleetadm init` first";
    return fail(std::move(error));
  }
  ticket.token = str(*answer, {"status", "token"});
  ticket.expires = str(*answer, {"status", "expirationTimestamp"});
  if (ticket.token.empty()) return fail(Category::kInternal, "the hub answered a TokenRequest without a token");
  return ticket;
}

std::string join_command(const JoinTicket& ticket) {
  std::string line = "fleetadm join --hub-token-file - --hub-apiserver " + ticket.hub_apiserver;
  line += ticket.ca_pin.empty() ? " --system-roots" : " --ca-cert-hash " + ticket.ca_pin;
  return line + " --cluster-name <cluster_name>";
}

Report ticket_report(const JoinTicket& ticket, bool show_token) {
  Report report;
  report.data = Json{{"kind", "JoinTicket"},
                     {"hub-apiserver", ticket.hub_apiserver},
                     {"ca-cert-hash", ticket.ca_pin},
                     {"expires", ticket.expires},
                     {"join-command", join_command(ticket)}};
  if (show_token) report.data["hub-token"] = ticket.token;
  report.lines.push_back("To join a cluster, run this against it, replacing <cluster_name> with a unique name:");
  // echo is part of the shell: no process has the token among its arguments, where other users could read it.
  report.lines.push_back("    echo " + (show_token ? ticket.token : std::string("<TOKEN>")) + " | " + join_command(ticket));
  if (!show_token) {
    report.notes.push_back(
        "The token is not shown on a terminal. Use `fleetadm get token --show-token` to show it, or pass "
        "it on without displaying it: fleetadm get token -o jsonpath={.hub-token} | fleetadm join "
        "--hub-token-file - …");
  }
  report.notes.push_back((ticket.expires.empty() ? "The token does not expire" : "The token expires at " + ticket.expires) +
                         ". After the cluster has joined, accept it on the hub: fleetadm accept <cluster_name>");
  return report;
}

bool may_show_token(Context& context, bool asked) { return asked || !context.terminal().stdout_is_terminal(); }

Flag& join_file_flag(FlagSet& flags, std::string* into) {
  return file_flag(flags, into, "output-join-command-file",
                   "Also write the join command, with the token, as a shell script to this file: sh FILE CLUSTER_NAME [FLAG...]");
}

Result<std::string> join_script(const JoinTicket& ticket) {
  if (ticket.hub_apiserver.find_first_of("'\n\r") != std::string::npos)
    return fail(Category::kUsage, "the hub's address cannot be written into a script",
                "correct the server's URL in the kubeconfig");
  const std::string until = ticket.expires.empty() ? "does not expire" : "expires at " + ticket.expires;
  std::string text = "#!/bin/sh\n# Joins the cluster of the current context to a hub. The token in here " + until + ".\n";
  text += "name=${1:?usage: sh \"$0\" CLUSTER_NAME [FLAG...]}\nshift\n";
  text += "exec fleetadm join --hub-token-file - --hub-apiserver '" + ticket.hub_apiserver + "'";
  text += ticket.ca_pin.empty() ? " --system-roots" : " --ca-cert-hash " + ticket.ca_pin;
  return text + " --cluster-name \"$name\" \"$@\" <<'END'\n" + ticket.token + "\nEND\n";
}

Status write_join_script(Context& context, const std::string& path, const JoinTicket& ticket, Report& report) {
  if (path.empty()) return {};
  if (!is_dry(context)) {
    FLEETADM_TRY(const std::string script, join_script(ticket));
    std::error_code ignored;  // of a file that is not there yet
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, ignored);
    FLEETADM_CHECK(kube::write_file(path, script));
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, ignored);
  }
  report.lines.push_back("The join command is in " + path + ", with the token. To join a cluster: sh " + path +
                         " <cluster_name>" + dry_run_mark(context));
  return {};
}

}  // namespace fleetadm::commands
