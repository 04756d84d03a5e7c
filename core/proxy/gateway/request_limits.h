// How much a caller, and all callers together of a cluster, may have the gateway do at a time. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kubeclient/base/result.h"

namespace fleetadm::proxy {

struct RequestLimitOptions {
  std::size_t per_caller = 1000;   // requests and streams that are being answered
  std::size_t per_cluster = 2000;  // the same
  double rate = 5000;              // requests a second of a caller; 0: any
  double burst = 10'000;           // on top of what the rate allows
  double caller_bytes = 0;         // a second, that a caller sends and is sent; 0: any
  double cluster_bytes = 0;        // the same of all callers of a cluster
};

/// What may still be sent now. One thread at a time.
class ByteBudget {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// A second's worth at the beginning, and never more than that.
  ByteBudget(double rate, Time now) : rate_(rate), left_(rate), filled_(now) {}
  std::size_t room(Time now);
  void spend(std::size_t bytes) { left_ -= static_cast<double>(bytes); }

 private:
  const double rate_;
  double left_;  // below zero after more than there was room for
  Time filled_;
};

/// Those that apply to one request; the tightest counts. One thread at a time.
class ByteBudgets {
 public:
  void add(std::shared_ptr<ByteBudget> budget) {
    if (budget) budgets_.push_back(std::move(budget));
  }
  bool empty() const { return budgets_.empty(); }
  std::size_t room(ByteBudget::Time now) const;
  void spend(std::size_t bytes) const;

 private:
  std::vector<std::shared_ptr<ByteBudget>> budgets_;
};

/// One thread at a time. A place is taken for as long as what it got lives, also when the limits themselves are gone.
class RequestLimits {
 public:
  using Time = ByteBudget::Time;
  using Place = std::shared_ptr<void>;

  explicit RequestLimits(RequestLimitOptions options) : options_(options) {}

  /// 429 with the time after which to try again.
  Result<Place> enter_caller(const std::string& caller, Time now);
  Result<Place> enter_cluster(const std::string& cluster, Time now);
  /// Of all that runs at a time. Null: there is no limit.
  std::shared_ptr<ByteBudget> bytes_of_caller(const std::string& caller, Time now);
  std::shared_ptr<ByteBudget> bytes_of_cluster(const std::string& cluster, Time now);

  std::size_t callers() const { return callers_->size(); }

 private:
  struct Use {
    std::size_t places = 0;
    double tokens = 0;
    Time filled{};
    std::shared_ptr<ByteBudget> bytes;
  };
  using Uses = std::map<std::string, Use, std::less<>>;

  static std::shared_ptr<ByteBudget> budget_of(Use& use, double rate, Time now);
  static Place take_place(const std::shared_ptr<Uses>& uses, Uses::iterator use);
  void forget_the_idle(Time now);

  RequestLimitOptions options_;
  std::shared_ptr<Uses> callers_ = std::make_shared<Uses>();
  std::shared_ptr<Uses> clusters_ = std::make_shared<Uses>();
  Time looked_{};
};

}  // namespace fleetadm::proxy
