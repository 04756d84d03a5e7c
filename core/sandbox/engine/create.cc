#include "core/apimachinery/decode.h"
#include "core/sandbox/engine/custom.h"
#include "core/sandbox/engine/write_steps.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox {
namespace {

constexpr int kMaxNames = 8;
constexpr std::size_t kGeneratedBase = 58;

void drop(Json& object, std::initializer_list<const char*> fields) {
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object()) return;
  for (const char* field : fields) metadata->erase(field);
}

}  // namespace

ApiResult<Written> Engine::create(const Kind& kind, const std::string& ns, Json object, const WriteOptions& options) {
  const auto prefix = str(object, {"metadata", "generateName"});
  if (!name_of(object).empty() || prefix.empty()) return create_named(kind, ns, std::move(object), options);
  for (int i = 0; i < kMaxNames; ++i) {
    Json named = object;
    at_or_make(named, {"metadata", "name"}) = prefix.substr(0, kGeneratedBase) + random_suffix(5);
    auto made = create_named(kind, ns, std::move(named), options, true);
    if (made || made.error().reason != "AlreadyExists") return made;
    if (i + 1 == kMaxNames) {
      made.error().retry_after = 1;
      return made;
    }
  }
  return bad_request("no name");
}

ApiResult<Written> Engine::create_named(const Kind& kind, const std::string& ns, Json object, const WriteOptions& options,
                                        bool generated) {
  const auto name = name_of(object);
  if (const auto version = resource_version_of(object); !version.empty() && version != "0") {
    return api_fail(500, "", "resourceVersion should not be set on objects to be created");
  }
  drop(object, {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"});
  if (kind.namespaced) {
    at_or_make(object, {"metadata", "namespace"}) = ns;
  } else {
    drop(object, {"namespace"});
  }
  FLEETADM_CHECK(check_namespace(kind, ns, name));
  const auto now = clock_->now();
  at_or_make(object, {"metadata", "creationTimestamp"}) = format_time(now);
  at_or_make(object, {"metadata", "uid"}) = random_uuid();
  auto warnings = merge_owners(object);
  if (kind.custom != nullptr) {
    for (auto& warning : finalizer_warnings(object, nullptr)) warnings.push_back(std::move(warning));
  }
  const bool keeps_status = options.internal && find(object, {"status"}) != nullptr;
  if (kind.subresource("status") != nullptr && !keeps_status) {
    object.erase("status");
    // Of built-in kinds the wire always shows one.
    Json empty = kind.custom == nullptr ? apimachinery::empty_builtin(kind.api_version(), kind.kind) : Json();
    if (const Json* status = find(empty, {"status"})) object["status"] = *status;
  }
  if (counts_generation(kind)) at_or_make(object, {"metadata", "generation"}) = 1;
  const Strategy& own = strategy(kind);
  const StrategyContext context{*this, kind, options, now};
  fill_defaults(kind, own, object);
  if (kind.custom != nullptr) FLEETADM_CHECK(check_custom_create(kind, object));
  auto problems = metadata_problems(kind, object);
  if (!options.internal) add_object_problems(kind, object, problems);
  if (own.create) FLEETADM_CHECK(collect_problems(own.create(context, object), problems));
  if (!problems.empty()) return invalid(kind, name, problems);
  if (tracker_ && options.tracks_fields) tracker_(kind, nullptr, object, options, now);
  FLEETADM_CHECK(admit({kind, "CREATE", ns, name, generated, &object, nullptr, options}, warnings));
  if (const auto existing = store_.get(kind.storage, ns, name)) return already_exists(kind, name, is_deleting(existing->json()));
  bool raced = false;
  auto stored = put(kind, ns, name, 0, std::move(object), false, options.dry_run, raced);
  if (raced) return already_exists(kind, name);
  if (!stored) return tl::unexpected(std::move(stored).error());
  return Written{std::move(*stored), true, false, std::move(warnings)};
}

}  // namespace fleetadm::sandbox
