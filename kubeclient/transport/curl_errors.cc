#include "kubeclient/transport/curl_errors.h"

#include <cerrno>
#include <openssl/x509_vfy.h>
#include <system_error>

namespace fleetadm::kube {

namespace {

Error make(Category category, std::string reason, std::string message, std::string hint = {}) {
  Error error;
  error.category = category;
  error.reason = std::move(reason);
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

Error verification_failed(const CurlFailure& failure) {
  const std::string who = "the certificate of " + failure.server;
  // The name is checked after the chain, and leaves no X509_V_ERR.
  if (contains(failure.detail, "subject name")) {
    return make(Category::kTls, "NameMismatch", who + " is not valid for the name \"" + failure.expected_name + "\"",
                "use a name or address that the certificate lists, or set tls-server-name in the kubeconfig");
  }
  switch (failure.verify_result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return make(Category::kTls, "CertificateExpired", who + " has expired",
                  "renew the server's certificate, or check this machine's clock");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return make(Category::kTls, "CertificateNotYetValid", who + " is not valid yet", "check the clocks of both machines");
    default: break;
  }
  return make(
      Category::kTls, "UnknownAuthority",
      who + " is not signed by a trusted certificate authority (" + X509_verify_cert_error_string(failure.verify_result) + ")",
      "check certificate-authority-data; something else may be answering at this address");
}

Error handshake_failed(const CurlFailure& failure) {
  const auto& detail = failure.detail;
  if (contains(detail, "wrong version number") || contains(detail, "packet length too long") ||
      contains(detail, "http request") || contains(detail, "unsupported protocol")) {
    return make(Category::kTls, "NotTls", failure.server + " does not speak TLS", "check the server's address and port");
  }
  if (contains(detail, "alert certificate") || contains(detail, "alert bad certificate") ||
      contains(detail, "alert unknown ca") || contains(detail, "alert unsupported certificate")) {
    return make(Category::kAuth, "ClientCertificateRefused", failure.server + " refused the client certificate",
                "the certificate may have expired or belong to another cluster");
  }
  if (contains(detail, "SSL_ERROR_SYSCALL") || contains(detail, "reset by peer") || contains(detail, "unexpected eof")) {
    return make(Category::kUnavailable, "ConnectionCut", failure.server + " closed the connection during the TLS handshake",
                "the server may be starting, or something between may block TLS");
  }
  return make(Category::kTls, "TlsFailure", "TLS handshake with " + failure.server + " failed: " + detail);
}

}  // namespace

Error error_of_curl(const CurlFailure& failure) {
  const std::string via = failure.proxy.empty() ? "" : " through the proxy " + failure.proxy;
  switch (failure.code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return make(Category::kUnavailable, "DnsFailure", "the name of " + failure.server + " does not resolve",
                  "check the server's name in the kubeconfig and this machine's DNS");
    case CURLE_COULDNT_RESOLVE_PROXY:
      return make(Category::kUnavailable, "DnsFailure", "the name of the proxy " + failure.proxy + " does not resolve",
                  "check proxy-url, HTTPS_PROXY and NO_PROXY");
    case CURLE_COULDNT_CONNECT: {
      if (failure.os_error == ECONNREFUSED) {
        return make(Category::kUnavailable, "ConnectionRefused", "connection to " + failure.server + via + " refused",
                    "is the API server running, and is the port right?");
      }
      const std::string why =
          failure.os_error == 0 ? failure.detail : std::generic_category().message(static_cast<int>(failure.os_error));
      return make(Category::kUnavailable, "ConnectionFailed", "no connection to " + failure.server + via + ": " + why);
    }
    case CURLE_OPERATION_TIMEDOUT: {
      if (!failure.connected) {
        return make(Category::kTimeout, "ConnectTimeout", "connection to " + failure.server + via + " timed out",
                    "check the network, firewalls and the server's address");
      }
      return make(Category::kTimeout, "Timeout", failure.server + " did not answer in time");
    }
    case CURLE_PEER_FAILED_VERIFICATION: return verification_failed(failure);
    case CURLE_SSL_CONNECT_ERROR: return handshake_failed(failure);
    case CURLE_SSL_CERTPROBLEM:
      return make(Category::kAuth, "ClientCertificateUnusable",
                  "the client certificate or key for " + failure.server + " cannot be used: " + failure.detail,
                  "check client-certificate-data and client-key-data: both must be PEM and belong together");
    case CURLE_SSL_CACERT_BADFILE:
      return make(Category::kTls, "BadCertificateAuthority",
                  "the certificate authority for " + failure.server + " holds no usable PEM certificate",
                  "check certificate-authority-data of the kubeconfig");
    case CURLE_PROXY:
      return make(Category::kUnavailable, "ProxyFailed", "the proxy " + failure.proxy + " did not connect to " + failure.server,
                  "check proxy-url, HTTPS_PROXY and NO_PROXY");
    case CURLE_OUT_OF_MEMORY: return make(Category::kInternal, "OutOfMemory", "out of memory while talking to " + failure.server);
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return make(Category::kUsage, "BadServer", "the server's address " + failure.server + " is not usable: " + failure.detail);
    case CURLE_RECV_ERROR:
      if (contains(failure.detail, "alert")) return handshake_failed(failure);
      if (contains(failure.detail, "CONNECT")) {
        return make(Category::kUnavailable, "ProxyFailed", "no connection to " + failure.server + via + ": " + failure.detail,
                    "check proxy-url, HTTPS_PROXY and NO_PROXY");
      }
      break;
    default: break;
  }
  return make(Category::kUnavailable, "ConnectionCut",
              "the connection to " + failure.server + via +
                  " broke: " + (failure.detail.empty() ? std::string(curl_easy_strerror(failure.code)) : failure.detail));
}

}  // namespace fleetadm::kube
