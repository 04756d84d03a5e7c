// Which authority vouches for a certificate.
#pragma once

#include <optional>
#include <string_view>

#include "kubeclient/pki/pki.h"

namespace fleetadm::pki {

/// The certificate among `authorities` (PEM) in which a chain (PEM, the leaf first, as a server shows it) ends; nullopt: none of
/// them vouches for it, or one of the texts cannot be read. Signatures are checked, dates and names are not.
std::optional<CertInfo> anchor_of(std::string_view chain, std::string_view authorities);

/// The certificate of a PEM text that is valid the longest, as of a bundle in which an authority is replaced; nullopt: none.
std::optional<CertInfo> longest_lived(std::string_view pem);

}  // namespace fleetadm::pki
