// A server's certificate authority, parsed once for all connections that trust it: libcurl would parse it for each of them.
#pragma once

#include <memory>
#include <openssl/x509_vfy.h>
#include <string>

namespace fleetadm::kube {

/// The certificates of a PEM text, with the flags that libcurl verifies by. Transports that trust the same text share one. Null
/// where it holds none, or anything else: then libcurl reads it, and says what is wrong. Any thread.
std::shared_ptr<X509_STORE> trust_store(const std::string& ca_pem);

}  // namespace fleetadm::kube
