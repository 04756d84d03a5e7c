// How a certificate request is encoded, and by what kind of key it is signed.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm::pki {

struct CsrKey {
  int strength = 0;         // in bits of security (NIST SP 800-57): RSA 2048 and P-224 have 112
  std::string spki_sha256;  // lower-case hex of the SHA-256 of the DER SubjectPublicKeyInfo
  bool der = false;         // the request is in DER, not merely in BER
};
/// Of exactly one PEM block CERTIFICATE REQUEST; else kInvalid.
Result<CsrKey> csr_key(std::string_view pem);

}  // namespace fleetadm::pki
