// libcurl's failures as Errors that name the host, the cause and the next step.
#pragma once

#include <curl/curl.h>
#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm::kube {

/// What is known of a transfer that ended without an HTTP answer.
struct CurlFailure {
  CURLcode code = CURLE_OK;
  std::string detail;         // CURLOPT_ERRORBUFFER
  long verify_result = 0;     // CURLINFO_SSL_VERIFYRESULT (X509_V_ERR_*)
  long os_error = 0;          // CURLINFO_OS_ERRNO
  bool connected = false;     // TCP (and TLS) had been set up
  std::string server;         // "host:port" as a person knows it
  std::string proxy;          // host of an explicit proxy; empty where none
  std::string expected_name;  // what the certificate must be valid for
  double timeout_seconds = 0;
};

/// Reasons of its Errors, for those who retry: DnsFailure, ConnectionRefused, ConnectionFailed, ConnectionCut, ConnectTimeout,
/// Timeout, UnknownAuthority, NameMismatch, CertificateExpired, CertificateNotYetValid, NotTls, ClientCertificateRefused,
/// TlsFailure.
Error error_of_curl(const CurlFailure& failure);

}  // namespace fleetadm::kube
