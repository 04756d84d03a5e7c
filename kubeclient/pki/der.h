// Distinguished Encoding Rules: one encoding for each value. OpenSSL also reads BER, where the same request has many: what one
// program checked may not be what another one, with another parser, signs.
#pragma once

#include <string_view>

namespace fleetadm::pki {

/// One value in DER and nothing behind it: definite lengths in their shortest form, short tags, shortest INTEGERs, BOOLEANs that
/// are 0 or 255, strings in one piece. The order of SETs is not checked.
bool is_der(std::string_view bytes);

}  // namespace fleetadm::pki
