// A Job's one pod: its start, its output, its end.
#pragma once

#include <chrono>
#include <string>

#include "commands/framework/context.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

class PodRun {
 public:
  using Deadline = std::chrono::steady_clock::time_point;  // max(): none

  /// `context` and `cluster` must outlive it.
  PodRun(Context& context, const kube::Client& cluster, std::string ns, std::string job, Deadline deadline)
      : context_(context), cluster_(cluster), ns_(std::move(ns)), job_(std::move(job)), deadline_(deadline) {}

  /// Until the container has begun. An Error tells what keeps it from that: an image that is not there, a quota, a node.
  Status wait_begun();
  /// Prints what the container writes, and answers the exit code with which it ended.
  Result<int> follow();

 private:
  /// Watches the Job's pods until one is as `wanted` tells, or `patience` is over (kTimeout).
  Result<Json> wait_pod(const std::function<Result<bool>(const Json& pod)>& wanted, Deadline patience);
  /// What the Job's controller says of pods that it cannot make.
  Status refused_pods() const;

  Context& context_;
  const kube::Client& cluster_;
  const std::string ns_;
  const std::string job_;
  const Deadline deadline_;
  std::string pod_;  // its name, once it has begun
};

}  // namespace fleetadm::commands
