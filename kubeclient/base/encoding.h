// Hashes, base64 and random names.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm {

/// Random text from the alphabet of Kubernetes' generated names ("bcdfghjklmnpqrstvwxz2456789").
std::string random_suffix(int length);
/// RFC 4122 version 4.
std::string random_uuid();
std::string sha256_hex(std::string_view data);
/// The 32 bytes of it.
std::string hmac_sha256(std::string_view key, std::string_view text);
std::string base64_encode(std::string_view data);
/// Standard alphabet with padding; white space between the digits is skipped. kInvalid otherwise.
Result<std::string> base64_decode(std::string_view text);
std::string base64url_encode(std::string_view data);

}  // namespace fleetadm
