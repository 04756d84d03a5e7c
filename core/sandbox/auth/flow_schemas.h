// Which FlowSchema and PriorityLevelConfiguration a request belongs to (API priority and fairness). Requests are classified as by
// kube-apiserver and answered with the class; none is queued or refused for it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "core/sandbox/engine/engine.h"

namespace fleetadm::sandbox {

struct FlowClass {
  std::string schema_uid;
  std::string level_uid;
};

/// The condition of a FlowSchema that tells whether the priority level exists that it names.
Json dangling_condition(const std::string& level, bool exists, Instant since);

class FlowSchemas {
 public:
  explicit FlowSchemas(const Engine& engine) : engine_(engine) {}

  /// The schema of lowest matching precedence (then by name) that matches and whose priority level exists. nullopt: none, or a
  /// request that lasts without being a watch (exec, attach, port-forward, proxy, log), which has no class.
  std::optional<FlowClass> classify(const serve::User& user, const serve::Attributes& what) const;
  /// A schema or level was written.
  void changed() { ++wanted_; }

 private:
  struct Snapshot;
  std::shared_ptr<const Snapshot> snapshot() const;

  const Engine& engine_;
  std::atomic<std::uint64_t> wanted_{1};
  mutable std::mutex mutex_;
  mutable std::uint64_t built_ = 0;
  mutable std::shared_ptr<const Snapshot> snapshot_;
};

}  // namespace fleetadm::sandbox
