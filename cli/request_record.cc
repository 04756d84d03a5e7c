#include "cli/request_record.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "cli/terminal.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/plural.h"

namespace fleetadm::cli {
namespace {

constexpr Duration kPatience = std::chrono::seconds(3);  // a shorter wait is not worth a line

std::string fixed(double value, const char* unit) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, unit);
  return text.data();
}

double milliseconds_of(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

std::string kibibytes(std::size_t bytes) { return fixed(static_cast<double>(bytes) / 1024, "KiB"); }

/// When a request began, by the wall's clock.
Instant instant_of(std::chrono::steady_clock::time_point time) {
  const auto ago = std::chrono::steady_clock::now() - time;
  return Clock::system()->now() - std::chrono::duration_cast<Instant::duration>(ago);
}

}  // namespace

Result<std::shared_ptr<RequestRecord>> RequestRecord::open(const std::string& trace, Say say) {
  auto record = std::make_shared<RequestRecord>(std::move(say));
  if (trace.empty()) return record;
  OwnedFd file(::open(trace.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0)
    return fail(Category::kUsage, "cannot write --trace \"" + trace + "\": " + std::strerror(errno));
  // A file that was there before may be readable by others.
  if (S_ISREG(facts.st_mode) && ::fchmod(file.get(), S_IRUSR | S_IWUSR) != 0)
    return fail(Category::kUsage, "cannot make --trace \"" + trace + "\" private: " + std::strerror(errno));
  record->trace_ = std::move(file);
  return record;
}

void RequestRecord::sent() {
  if (activity_) activity_->sent();
}

void RequestRecord::answered() {
  if (activity_) activity_->answered();
}

void RequestRecord::ended(const kube::RequestFacts& facts) {
  const std::string method(to_string(facts.method));
  const std::lock_guard lock(mutex_);
  ++requests_;
  received_ += facts.received;
  total_ += facts.took;
  if (facts.took > slowest_) {
    slowest_ = facts.took;
    slowest_name_ = method + " " + facts.url;
  }
  if (!trace_) return;
  Json line{{"time", format_time(instant_of(facts.begun))},
            {"method", method},
            {"url", facts.url},
            {"status", facts.status},
            {"milliseconds", std::round(milliseconds_of(facts.took) * 1000) / 1000},
            {"sentBytes", facts.sent},
            {"receivedBytes", facts.received}};
  if (!facts.id.empty()) line["id"] = facts.id;
  if (!facts.error.empty()) line["error"] = facts.error;
  if (!write_all(trace_.get(), dump_json(line) + "\n")) {
    trouble_ = std::string("the trace is not complete: ") + std::strerror(errno);
    trace_.close();
  }
}

void RequestRecord::retrying(const kube::RetryFacts& facts) {
  if (facts.waited + facts.delay < kPatience) return;
  {
    const std::lock_guard lock(mutex_);
    if (told_) return;
    told_ = true;
  }
  const std::string who = facts.error.cluster.empty() ? "the server" : facts.error.cluster;
  std::string line = facts.error.code == 0     ? "Cannot reach " + who
                     : facts.error.code == 429 ? "Throttled by " + who
                                               : "No answer yet from " + who;
  line += " (" + facts.error.message + "); trying again";
  if (facts.left > Duration::zero()) {
    const auto left = std::max(std::chrono::duration_cast<std::chrono::seconds>(facts.left), std::chrono::seconds(1));
    line += " for up to " + format_duration(left);
  }
  if (say_) say_(line + ".");
}

std::string RequestRecord::summary() const {
  const std::lock_guard lock(mutex_);
  std::string text = pluralize(requests_, "request");
  if (requests_ == 0) return text;
  return text + ", " + fixed(milliseconds_of(total_), "ms") + " in total, " + kibibytes(received_) + " received; slowest " +
         fixed(milliseconds_of(slowest_), "ms") + ": " + slowest_name_;
}

std::string RequestRecord::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void Profile::phase(const std::string& name, const std::string& detail) {
  const auto now = std::chrono::steady_clock::now();
  lines_ += "profile: " + name + " " + fixed(milliseconds_of(now - last_), "ms") + "\n";
  if (!detail.empty()) lines_ += "profile:   " + detail + "\n";
  last_ = now;
}

std::string Profile::text() const {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto milliseconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1000 + static_cast<double>(time.tv_usec) / 1000;
  };
  return lines_ + "profile: total " + fixed(milliseconds_of(std::chrono::steady_clock::now() - begun_), "ms") + ", CPU " +
         fixed(milliseconds(used.ru_utime) + milliseconds(used.ru_stime), "ms") + ", peak memory " +
         fixed(static_cast<double>(used.ru_maxrss) / 1024, "MiB") + "\n";
}

}  // namespace fleetadm::cli
