#include "tests/e2e/addon_course.h"

#include <algorithm>
#include <charconv>

#include "core/addon/rules/names.h"
#include "core/api/kinds.h"
#include "core/controller/controller.h"

namespace fleetadm::testkit {
namespace {

std::uint64_t version_of(const Json& object) {
  const std::string text = resource_version_of(object);
  std::uint64_t version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

Instant changed_at(const Json& addon, std::string_view condition) {
  const Json* found = controller::find_condition(addon, condition);
  return found == nullptr ? Instant{} : parse_time(str(*found, {"lastTransitionTime"})).value_or(Instant{});
}

struct OneAddon {
  bool begun = false;
  bool done = false;
  Instant since{};  // of what it is, as the strategy counts
};

class AddonReplay {
 public:
  explicit AddonReplay(const AddonLimits& limits) : limits_(limits) {}

  void addon_is(const Json& addon) {
    const std::string cluster = namespace_of(addon);
    OneAddon now = seen_in(addon);
    OneAddon& before = clusters_[cluster];
    const bool begins = now.begun && !before.begun;
    before = now;
    if (begins) begin(cluster, changed_at(addon, "Configured"));
    if (now.done) {
      course_.done.insert(cluster);
    } else {
      course_.done.erase(cluster);
    }
  }
  void work_is(const Json& work) {
    const std::string hashes = annotation_of(work, addon::kConfigSpecHashAnnotation);
    if (hashes.find(limits_.wanted) == std::string::npos || clusters_[namespace_of(work)].begun) return;
    course_.breaches.push_back("a work of " + namespace_of(work) + " changes before its turn");
  }
  AddonCourse course() { return std::move(course_); }

 private:
  OneAddon seen_in(const Json& addon) const {
    OneAddon one;
    one.done = true;
    for (const Json& reference : list_at(addon, {"status", "configReferences"})) {
      const Json& desired = object_at(reference, {"desiredConfig"});
      one.begun = one.begun || str(desired, {"name"}) == limits_.wanted || str(desired, {"specHash"}) == limits_.wanted;
      one.done = one.done && desired == object_at(reference, {"lastAppliedConfig"});
    }
    one.done = one.done && one.begun;
    one.since = std::max(changed_at(addon, "Configured"), changed_at(addon, "Progressing"));
    return one;
  }
  bool timed_out(const OneAddon& one, Instant now) const {
    return one.begun && !one.done && limits_.deadline && one.since + *limits_.deadline <= now;
  }
  bool holds_a_slot(const OneAddon& one, Instant now) const {
    if (!one.begun || timed_out(one, now)) return false;
    return !one.done || one.since + limits_.soak > now;
  }
  std::size_t stage_of(const std::string& cluster) const {
    for (std::size_t i = 0; i < limits_.stages.size(); ++i) {
      if (limits_.stages[i].contains(cluster)) return i;
    }
    return limits_.stages.size();
  }
  void begin(const std::string& cluster, Instant now) {
    course_.order.push_back(cluster);
    const std::size_t stage = stage_of(cluster);
    if (stage == limits_.stages.size()) course_.breaches.push_back(cluster + " is begun, and none of the strategy's clusters");
    for (std::size_t i = 0; i < stage && i < limits_.stages.size(); ++i) {
      for (const std::string& earlier : limits_.stages[i]) {
        const OneAddon& one = clusters_[earlier];
        const bool failed = timed_out(one, now);
        if (!one.begun || holds_a_slot(one, now) || (failed && i == 0)) {
          course_.breaches.push_back(cluster + " is begun before " + earlier + " is through");
        }
      }
    }
    const auto count = [&](auto&& is) {
      return static_cast<std::size_t>(
          std::count_if(clusters_.begin(), clusters_.end(), [&](const auto& entry) { return is(entry.second, now); }));
    };
    const std::size_t at_once = count([this](const OneAddon& one, Instant at) { return holds_a_slot(one, at); });
    course_.most_at_once = std::max(course_.most_at_once, at_once);
    const bool whole = stage < limits_.stages.size() && (stage == 0 || limits_.by_group);
    const std::size_t most = whole ? limits_.stages[stage].size() : limits_.concurrency;
    if (at_once > most) course_.breaches.push_back(std::to_string(at_once) + " are under way as " + cluster + " is begun");
    const std::size_t failed = count([this](const OneAddon& one, Instant at) { return timed_out(one, at); });
    if (failed > limits_.failures) {
      course_.breaches.push_back(cluster + " is begun after " + std::to_string(failed) + " time-outs");
    }
  }

  const AddonLimits& limits_;
  std::map<std::string, OneAddon> clusters_;
  AddonCourse course_;
};

}  // namespace

AddonCourse addon_course(const std::vector<AuditEntry>& log, const AddonLimits& limits) {
  std::vector<const AuditEntry*> stored;
  for (const AuditEntry& entry : log) {
    const bool writes = entry.verb == "create" || entry.verb == "patch" || entry.verb == "update";
    const bool addons = entry.resource == "managedclusteraddons" && name_of(entry.response) == limits.addon;
    const bool works = entry.resource == "manifestworks" && label_of(entry.response, api::kAddonNameLabel) == limits.addon;
    if (writes && entry.code < 300 && (addons || works)) stored.push_back(&entry);
  }
  // Two writes that are answered at one time may be logged in either order; the server's versions are the order of the store.
  std::stable_sort(stored.begin(), stored.end(),
                   [](const AuditEntry* a, const AuditEntry* b) { return version_of(a->response) < version_of(b->response); });
  AddonReplay replay(limits);
  for (const AuditEntry* entry : stored) {
    if (entry->resource == "manifestworks") {
      replay.work_is(entry->response);
    } else {
      replay.addon_is(entry->response);
    }
  }
  return replay.course();
}

}  // namespace fleetadm::testkit
