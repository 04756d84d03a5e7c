#include "commands/framework/missing.h"

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace fleetadm::commands {
namespace {

constexpr Duration kPatience = std::chrono::seconds(30);  // for the first lists
constexpr int kDeadlineExitCode = 6;

}  // namespace

std::vector<Error> wait_for_missing(Context& context, const std::string& step, Watched& watched, const Look& look,
                                    Duration timeout) {
  context.progress().begin(step);
  const auto end = std::chrono::steady_clock::now() + timeout;
  if (const Status started = watched.start(kPatience, context.stop()); !started) {
    context.progress().failed(started.error().message);
    return {started.error()};
  }
  while (true) {
    Result<Missing> missing = look(watched);
    if (missing && missing->empty()) {
      Result<std::unique_ptr<Objects>> read = watched.read_now();
      missing = read ? look(**read) : Result<Missing>(tl::unexpected(read.error()));
    }
    if (missing && missing->empty()) {
      context.progress().done();
      return {};
    }
    if (!missing) {
      context.progress().failed(missing.error().message);
      return {missing.error()};
    }
    const bool stopped = context.stop().stop_requested();
    const auto& [cluster, why] = *missing->begin();
    const std::optional<Error> trouble = watched.trouble();
    context.progress().note(trouble ? trouble->message : cluster.empty() ? why : cluster + ": " + why);
    const auto now = std::chrono::steady_clock::now();
    if (!stopped && now < end) {
      watched.wait(end - now, context.stop());
      continue;
    }
    const Category category = stopped ? Category::kCancelled : Category::kTimeout;
    std::vector<Error> failures;
    for (const auto& [late, reason] : *missing) failures.push_back(fail(category, reason).value().with_cluster(late));
    context.progress().failed(stopped ? "stopped" : "timed out after " + format_duration(timeout));
    return failures;
  }
}

void tell_late(Report& report, std::vector<Error> late, std::size_t waited) {
  std::set<std::string> clusters;
  bool only_late = !late.empty() && report.failures.empty();
  for (Error& error : late) {
    clusters.insert(error.cluster);
    only_late = only_late && error.category == Category::kTimeout;
    report.failures.push_back(std::move(error));
  }
  if (only_late && clusters.size() >= waited) report.exit_code = kDeadlineExitCode;
}

}  // namespace fleetadm::commands
