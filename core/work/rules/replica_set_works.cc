// The works that a set makes: their names, labels and content.
#include "core/api/kinds.h"
#include "core/work/rules/names.h"
#include "core/work/rules/replica_set_rules.h"
#include "kubeclient/base/encoding.h"
namespace fleetadm::work {
namespace {

constexpr std::size_t kMaxLabelValue = 63;

}  // namespace

std::string owner_label_of(const Json& set) { return namespace_of(set) + "." + name_of(set); }

std::string owner_label_problem(const Json& set) {
  const std::string value = owner_label_of(set);
  if (value.size() <= kMaxLabelValue) return {};
  return "ManifestWork owner reference \"" + value +
         "\" (namespace.name) is not a valid label value: must be no more than 63 bytes; " +
         "recreate the ManifestWorkReplicaSet with a shorter namespace and/or name so the combined length is at most 63 "
         "characters";
}

std::map<std::string, std::string> work_labels(const Json& set, const std::string& placement) {
  std::map<std::string, std::string> labels = strings_at(set, {"metadata", "labels"});
  labels[std::string(kReplicaSetLabel)] = owner_label_of(set);
  labels[std::string(kPlacementNameLabel)] = placement;
  return labels;
}

std::string work_name_of(const Json& set) {
  const std::string suffix = "-" + sha256_hex(owner_label_of(set)).substr(0, 5);
  return name_of(set).substr(0, kMaxWorkName - suffix.size()) + suffix;
}

Json new_work(const Json& set, const WantedWork& wanted, Instant now) {
  Json work = Json::object({{"apiVersion", kWorkApiVersion}, {"kind", "ManifestWork"}});
  work["metadata"] = Json::object({{"name", work_name_of(set)},
                                   {"generateName", name_of(set)},
                                   {"namespace", wanted.cluster},
                                   {"labels", work_labels(set, wanted.placement)},
                                   {"annotations", Json::object({{kBegunAnnotation, format_micro_time(now)}})}});
  work["spec"] = without_timestamps(object_at(set, {"spec", "manifestWorkTemplate"}));
  return work;
}

}  // namespace fleetadm::work
