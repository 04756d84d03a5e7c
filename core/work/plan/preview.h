// What a work would report of objects, before it is shipped: its feedback and condition rules over objects from a file. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/work/rules/feedback.h"
#include "core/work/rules/manifest.h"

namespace fleetadm::work {

/// The resource type of a kind as nearly every API names it ("NetworkPolicy" → "networkpolicies"): a guess for where no
/// cluster can be asked. kInvalid: no kind.
Result<kube::Resource> guessed_resource(const std::string& api_version, const std::string& kind);

/// One object under the rules that its work has for it.
struct ObjectPreview {
  Json meta;               // resourceMeta; ordinal -1: the work has no manifest for it
  bool in_work = false;    // one of the work's manifests is this object
  bool has_rules = false;  // some manifestConfigs entry has rules for it
  std::string strategy;    // "Update", …
  bool owned = true;       // it would be deleted with the work
  FeedbackResult feedback;
  Json conditions = Json::array();  // of its condition rules
};

/// `work` is a ManifestWork. Objects without a place in its manifests are judged, too: rules match by name, with wildcards.
std::vector<ObjectPreview> preview_objects(const Json& work, const std::vector<Json>& objects, const FeedbackOptions& options);

/// The work's own conditions that come of these (aggregated from rules), as they would be on the hub, without times.
Json preview_conditions(const std::vector<ObjectPreview>& objects);

}  // namespace fleetadm::work
