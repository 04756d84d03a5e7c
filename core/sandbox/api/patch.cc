// Patch documents on one object.
#include "core/apimachinery/patch.h"

#include "core/apimachinery/depth.h"
#include "core/sandbox/api/apply.h"
#include "core/sandbox/api/write.h"

namespace fleetadm::sandbox {
namespace {

tl::unexpected<ApiError> rejected() {
  return api_fail(422, "Invalid", "the server rejected our request due to an error in our request");
}

}  // namespace

ApiResult<Json> apply_patch(const Kind& kind, const Json& old, const std::string& type, const Json& patch) {
  Json out;
  if (type == "application/json-patch+json") {
    auto patched = apimachinery::json_patch(old, patch);
    if (!patched) return tl::unexpected(from_error(patched.error()));
    out = std::move(*patched);
  } else if (type == "application/merge-patch+json" || type == "application/strategic-merge-patch+json") {
    if (!patch.is_object()) return bad_request("the patch is no object");
    if (type == "application/merge-patch+json") {
      auto patched = apimachinery::merge_patch(old, patch);
      if (!patched) return tl::unexpected(from_error(patched.error()));
      out = std::move(*patched);
    } else {
      FLEETADM_TRY(out, strategic_patch(kind, old, patch));
    }
  }
  if (!out.is_object() || !object_at(out, {"metadata"}).is_object() || apimachinery::object_too_deep(out)) return rejected();
  return out;
}

}  // namespace fleetadm::sandbox
