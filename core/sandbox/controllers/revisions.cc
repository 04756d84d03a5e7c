#include "core/sandbox/controllers/revisions.h"

#include <algorithm>

#include "core/sandbox/controllers/pods.h"

namespace fleetadm::sandbox {
namespace {

const char* const kHashLabel = "controller-revision-hash";

Json revision_of(const Json& owner, const std::string& hash, std::int64_t number) {
  Json pod_template = object_at(owner, {"spec", "template"});
  Json labels = object_at(pod_template, {"metadata", "labels"});
  labels[kHashLabel] = hash;
  pod_template["$patch"] = "replace";
  Json metadata = {{"name", name_of(owner) + "-" + hash},
                   {"labels", std::move(labels)},
                   {"ownerReferences", Json::array({owner_reference(owner)})}};
  if (const Json& annotations = object_at(owner, {"metadata", "annotations"}); !annotations.empty())
    metadata["annotations"] = annotations;
  return {{"apiVersion", "apps/v1"},
          {"kind", "ControllerRevision"},
          {"metadata", std::move(metadata)},
          {"data", {{"spec", {{"template", std::move(pod_template)}}}}},
          {"revision", number}};
}

}  // namespace

const Json& template_of_revision(const Json& revision) { return object_at(revision, {"data", "spec", "template"}); }

RevisionHistory keep_revisions(const ControllerContext& context, const Json& owner, const std::vector<std::string>& used) {
  const auto kind = kind_of(context, "apps", "controllerrevisions");
  RevisionHistory out;
  const auto selector = LabelSelector::from_object(find(owner, {"spec", "selector"}));
  out.all = selector ? claim(context, *kind, owner, *selector) : owned_by(context, *kind, owner);
  std::sort(out.all.begin(), out.all.end(),
            [](const Json& a, const Json& b) { return num(a, {"revision"}) < num(b, {"revision"}); });
  const auto newest = out.all.empty() ? 0 : num(out.all.back(), {"revision"});
  // A revision counts by what it holds: whoever made it may have hashed otherwise. Of several that hold the same the newest is
  // meant; raising an older one above it would make that one the older, and so on without end.
  Json wanted = object_at(owner, {"spec", "template"});
  wanted["$patch"] = "replace";
  const auto known = std::find_if(out.all.rbegin(), out.all.rend(),
                                  [&](const Json& one) { return !is_deleting(one) && template_of_revision(one) == wanted; });
  if (known == out.all.rend()) {
    out.hash = hash_of_template(object_at(owner, {"spec", "template"}));
    out.current = name_of(owner) + "-" + out.hash;
    if (auto made = context.engine.create(*kind, namespace_of(owner), revision_of(owner, out.hash, newest + 1),
                                          as_controller("workload-controller"))) {
      out.all.push_back(std::move(made->object));
    }
  } else {
    out.hash = label_of(*known, kHashLabel);
    out.current = name_of(*known);
    if (num(*known, {"revision"}) < newest) {
      change(context, *kind, *known, as_controller("workload-controller"), [&](Json& next) { next["revision"] = newest + 1; });
    }
  }
  auto excess = static_cast<std::int64_t>(out.all.size()) - 1 - num(owner, {"spec", "revisionHistoryLimit"}, 10);
  for (const Json& one : out.all) {
    if (excess <= 0) break;
    const auto hash = label_of(one, kHashLabel);
    if (name_of(one) == out.current || std::find(used.begin(), used.end(), hash) != used.end()) continue;
    remove(context, *kind, one);
    --excess;
  }
  return out;
}

}  // namespace fleetadm::sandbox
