// The Update strategy: how a manifest and the live object become the object to send (docs/reference/work.md#update-strategies).
// Pure. Two questions are kept apart:
//  * the manifest changed: the live content is replaced by the manifest's (what it no longer says goes);
//  * the live object changed (drift): only what the manifest says is put back, so that fields other people own are left alone.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/work/rules/ownership.h"
#include "kubeclient/base/json.h"

namespace fleetadm::work {

enum class MergeMode {
  kMetadata,  // labels, annotations and owners only (Namespace, Pod, ServiceAccount)
  kOverlay,   // the manifest's fields over the live ones (kinds with fields that the server fills in for good)
  kReplace,   // everything but metadata and status is the manifest's
};
MergeMode merge_mode_of(std::string_view group, std::string_view kind);

/// The object to create: a key of labels or annotations with a trailing '-' is left out, the owner is added where `owned`.
/// status is dropped; a Secret's stringData is folded into data.
Json object_to_create(const Json& desired, const Owner& owner, bool owned);

/// The object to PUT over `live`. metadata: labels and annotations merged (a key with a trailing '-' removes), owner added or,
/// where not `owned`, removed; the rest of metadata, and status, are the live ones'.
Json object_to_update(const Json& desired, const Json& live, MergeMode mode, const Owner& owner, bool owned);

/// What repairs drift: object_to_update() with the live content kept where the manifest says nothing. ConfigMap and Secret
/// content, which no one else fills in, is still replaced as a whole.
Json object_to_repair(const Json& desired, const Json& live, const Owner& owner, bool owned);

/// The merge patch of metadata.ownerReferences that adds or removes the owner, with uid and resourceVersion as preconditions;
/// an empty object where nothing is to change.
Json owner_patch(const Json& live, const Owner& owner, bool owned);

/// Equal for the server: absent, null, and empty lists and objects mean the same; metadata that the server keeps is ignored.
bool same_object(const Json& a, const Json& b);

/// True where every field that `desired` names has the same value in `live` (quantities by value, lists of equal length).
bool covers(const Json& live, const Json& desired);

/// Hash of what a person or controller can change in an object apart from its status: content, labels, annotations, owners.
std::uint64_t fingerprint(const Json& live);
/// Hash of a manifest.
std::uint64_t manifest_hash(const Json& desired);

}  // namespace fleetadm::work
