// Certificates of add-ons' own signers (docs/reference/addon.md#certificate-requests).
#pragma once

#include <string>

#include "core/addon/rules/object_reader.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::addon {

/// The Secret with the CA of a template's custom signer; `hub_namespace` where it names no namespace.
struct SigningCa {
  std::string ns;
  std::string name;
};
SigningCa signing_ca(const Json& custom_signer, std::string_view hub_namespace);

/// The certificate (PEM) for a request that was approved, for 24 hours or as long as the CA lasts.
Result<std::string> sign_addon_request(const Json& csr, const Json& ca_secret, Instant now);

}  // namespace fleetadm::addon
