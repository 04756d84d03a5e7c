// metadata.managedFields: server-side apply, and the ownership that every other write leaves behind
// (docs/reference/kubernetes-api.md#server-side-apply). Pure; objects of built-in kinds are in the form of decode_builtin(),
// because whether an empty struct is there says who owns it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/apimachinery/api_error.h"
#include "core/apimachinery/causes.h"
#include "core/apimachinery/type.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::apimachinery {

/// Entries of Update managers beyond this many are folded into "ancient-changes".
inline constexpr std::size_t kMaxUpdateManagers = 10;

/// An object in one of its kind's versions; no type: there is no such version (any more).
struct InVersion {
  Json object;
  const TypeNode* type = nullptr;
};

/// Who writes, and where.
struct Writer {
  std::string manager;             // fieldManager, or what the User-Agent makes of it
  std::string api_version;         // of the endpoint: "apps/v1"
  std::string subresource;         // "status"; empty: the object itself
  std::vector<std::string> reset;  // top-level fields that this endpoint does not write: {"status"}, {"spec"}
  Instant now;
  bool timeless = false;  // leaves no time of its writes
  /// An object in another version, for managers that own fields there; else why it cannot be had. Empty: the kind's versions
  /// name their fields alike.
  std::function<Result<InVersion>(const Json& object, const std::string& api_version)> convert;
};

/// Applies `intent` to `live` (nullptr: the object is created, and `empty` is what an object without content looks like: {} for
/// custom resources, decode_builtin() of {} for built-in kinds). The answer has its managedFields; where nothing changes it is
/// `live` itself, times included. apiVersion, kind and metadata.name are in `intent`; the caller has checked them.
/// 400: managedFields are set in the intent. 409: conflicts, one cause each. 500: the intent does not fit the type, or the object
/// cannot be converted.
ApiResult<Json> apply_intent(const Json* live, const Json& empty, Json intent, const TypeNode& type, const Writer& writer,
                             bool force);

/// `updated` (after a create, an update or another patch) with its managedFields: what differs from `live` is the writer's.
/// nullptr for `live`: a create, compared with `empty`. `updated` may carry managedFields of its own (they are taken, but not on
/// subresources); [] and [{}] reset the tracking. An object that was not tracked stays so, and one that cannot be converted for
/// its managers is tracked no longer.
Json track_update(const Json* live, const Json& empty, Json updated, const TypeNode& type, const Writer& writer);

/// The same object for a reader: managedFields apart from their times, and everything else.
bool same_but_times(const Json& a, const Json& b);

}  // namespace fleetadm::apimachinery
