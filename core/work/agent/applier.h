// Brings one object of a work in line on the spoke: reads it, decides with the pure rules of merge.h, writes at most what is
// needed (docs/reference/work.md#update-strategies).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/work/rules/manifest.h"
#include "core/work/rules/merge.h"
#include "core/work/rules/ownership.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::work {

/// What is remembered of an object after it was brought in line, so that nothing is written when nothing changed.
struct Fingerprint {
  std::uint64_t manifest = 0;  // hash of the manifest
  std::uint64_t live = 0;      // fingerprint of the live object
  bool owned = true;
};

enum class Change { kNone, kManifest, kDrift };

/// The pure decision of the Update strategy. `applied_before`: this generation of the work was already applied (so a difference
/// is drift even where nothing is remembered, after a restart).
struct UpdatePlan {
  Change change = Change::kNone;
  Json object;  // to PUT, where change is not kNone
};
UpdatePlan plan_update(const Manifest& manifest, const Json& live, const std::optional<Fingerprint>& seen, bool applied_before,
                       const Owner& owner, bool owned);

struct ApplyRequest {
  const Manifest& manifest;
  const UpdateStrategy& strategy;
  const Owner& owner;
  bool owned = true;
  std::optional<Fingerprint> seen;
  bool applied_before = false;
  bool may_repair = true;  // false: drift is left for now (someone fights back)
  bool absent = false;     // a watch that is in sync does not see the object: creating it comes before reading it
};

struct ApplyOutcome {
  std::optional<Json> live;    // the object as it is now; nullopt: it does not exist, or could not be read
  bool missing = false;        // it is known not to exist
  std::optional<Error> error;  // why it is not in line
  std::string failure_reason;  // of the Applied condition, where it is not the usual one
  std::optional<Error> read_error;
  Change change = Change::kNone;  // what was found
  bool wrote = false;
};

class Applier {
 public:
  explicit Applier(kube::Client spoke) : spoke_(std::move(spoke)) {}

  ApplyOutcome apply(const ApplyRequest& request) const;
  /// Reads only.
  ApplyOutcome read(const Manifest& manifest) const;

 private:
  ApplyOutcome update(const ApplyRequest& request) const;
  ApplyOutcome update_once(const ApplyRequest& request) const;
  ApplyOutcome create_only(const ApplyRequest& request) const;
  ApplyOutcome server_side(const ApplyRequest& request) const;
  ApplyOutcome server_side_once(const ApplyRequest& request) const;
  ApplyOutcome create(const ApplyRequest& request) const;
  ApplyOutcome replace_secret(const ApplyRequest& request, const Json& live) const;
  void fix_owner(const ApplyRequest& request, ApplyOutcome& outcome) const;

  kube::Client spoke_;
};

}  // namespace fleetadm::work
