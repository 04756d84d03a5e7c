// Secrets of type kubernetes.io/service-account-token: the token of an account that does not expire
// (docs/reference/kubernetes-access.md#authentication). They are filled in as they are written and end with their account.
#pragma once

#include <string>

#include "core/sandbox/auth/tokens.h"
#include "core/sandbox/engine/engine.h"

namespace fleetadm::sandbox {

/// The rules of Secrets, with those of token Secrets on top. `signer` must outlive them.
Strategy with_account_tokens(Strategy secrets, const TokenSigner& signer, std::string ca_pem);
/// After a write of a service account or a Secret: removes token Secrets whose account is gone.
void end_account_secrets(Engine& engine, const Kind& kind, const std::string& ns, const std::string& name, const Json* object);

/// Whom the token of such a Secret is for; nullopt where it is none, the Secret is gone, or holds another token.
std::optional<serve::User> user_of_account_secret(const Engine& engine, const Json& claims, std::string_view token);

}  // namespace fleetadm::sandbox
