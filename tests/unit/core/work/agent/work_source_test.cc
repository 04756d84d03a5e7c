// The agent beside a hub that is no API server: the works are in memory.
#include "core/work/agent/work_source.h"

#include <gtest/gtest.h>
#include <map>
#include <mutex>

#include "core/work/rules/conditions.h"
#include "core/work/rules/names.h"
#include "tests/unit/core/work/fleet.h"

namespace fleetadm::work {
namespace {

using testing::config_map;
using testing::eventually;

class WorksInMemory final : public WorkSource {
 public:
  void put(Json work) {
    std::function<void(const std::string&)> changed;
    const std::string name = name_of(work);
    {
      const std::lock_guard lock(mutex_);
      store(std::move(work));
      changed = changed_;
    }
    if (changed) changed(name);
  }
  /// As a hub deletes: at once where nothing holds the work.
  void remove(const std::string& name) {
    Json work = *read(name).value();
    work["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z";
    put(std::move(work));
  }

  void on_change(std::function<void(const std::string& name)> changed) override {
    const std::lock_guard lock(mutex_);
    changed_ = std::move(changed);
    for (const auto& [name, work] : works_) changed_(name);
  }
  kube::CachedPtr get(const std::string& name) const override {
    const std::lock_guard lock(mutex_);
    const auto found = works_.find(name);
    return found == works_.end() ? nullptr : std::make_shared<kube::CachedObject>("c1/" + name, found->second);
  }
  std::vector<kube::CachedPtr> works_at(const std::string&, const std::string&, const std::string&) const override {
    const std::lock_guard lock(mutex_);
    std::vector<kube::CachedPtr> all;
    for (const auto& [name, work] : works_) all.push_back(std::make_shared<kube::CachedObject>("c1/" + name, work));
    return all;
  }
  Result<std::optional<Json>> read(const std::string& name) override {
    const std::lock_guard lock(mutex_);
    const auto found = works_.find(name);
    return found == works_.end() ? std::nullopt : std::optional(found->second);
  }
  Result<Json> patch(const Json& before, const Json& after, std::string_view) override {
    const std::string name = name_of(before);
    Json written;
    {
      const std::lock_guard lock(mutex_);
      const auto found = works_.find(name);
      if (found == works_.end()) return fail(Category::kNotFound, name + " is gone");
      if (resource_version_of(found->second) != resource_version_of(before)) return fail(Category::kConflict, name + " changed");
      written = store(after);
    }
    changed_(name);
    return written;
  }
  void warn(const Json&, std::string_view, std::string_view, const std::string&) override {}

 private:
  Json store(Json work) {
    work["metadata"]["resourceVersion"] = std::to_string(++version_);
    if (work["metadata"].value("uid", "").empty()) work["metadata"]["uid"] = "uid-" + std::to_string(version_);
    const std::string name = name_of(work);
    if (is_deleting(work) && list_at(work, {"metadata", "finalizers"}).empty()) {
      works_.erase(name);
    } else {
      works_[name] = work;
    }
    return work;
  }

  mutable std::mutex mutex_;
  std::map<std::string, Json> works_;
  std::function<void(const std::string&)> changed_;
  int version_ = 0;
};

TEST(WorkSourceTest, WorksOfAnotherTransportAreAppliedReportedAndTakenAway) {
  testing::Fleet fleet;
  const auto works = std::make_shared<WorksInMemory>();
  fleet.works = works;
  fleet.start_agent();
  works->put(testing::work_of("w1", "[" + config_map("a", "1") + "]"));
  ASSERT_TRUE(eventually([&] {
    const auto work = works->read("w1").value();
    return work && is_true(list_at(*work, {"status", "conditions"}), kConditionApplied);
  }));
  EXPECT_TRUE(fleet.config_map("a"));
  works->remove("w1");
  ASSERT_TRUE(eventually([&] { return !works->read("w1").value() && !fleet.config_map("a"); }));
  fleet.stop_agent();
  EXPECT_TRUE(fleet.hub->calls().empty()) << "the agent went past its source of works";
}

}  // namespace
}  // namespace fleetadm::work
