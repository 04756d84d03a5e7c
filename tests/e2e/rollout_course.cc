#include "tests/e2e/rollout_course.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace fleetadm::testkit {
namespace {

constexpr const char* kOwner = "work.open-cluster-management.io/manifestworkreplicaset";

/// "True", "False", "Unknown"; empty where there is none of the present generation.
std::string current(const Json& work, std::string_view type) {
  for (const Json& entry : list_at(work, {"status", "conditions"})) {
    if (str(entry, {"type"}) != type) continue;
    return num(entry, {"observedGeneration"}) == num(work, {"metadata", "generation"}) ? str(entry, {"status"}) : std::string();
  }
  return {};
}

bool has_rule_for(const Json& work, std::string_view condition) {
  for (const Json& config : list_at(work, {"spec", "manifestConfigs"})) {
    for (const Json& rule : list_at(config, {"conditionRules"})) {
      if (str(rule, {"condition"}) == condition) return true;
    }
  }
  return false;
}

std::uint64_t stored_as(const Json& object) {
  const std::string text = resource_version_of(object);
  std::uint64_t version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

struct Cluster {
  bool begun = false;
  WorkStanding standing = WorkStanding::kUnderWay;
};

class Replay {
 public:
  explicit Replay(const RolloutLimits& limits) : limits_(limits) {}

  /// Another write of the hub: what it begins from here on, it decides on from here on.
  void next_pass() { pass_ = 0; }
  void write(const Json& work) {
    const std::string name = namespace_of(work);
    const bool has_value = value_of_work(work) == limits_.value;
    Cluster& cluster = clusters_[name];
    if (has_value && !cluster.begun) begin(name);
    cluster.begun = has_value;
    cluster.standing = standing_of(work);
    const std::size_t at_once = count(WorkStanding::kUnderWay);
    course_.most_at_once = std::max(course_.most_at_once, at_once);
    if (at_once > limits_.concurrency) {
      course_.breaches.push_back(std::to_string(at_once) + " clusters are under way at version " + resource_version_of(work));
    }
  }
  RolloutCourse course() { return std::move(course_); }

 private:
  void begin(const std::string& name) {
    course_.order.push_back(name);
    if (pass_ == 0 || pass_ == limits_.concurrency) {
      pass_ = 0;
      failed_ = count(WorkStanding::kFailed);
    }
    ++pass_;
    if (failed_ > limits_.failures) {
      course_.breaches.push_back(name + " is begun after " + std::to_string(failed_) + " failures");
    }
    if (limits_.canary.empty() || name == limits_.canary) return;
    const Cluster& canary = clusters_[limits_.canary];
    if (!canary.begun || canary.standing != WorkStanding::kSucceeded) {
      course_.breaches.push_back(name + " is begun before " + limits_.canary + " has succeeded");
    }
  }
  std::size_t count(WorkStanding standing) const {
    return static_cast<std::size_t>(std::count_if(clusters_.begin(), clusters_.end(), [&](const auto& entry) {
      return entry.second.begun && entry.second.standing == standing;
    }));
  }

  const RolloutLimits& limits_;
  std::map<std::string, Cluster> clusters_;
  std::size_t pass_ = 0;    // clusters that were begun in the present pass
  std::size_t failed_ = 0;  // as it began
  RolloutCourse course_;
};

}  // namespace

std::string value_of_work(const Json& work) {
  const Json& manifests = list_at(work, {"spec", "workload", "manifests"});
  return manifests.empty() ? std::string() : str(manifests.front(), {"data", "v"});
}

std::string set_of_work(const Json& work) { return label_of(work, kOwner); }

WorkStanding standing_of(const Json& work) {
  const std::string applied = current(work, "Applied");
  if (applied == "False") return WorkStanding::kFailed;
  const std::string last = has_rule_for(work, "Progressing") ? current(work, "Progressing") : current(work, "Available");
  const std::string wanted = has_rule_for(work, "Progressing") ? "False" : "True";
  return applied == "True" && last == wanted ? WorkStanding::kSucceeded : WorkStanding::kUnderWay;
}

RolloutCourse rollout_course(const std::vector<AuditEntry>& log, const RolloutLimits& limits) {
  std::vector<const AuditEntry*> stored;
  for (const AuditEntry& entry : log) {
    const bool writes = entry.verb == "create" || entry.verb == "patch" || entry.verb == "update";
    const bool its = entry.resource == "manifestworks" && set_of_work(entry.response) == limits.set;
    if (writes && entry.code < 300 && (its || entry.user == limits.hub)) stored.push_back(&entry);
  }
  // Two writes that are answered at one time may be logged in either order; the server's versions are the order of the store.
  std::stable_sort(stored.begin(), stored.end(),
                   [](const AuditEntry* a, const AuditEntry* b) { return stored_as(a->response) < stored_as(b->response); });
  Replay replay(limits);
  for (const AuditEntry* entry : stored) {
    if (entry->resource == "manifestworks" && set_of_work(entry->response) == limits.set) {
      replay.write(entry->response);
    } else {
      replay.next_pass();
    }
  }
  return replay.course();
}

}  // namespace fleetadm::testkit
