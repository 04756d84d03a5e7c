#include "commands/framework/reasons.h"

#include <algorithm>

namespace fleetadm::commands {

namespace {

std::vector<Reason> all_reasons() {
  std::vector<Reason> reasons{
      // Of the categories: what has no closer word.
      {"Auth", Category::kAuth, "the credentials are missing or not accepted, or a permission is missing",
       "check the credentials of the kubeconfig context"},
      {"Cancelled", Category::kCancelled, "a signal or an answer to a question ended the command", "run the command again"},
      {"Conflict", Category::kConflict, "the change contradicts what exists, or what somebody else changed in the meantime",
       "look at the object, and run the command again"},
      {"Gone", Category::kGone, "the version that a list or a watch began with is no longer available", "run the command again"},
      {"Internal", Category::kInternal, "an internal error, or a local file or process failed",
       "run the command again with -v 6; if the message says that it is a bug, report it"},
      {"Invalid", Category::kInvalid, "the content is not valid", "correct the field that the message names"},
      {"NotFound", Category::kNotFound, "an object that was named does not exist",
       "check the name, and --namespace and --context"},
      {"Partial", Category::kPartial, "some targets failed, others succeeded",
       "see the error of each target; a rerun leaves those that succeeded as they are"},
      {"Timeout", Category::kTimeout, "the server did not answer, or what was waited for did not happen in time",
       "try again, or use a longer --request-timeout"},
      {"Tls", Category::kTls, "the server's certificate could not be verified",
       "check the certificate-authority-data and the server's address in the kubeconfig"},
      {"Unavailable", Category::kUnavailable, "the server cannot be reached, or something that is needed does not run",
       "check that the server is running and that its address in the kubeconfig is right"},
      {"Unsupported", Category::kUnsupported, "the server does not support the request",
       "compare the versions with: fleetadm version"},
      {"Usage", Category::kUsage, "the flags, arguments, input files or configuration are wrong",
       "see the usage with --help, or the file and line that the message names"},
      // Of the API server.
      {"AlreadyExists", Category::kConflict, "an object of this name exists", "use another name, or change the existing object"},
      {"BadRequest", Category::kInvalid, "the server does not understand the request", "correct what the message names"},
      {"Expired", Category::kGone, "the version that a list or a watch began with is too old", "run the command again"},
      {"Forbidden", Category::kAuth, "the credentials are valid, but lack the permission",
       "ask for the missing permission, or use another --context or --as"},
      {"InternalError", Category::kUnavailable, "the server failed", "check the server's log, or try again later"},
      {"MethodNotAllowed", Category::kUnsupported, "the server does not support the verb for this resource",
       "compare the versions with: fleetadm version"},
      {"NotAcceptable", Category::kUnsupported, "the server does not have the requested representation",
       "compare the versions with: fleetadm version"},
      {"RequestEntityTooLarge", Category::kInvalid, "the object is larger than the server accepts",
       "make the object smaller, or split it"},
      {"ServerTimeout", Category::kUnavailable, "the server could not finish the request in time", "try again later"},
      {"ServiceUnavailable", Category::kUnavailable, "the server is starting, stopping or overloaded",
       "check the server's log, or try again later"},
      {"StorageReadError", Category::kUnavailable, "the server cannot read an object from its storage", "check the server's log"},
      {"TooManyRequests", Category::kUnavailable, "the server limits requests", "try again later"},
      {"Unauthorized", Category::kAuth, "the server does not accept the credentials",
       "check the credentials of the kubeconfig context"},
      {"UnknownPath", Category::kNotFound, "the server does not know the resource, for example because its CRD is not installed",
       "check that the context is that of a hub, or make it one with: fleetadm init"},
      {"UnsupportedMediaType", Category::kUnsupported, "the server does not accept the format of the request",
       "compare the versions with: fleetadm version"},
      // Of the connection to it.
      {"AnswerTooLong", Category::kInvalid, "the server's answer is longer than the limit",
       "check the server's address, or ask for less with --selector or names"},
      {"BadCertificateAuthority", Category::kTls, "the certificate authority in the kubeconfig is not usable",
       "check certificate-authority-data of the kubeconfig"},
      {"BadServer", Category::kUsage, "the server's address is not usable", "correct the server's URL in the kubeconfig"},
      {"CertificateExpired", Category::kTls, "the server's certificate has expired",
       "renew the server's certificate, or check this machine's clock"},
      {"CertificateNotYetValid", Category::kTls, "the server's certificate is not valid yet",
       "check the clocks of both machines"},
      {"ClientCertificateRefused", Category::kAuth, "the server refused the client certificate",
       "the certificate may have expired or belong to another cluster; get a new one"},
      {"ClientCertificateUnusable", Category::kAuth, "the client certificate or its key is not usable",
       "check client-certificate-data and client-key-data: both must be PEM and belong together"},
      {"ConnectTimeout", Category::kTimeout, "no connection was made in time",
       "check the network, firewalls and the server's address"},
      {"ConnectionCut", Category::kUnavailable, "the connection broke", "try again; something between may cut connections"},
      {"ConnectionFailed", Category::kUnavailable, "no connection could be made", "check the network and the server's address"},
      {"ConnectionRefused", Category::kUnavailable, "nothing listens at the server's address",
       "check that the API server is running and that the port is right"},
      {"DnsFailure", Category::kUnavailable, "the name of the server or proxy does not resolve",
       "check the server's name in the kubeconfig and this machine's DNS"},
      {"ListCut", Category::kUnavailable, "the connection broke in the middle of a list", "run the command again"},
      {"NameMismatch", Category::kTls, "the server's certificate is for another name",
       "use a name or address that the certificate lists, or set tls-server-name in the kubeconfig"},
      {"NotTls", Category::kTls, "the server does not speak TLS", "check the server's address and port"},
      {"OutOfMemory", Category::kInternal, "this process has no memory left", "ask for less, or give the process more memory"},
      {"ProxyFailed", Category::kUnavailable, "the proxy did not connect to the server",
       "check proxy-url, HTTPS_PROXY and NO_PROXY"},
      {"TlsFailure", Category::kTls, "the TLS handshake failed", "check the server's address, and what is between"},
      {"UnknownAuthority", Category::kTls, "the server's certificate is not signed by a trusted authority",
       "check certificate-authority-data; something else may be answering at this address"},
      // Of this program.
      {"EmptyConfig", Category::kUsage, "there is no kubeconfig", "name a kubeconfig with --kubeconfig or KUBECONFIG"},
      {"ManyClusters", Category::kConflict, "the change would reach many clusters at once",
       "see which ones, and in which order, with --plan; if it is intended, add --allow-many"},
      {"NoSuchType", Category::kNotFound, "the cluster does not serve a kind of the given manifests",
       "install the kind's CustomResourceDefinition first, or correct apiVersion and kind"},
      {"RemovalsNotAllowed", Category::kConflict, "the change would remove works from clusters",
       "see what would be lost with --plan; if it is intended, add --allow-removals"}};
  std::sort(reasons.begin(), reasons.end(), [](const Reason& a, const Reason& b) { return a.word < b.word; });
  return reasons;
}

}  // namespace

const std::vector<Reason>& error_reasons() {
  static const std::vector<Reason> reasons = all_reasons();
  return reasons;
}

const Reason& reason_of(const Error& error) {
  const auto& reasons = error_reasons();
  const auto row = [&](std::string_view word) {
    return std::find_if(reasons.begin(), reasons.end(), [&](const Reason& one) { return one.word == word; });
  };
  if (const auto own = row(error.reason); own != reasons.end()) return *own;
  return *row(to_string(error.category));
}

}  // namespace fleetadm::commands
