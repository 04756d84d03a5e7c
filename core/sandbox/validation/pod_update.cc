// Of a running pod only images, tolerations and a few deadlines may change.
#include <algorithm>
#include <set>

#include "core/sandbox/validation/update_checks.h"

namespace fleetadm::sandbox {
namespace {

/// False where the lists cannot be compared one by one.
bool check_images(const Json& pod, const Json& old, const char* list, Problems& out) {
  const Json& now = list_at(pod, {"spec", list});
  const auto field = "spec." + std::string(list);
  if (now.size() != list_at(old, {"spec", list}).size()) {
    out.push_back(forbidden_field(field, "pod updates may not add or remove containers"));
    return false;
  }
  int index = 0;
  for (const Json& container : now) {
    const auto at = field + "[" + std::to_string(index++) + "].image";
    const auto image = str(container, {"image"});
    const bool padded = !image.empty() && (image.front() == ' ' || image.back() == ' ');
    if (image.empty()) out.push_back(required(at));
    if (padded) out.push_back(bad_value(at, image, "must not have leading or trailing whitespace"));
  }
  return true;
}

/// False where nothing more is worth saying.
bool check_active_deadline(const Json& pod, const Json& old, Problems& out) {
  const Json* now = find(pod, {"spec", "activeDeadlineSeconds"});
  const Json* before = find(old, {"spec", "activeDeadlineSeconds"});
  const auto field = "spec.activeDeadlineSeconds";
  if (now == nullptr) {
    if (before != nullptr) out.push_back(bad_value(field, Json(), "must not update from a positive integer to nil value"));
    return true;
  }
  const auto seconds = num(pod, {"spec", "activeDeadlineSeconds"});
  if (seconds < 0 || seconds > 2147483647) {
    out.push_back(bad_value(field, *now, "must be between 0 and 2147483647, inclusive"));
    return false;
  }
  if (before != nullptr && num(old, {"spec", "activeDeadlineSeconds"}) < seconds) {
    out.push_back(bad_value(field, *now, "must be less than or equal to previous value"));
    return false;
  }
  return true;
}

void check_tolerations(const Json& pod, const Json& old, Problems& out) {
  const Json& now = list_at(pod, {"spec", "tolerations"});
  for (Json toleration : list_at(old, {"spec", "tolerations"})) {
    if (toleration.is_object()) toleration.erase("tolerationSeconds");
    const bool kept = std::any_of(now.begin(), now.end(), [&](Json one) {
      if (one.is_object()) one.erase("tolerationSeconds");
      return one == toleration;
    });
    if (kept) continue;
    out.push_back(forbidden_field("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"));
    return;
  }
}

void check_gates(const Json& pod, const Json& old, Problems& out) {
  std::set<std::string> had;
  for (const Json& gate : list_at(old, {"spec", "schedulingGates"})) had.insert(str(gate, {"name"}));
  int index = 0;
  for (const Json& gate : list_at(pod, {"spec", "schedulingGates"})) {
    const auto at = "spec.schedulingGates[" + std::to_string(index++) + "].name";
    const auto name = str(gate, {"name"});
    if (!had.contains(name))
      out.push_back(forbidden_field(at, "only deletion is allowed, but found new scheduling gate '" + name + "'"));
  }
}

void with_images_of(const Json& from, Json& spec, const char* list) {
  const auto at = spec.find(list);
  if (at == spec.end() || !at->is_array()) return;
  const Json& before = list_at(from, {"spec", list});
  for (std::size_t i = 0; i < at->size() && i < before.size(); ++i) take_member(before[i], (*at)[i], {"image"});
}

}  // namespace

Problems pod_update(const Json& pod, const Json& old) {
  Problems out;
  for (const char* list : {"containers", "initContainers"}) {
    if (!check_images(pod, old, list, out)) return out;
  }
  if (!check_active_deadline(pod, old, out)) return out;
  check_tolerations(pod, old, out);
  check_gates(pod, old, out);
  Json spec = object_at(pod, {"spec"});
  const Json& before = object_at(old, {"spec"});
  for (const char* list : {"containers", "initContainers"}) with_images_of(old, spec, list);
  for (const char* field : {"activeDeadlineSeconds", "tolerations", "schedulingGates"}) take_member(before, spec, {field});
  if (num(before, {"terminationGracePeriodSeconds"}) < 0 && num(spec, {"terminationGracePeriodSeconds"}) == 1)
    take_member(before, spec, {"terminationGracePeriodSeconds"});
  if (!list_at(before, {"schedulingGates"}).empty()) {
    // Where a gated pod goes may be narrowed down.
    const auto had = strings_at(before, {"nodeSelector"});
    const auto has = strings_at(spec, {"nodeSelector"});
    const bool kept = std::all_of(had.begin(), had.end(), [&](const auto& one) {
      const auto at = has.find(one.first);
      return at != has.end() && at->second == one.second;
    });
    if (!kept)
      out.push_back(bad_value("spec.nodeSelector", value_or_null(spec, {"nodeSelector"}),
                              "only additions to spec.nodeSelector are allowed (no mutations or deletions)"));
    take_member(before, spec, {"nodeSelector"});
  }
  if (spec != before) {
    out.push_back(
        forbidden_field("spec",
                        "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
                        "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
                        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)" +
                            changed_members(before, spec)));
  }
  return out;
}

}  // namespace fleetadm::sandbox
