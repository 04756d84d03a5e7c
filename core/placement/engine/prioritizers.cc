// Weights, built-in prioritizers and scores of add-ons (docs/reference/placement.md#prioritizers).
#include <algorithm>
#include <limits>

#include "core/placement/engine/score.h"
#include "core/placement/engine/stages.h"
#include "kubeclient/base/go_numbers.h"
#include "kubeclient/base/names.h"

namespace fleetadm::placement {
namespace {

constexpr std::string_view kBalance = "Balance";
constexpr std::string_view kSteady = "Steady";
constexpr std::string_view kCpu = "ResourceAllocatableCPU";
constexpr std::string_view kMemory = "ResourceAllocatableMemory";
constexpr std::int64_t kMinScore = -100;

Verdict misconfigured(std::string message) { return {Code::kMisconfigured, {}, std::move(message)}; }

// Weights and values are 32-bit on the wire; nothing holds a hand-made file to that.
std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrapping_multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// Takes the scores of clusters, by position, into their sums and the record.
class Sheet {
 public:
  Sheet(const PassContext& context, const std::vector<Slot>& clusters, std::int64_t weight, std::vector<std::int64_t>& sums,
        Scores* record)
      : context_(context), clusters_(clusters), weight_(weight), sums_(sums), record_(record) {
    if (record_ != nullptr) record_->reserve(clusters.size());
  }
  void set(std::size_t i, std::int64_t score) {
    sums_[i] = wrapping_add(sums_[i], wrapping_multiply(weight_, score));
    if (record_ != nullptr) record_->emplace_back(context_.world.name_of(clusters_[i]), score);
  }

 private:
  const PassContext& context_;
  const std::vector<Slot>& clusters_;
  std::int64_t weight_;
  std::vector<std::int64_t>& sums_;
  Scores* record_;
};

std::int64_t balance_score(std::int64_t count, std::int64_t most) {
  if (count == 0) return kMaxScore;
  const double share = 0.5 - static_cast<double>(count) / static_cast<double>(most);
  return 2 * truncate(100.0 * share);  // cut before it is doubled, so scores are even
}

void balance(const PassContext& context, const std::vector<Slot>& clusters, Sheet& sheet) {
  const std::vector<std::int64_t> counts = context.world.foreign_counts(context.placement.ns, context.placement.name);
  const std::int64_t most = counts.empty() ? 0 : std::max<std::int64_t>(0, *std::max_element(counts.begin(), counts.end()));
  if (static_cast<std::uint64_t>(most) > clusters.size()) {
    for (std::size_t i = 0; i < clusters.size(); ++i) sheet.set(i, balance_score(counts[clusters[i]], most));
    return;
  }
  std::vector<std::int64_t> by_count(static_cast<std::size_t>(most) + 1);
  for (std::size_t count = 0; count < by_count.size(); ++count)
    by_count[count] = balance_score(static_cast<std::int64_t>(count), most);
  for (std::size_t i = 0; i < clusters.size(); ++i) sheet.set(i, by_count[static_cast<std::size_t>(counts[clusters[i]])]);
}

Verdict steady(const PassContext& context, const std::vector<Slot>& clusters, Sheet& sheet) {
  if (const auto errors = label_value_problems(context.placement.name); !errors.empty()) {
    return {Code::kError, std::string(kSteady),
            "values[0][cluster.open-cluster-management.io/placement]: Invalid value: " + go_quote(context.placement.name) + ": " +
                errors.front()};
  }
  for (std::size_t i = 0; i < clusters.size(); ++i) sheet.set(i, context.decided(clusters[i]) ? kMaxScore : 0);
  return {};
}

using Figure = const double* (FleetState::*)(Slot) const;

void allocatable(const PassContext& context, const std::vector<Slot>& clusters, Figure figure, Sheet& sheet) {
  double least = std::numeric_limits<double>::max();
  double most = std::numeric_limits<double>::lowest();
  for (const Slot slot : clusters) {
    const double* value = (context.world.*figure)(slot);
    if (value == nullptr) continue;
    least = std::min(least, *value);
    most = std::max(most, *value);
  }
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    const double* value = (context.world.*figure)(clusters[i]);
    if (value == nullptr) continue;  // no entry: it stays in the middle
    sheet.set(i, most - least != 0 ? truncate(((*value - least) / (most - least) - 0.5) * 2.0 * 100.0) : kMaxScore);
  }
}

Verdict addon_scores(const PassContext& context, const WeightedPrioritizer& prioritizer, const std::vector<Slot>& clusters,
                     Sheet& sheet, std::optional<Instant>& expires_at) {
  const ScoreColumn& column = context.world.scores(*prioritizer.addon);
  std::vector<std::string> expired;
  Instant first = expires_at.value_or(Instant::max());
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    const ScoreColumn::Cell& cell = column.at(clusters[i]);
    if (context.now > cell.valid_until) {
      expired.push_back(context.world.name_of(clusters[i]) + "/" + prioritizer.addon->resource);
      sheet.set(i, 0);
      continue;
    }
    first = std::min(first, cell.valid_until);
    sheet.set(i, cell.value);
  }
  if (first != Instant::max()) expires_at = first;
  if (expired.empty()) return {};
  std::sort(expired.begin(), expired.end());
  std::string message = "AddOnPlacementScores";
  for (const std::string& name : expired) message += " " + name;
  return {Code::kWarning, prioritizer.name, message + " expired"};
}

}  // namespace

Verdict prioritizers_of(const Placement& placement, std::vector<WeightedPrioritizer>& into) {
  struct Entry {
    std::string type;
    std::string built_in;
    std::optional<AddonCoordinate> addon;
    std::int64_t weight = 0;
  };
  std::vector<Entry> entries;
  if (placement.mode.empty() || placement.mode == "Additive") {
    entries.push_back({"BuiltIn", std::string(kBalance), {}, 1});
    entries.push_back({"BuiltIn", std::string(kSteady), {}, 1});
  } else if (placement.mode != "Exact") {
    return misconfigured("incorrect prioritizer policy mode: " + placement.mode);
  }
  for (const PrioritizerConfig& config : placement.prioritizers) {
    if (!config.has_coordinate) return misconfigured("scoreCoordinate field is required");
    // An entry replaces an earlier one of the same coordinate; entries that carry an addOn are never the same.
    const auto same = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
      return !entry.addon && !config.addon && entry.type == config.type && entry.built_in == config.built_in;
    });
    if (same != entries.end()) {
      same->weight = config.weight;
    } else {
      entries.push_back({config.type, config.built_in, config.addon, config.weight});
    }
  }
  std::optional<std::string> problem;
  const auto complain = [&](std::string text) {
    if (!problem || text < *problem) problem = std::move(text);
  };
  for (Entry& entry : entries) {
    if (entry.weight == 0) continue;
    if (entry.type == "BuiltIn") {
      if (entry.built_in != kBalance && entry.built_in != kSteady && entry.built_in != kCpu && entry.built_in != kMemory) {
        complain("incorrect builtin prioritizer: " + entry.built_in);
        continue;
      }
      into.push_back({entry.built_in, entry.weight, {}});
    } else if (!entry.addon) {
      complain("addOn should not be empty");
    } else {
      into.push_back({"AddOn/" + entry.addon->resource + "/" + entry.addon->score, entry.weight, entry.addon});
    }
  }
  if (problem) return misconfigured(*problem);
  std::stable_sort(into.begin(), into.end(), [](const WeightedPrioritizer& a, const WeightedPrioritizer& b) {
    return std::tie(a.name, a.weight) < std::tie(b.name, b.weight);
  });
  return {};
}

Verdict score_clusters(const PassContext& context, const WeightedPrioritizer& prioritizer, const std::vector<Slot>& clusters,
                       std::vector<std::int64_t>& sums, Scores* record, std::optional<Instant>& expires_at) {
  Sheet sheet(context, clusters, prioritizer.weight, sums, record);
  if (prioritizer.addon) return addon_scores(context, prioritizer, clusters, sheet, expires_at);
  if (prioritizer.name == kBalance) balance(context, clusters, sheet);
  if (prioritizer.name == kSteady) return steady(context, clusters, sheet);
  if (prioritizer.name == kCpu) allocatable(context, clusters, &FleetState::cpu, sheet);
  if (prioritizer.name == kMemory) allocatable(context, clusters, &FleetState::memory, sheet);
  return {};
}

}  // namespace fleetadm::placement
