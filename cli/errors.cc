#include "cli/errors.h"

#include <string_view>

#include "kubeclient/base/log.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::cli {
namespace {

// A server that does not know the fleet's kinds. The client's own hint speaks of CRDs in general; a person wants the command.
bool is_no_hub(const Error& error) {
  return error.reason == kube::kUnknownPath && error.message.find(".open-cluster-management.io/") != std::string::npos;
}

std::string_view usual_hint(const Error& error) {
  switch (error.category) {
    case Category::kAuth:
      if (error.code == 403) return "ask for the missing permission, or use another --context or --as";
      return "check the credentials of the kubeconfig context";
    case Category::kTls: return "check the certificate-authority-data and the server's address in the kubeconfig";
    case Category::kUnavailable: return "check that the server is running and that its address in the kubeconfig is right";
    case Category::kTimeout: return "try again with a longer --timeout or --request-timeout";
    case Category::kGone: return "run the command again";
    case Category::kNotFound:
      if (error.code == 404) return "check the name, and --namespace and --context";
      return "";
    case Category::kConflict:
      if (error.reason == "Conflict") return "someone else has changed it meanwhile: run the command again";
      return "";
    default: return "";
  }
}

}  // namespace

int exit_code(Category category) {
  switch (category) {
    case Category::kCancelled: return kExitCancelled;
    case Category::kPartial: return kExitPartial;
    case Category::kAuth: return kExitAuth;
    case Category::kNotFound: return kExitNotFound;
    case Category::kTimeout: return kExitTimeout;
    case Category::kUsage: return kExitUsage;
    case Category::kInternal:
    case Category::kConflict:
    case Category::kInvalid:
    case Category::kUnavailable:
    case Category::kTls:
    case Category::kGone:
    case Category::kUnsupported: return kExitFailure;
  }
  return kExitFailure;
}

std::string render_error(const Error& error, bool color) {
  std::string out = color ? "\x1b[31merror:\x1b[0m " : "error: ";
  if (!error.cluster.empty()) out += log::escape_terminal(error.cluster) + ": ";
  out += log::escape_terminal(error.message, true);
  if (error.code != 0) {
    out += " (";
    if (!error.reason.empty()) out += log::escape_terminal(error.reason) + ", ";
    out += "HTTP " + std::to_string(error.code) + ")";
  }
  out += "\n";
  const std::string_view hint = is_no_hub(error) ? "this cluster is no hub: check --context, or make it one with `fleetadm init`"
                                : error.hint.empty() ? usual_hint(error)
                                                     : std::string_view(error.hint);
  if (!hint.empty()) {
    out += color ? "\x1b[36mhint:\x1b[0m " : "hint: ";
    out += log::escape_terminal(hint, true) + "\n";
  }
  return out;
}

}  // namespace fleetadm::cli
