#include "commands/framework/push_health.h"

#include <array>

namespace fleetadm::commands {
namespace {

constexpr Duration kShortestPeriod = std::chrono::seconds(1);
constexpr Duration kLongestPeriod = std::chrono::minutes(1);
constexpr Duration kLongestHold = std::chrono::hours(1);
constexpr Duration kSoonestEnd = std::chrono::seconds(10);

struct Setting {
  const char* flag;
  Duration PushHealthOptions::*value;
};
constexpr std::array<Setting, 4> kSettings{{{"--probe-period", &PushHealthOptions::probe_period},
                                            {"--failure-hold", &PushHealthOptions::failure_hold},
                                            {"--success-hold", &PushHealthOptions::success_hold},
                                            {"--give-up-after", &PushHealthOptions::give_up_after}}};

}  // namespace

void bind_push_health(FlagSet& flags, PushHealthOptions& options) {
  flags.duration(&options.probe_period, "probe-period",
                 "With --push, the time between two probes of a cluster that is well: one that hangs is found out by the next; "
                 "one that breaks its connections is, at once");
  flags.duration(&options.failure_hold, "failure-hold",
                 "With --push, how long a cluster must not answer before it counts as unavailable; the annotation "
                 "fleetadm.io/failure-hold of a cluster comes first");
  flags.duration(&options.success_hold, "success-hold",
                 "With --push, how long a cluster must answer again before it counts as available; the annotation "
                 "fleetadm.io/success-hold of a cluster comes first");
  flags
      .duration(&options.give_up_after, "give-up-after",
                "With --push, how long the hub tries to connect a cluster that cannot be connected, until another credential "
                "comes or `fleetadm cluster reconnect` asks for it")
      .default_text = "no limit";
}

Status validate_push_health(const PushHealthOptions& options, bool push) {
  const PushHealthOptions usual;
  for (const auto& [flag, value] : kSettings) {
    if (!push && options.*value != usual.*value) return fail(Category::kUsage, std::string(flag) + " requires --push");
  }
  if (options.probe_period < kShortestPeriod || options.probe_period > kLongestPeriod)
    return fail(Category::kUsage,
                "--probe-period must be between " + format_duration(kShortestPeriod) + " and " + format_duration(kLongestPeriod));
  for (const auto& [flag, value] : {kSettings[1], kSettings[2]}) {
    if (options.*value < Duration::zero() || options.*value > kLongestHold)
      return fail(Category::kUsage, std::string(flag) + " must be between 0s and " + format_duration(kLongestHold));
  }
  if (options.give_up_after != Duration::zero() && options.give_up_after < kSoonestEnd)
    return fail(Category::kUsage, "--give-up-after must be at least " + format_duration(kSoonestEnd));
  return {};
}

std::vector<std::string> push_health_args(const PushHealthOptions& options) {
  const PushHealthOptions usual;
  std::vector<std::string> args;
  for (const auto& [flag, value] : kSettings) {
    if (options.*value != usual.*value) args.push_back(std::string(flag) + "=" + format_duration(options.*value));
  }
  return args;
}

}  // namespace fleetadm::commands
