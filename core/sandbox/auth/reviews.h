// Objects that are questions: access reviews, token requests and reviews (docs/reference/kubernetes-access.md#authentication,
// docs/reference/kubernetes-access.md#access-reviews). They are answered and not stored.
#pragma once

#include "core/sandbox/auth/authenticate.h"
#include "core/sandbox/auth/rbac.h"
#include "core/sandbox/auth/tokens.h"

namespace fleetadm::sandbox {

struct Reviewers {
  Engine& engine;
  const Authenticator& authenticator;
  const Rbac& rbac;
  const TokenSigner& signer;
};

/// True where a POST to this resource is a question.
bool is_review(const Kind& kind);
/// The review with its status filled in.
ApiResult<Json> answer_review(const Reviewers& who, const Kind& kind, const serve::ApiRequest& request, Json review);
/// POST serviceaccounts/<name>/token.
ApiResult<Json> answer_token_request(const Reviewers& who, const Kind& accounts, const serve::ApiRequest& request,
                                     Json token_request);

}  // namespace fleetadm::sandbox
