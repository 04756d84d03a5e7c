// A server's certificate authority, parsed for connections that are being made: libcurl would parse it for each of its own.
#pragma once

#include <memory>
#include <openssl/x509_vfy.h>
#include <string>

namespace fleetadm::kube {

/// The certificates of a PEM text, with the flags that libcurl verifies by. Those who hold one of the same text share it. Null
/// where it holds none, or anything else: then libcurl reads it, and says what is wrong. Any thread.
std::shared_ptr<X509_STORE> trust_store(const std::string& ca_pem);

}  // namespace fleetadm::kube
