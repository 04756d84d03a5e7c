// What a server counts of itself, in Prometheus' text format under kube-apiserver's names (GET /metrics). Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "core/sandbox/api/read.h"

namespace fleetadm::sandbox {

class RequestMetrics {
 public:
  /// A request that is being answered, for as long as this lives. Of a stream: until it begins.
  class Running {
   public:
    explicit Running(std::atomic<std::int64_t>& count) : count_(count) { ++count_; }
    ~Running() { --count_; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    std::atomic<std::int64_t>& count_;
  };

  Running begin(const serve::HttpRequest& http);
  /// `kind` is what the request was for; null of paths that are no resource and of resources that are not served, which all
  /// count as one: a client's words make no series.
  void count(const serve::ApiRequest& request, const Kind* kind, int status);
  /// With the number of objects of each resource, and what the process takes of the machine.
  std::string text(const ApiState& state) const;

 private:
  std::array<std::atomic<std::int64_t>, 2> running_{};  // reading, writing
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> totals_;  // by labels
};

}  // namespace fleetadm::sandbox
