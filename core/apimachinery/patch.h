// The three patches that are values: JSON patch (RFC 6902), merge patch (RFC 7386) and strategic merge patch
// (docs/reference/kubernetes-api.md#patches). The fourth, apply, is in managed_fields.h.
//
// Errors carry the HTTP status and the Status reason that a kube-apiserver answers with: 400 BadRequest for a document that is no
// patch, 413 for one with too many operations, 422 for an operation that fails, 500 (no reason) for a strategic patch that does
// not fit its type.
#pragma once

#include "core/apimachinery/type.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::apimachinery {

inline constexpr std::size_t kMaxJsonPatchOperations = 10'000;
/// What `copy` operations may add to a document, in bytes of memory.
inline constexpr std::size_t kMaxCopiedBytes = std::size_t{16} * 1024 * 1024;
/// What `move` operations may carry about in one, in values.
inline constexpr std::size_t kMaxMovedValues = 20'000'000;

/// `operations` is the patch document (an array).
Result<Json> json_patch(Json object, const Json& operations);

/// `patch` is an object.
Result<Json> merge_patch(Json object, const Json& patch);

/// `type` is the built-in kind's root (custom resources have no strategic patch: 415 is the caller's).
Result<Json> strategic_merge_patch(Json object, const Json& patch, const TypeNode& type);

/// Values in a document, itself included.
std::size_t count_values(const Json& value);
/// As Go's %v prints a decoded JSON value: map[a:1 b:[x y]], <nil>.
std::string go_text(const Json& value);

}  // namespace fleetadm::apimachinery
