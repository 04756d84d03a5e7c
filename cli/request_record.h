// What a person may want to know of a command's requests: that one is tried again (once, where it takes long), all of them in a
// file (--trace), and where the time went (--profile).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "cli/activity.h"
#include "kubeclient/base/owned_fd.h"
#include "kubeclient/transport/observer.h"

namespace fleetadm::cli {

class RequestRecord final : public kube::RequestObserver {
 public:
  using Say = std::function<void(const std::string& line)>;

  /// `trace`: a file that is begun anew, readable by its owner only; empty: none.
  static Result<std::shared_ptr<RequestRecord>> open(const std::string& trace, Say say);
  explicit RequestRecord(Say say) : say_(std::move(say)) {}
  /// Tells `activity` of the requests; before the first one.
  void keep_informed(std::shared_ptr<Activity> activity) { activity_ = std::move(activity); }

  void sent() override;
  void answered() override;

  void ended(const kube::RequestFacts& facts) override;
  void retrying(const kube::RetryFacts& facts) override;

  /// "7 requests, 61.0 ms in total, 12.3 KiB received; slowest 31.0 ms: GET https://…"
  std::string summary() const;
  /// Why the trace is not complete; empty where it is.
  std::string trouble() const;

 private:
  Say say_;
  std::shared_ptr<Activity> activity_;
  mutable std::mutex mutex_;
  OwnedFd trace_;
  std::string trouble_;
  bool told_ = false;
  std::size_t requests_ = 0;
  std::size_t received_ = 0;
  Duration total_{};
  Duration slowest_{};
  std::string slowest_name_;
};

/// Where a command's time went, for --profile.
class Profile {
 public:
  Profile() : begun_(std::chrono::steady_clock::now()), last_(begun_) {}
  /// Ends a phase, which began where the one before ended. `detail` is a line of its own below it.
  void phase(const std::string& name, const std::string& detail = {});
  /// All phases, then the whole, with the processor's time and the most memory.
  std::string text() const;

 private:
  std::chrono::steady_clock::time_point begun_;
  std::chrono::steady_clock::time_point last_;
  std::string lines_;
};

}  // namespace fleetadm::cli
