// Weights (A.6.1), built-in prioritizers (A.6.2, A.6.3) and scores of add-ons (A.6.4).
#include <algorithm>
#include <limits>

#include "core/placement/numbers.h"
#include "core/placement/stages.h"

namespace fleetadm::placement {
namespace {

constexpr std::string_view kBalance = "Balance";
constexpr std::string_view kSteady = "Steady";
constexpr std::string_view kCpu = "ResourceAllocatableCPU";
constexpr std::string_view kMemory = "ResourceAllocatableMemory";
constexpr std::int64_t kMaxScore = 100;
constexpr std::int64_t kMinScore = -100;

Verdict misconfigured(std::string message) { return {Code::kMisconfigured, {}, std::move(message)}; }

// Weights and values are 32-bit on the wire; nothing holds a hand-made file to that.
std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrapping_multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// Takes the score of the i-th cluster into its sum and the record.
class Sheet {
 public:
  Sheet(const PassContext& context, const std::vector<Slot>& clusters, std::int64_t weight, std::vector<std::int64_t>& sums,
        Scores* record)
      : context_(context), clusters_(clusters), weight_(weight), sums_(sums), record_(record) {}
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

void balance(const PassContext& context, const std::vector<Slot>& clusters, Sheet& sheet) {
  const auto count_of = [&](Slot slot) { return context.world.decision_count(slot) - context.own_count[slot]; };
  std::int64_t most = 0;
  for (Slot slot = 0; slot < context.world.slots(); ++slot) most = std::max(most, count_of(slot));
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    const std::int64_t count = count_of(clusters[i]);
    std::int64_t score = kMaxScore;
    if (count != 0) {
      const double share = 0.5 - static_cast<double>(count) / static_cast<double>(most);
      score = 2 * truncate(100.0 * share);  // cut before it is doubled, so scores are even
    }
    sheet.set(i, score);
  }
}

Verdict steady(const PassContext& context, const std::vector<Slot>& clusters, Sheet& sheet) {
  if (const auto errors = label_value_errors(context.placement.name); !errors.empty()) {
    return {Code::kError, std::string(kSteady),
            "values[0][cluster.open-cluster-management.io/placement]: Invalid value: " + go_quote(context.placement.name) + ": " +
                errors.front()};
  }
  for (std::size_t i = 0; i < clusters.size(); ++i) sheet.set(i, context.decided(clusters[i]) ? kMaxScore : 0);
  return {};
}

void allocatable(const PassContext& context, const std::vector<Slot>& clusters, std::optional<double> Cluster::*figure,
                 Sheet& sheet) {
  double least = std::numeric_limits<double>::max();
  double most = std::numeric_limits<double>::lowest();
  for (const Slot slot : clusters) {
    const std::optional<double>& value = context.world.cluster(slot)->*figure;
    if (!value) continue;
    least = std::min(least, *value);
    most = std::max(most, *value);
  }
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    const std::optional<double>& value = context.world.cluster(clusters[i])->*figure;
    if (!value) continue;  // no entry: it stays in the middle
    sheet.set(i, most - least != 0 ? truncate(((*value - least) / (most - least) - 0.5) * 2.0 * 100.0) : kMaxScore);
  }
}

Verdict addon_scores(const PassContext& context, const WeightedPrioritizer& prioritizer, const std::vector<Slot>& clusters,
                     Sheet& sheet, std::optional<Instant>& expires_at) {
  std::vector<std::string> expired;
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    std::int64_t value = 0;
    if (const Score* score = context.world.score(clusters[i], prioritizer.addon->resource); score != nullptr) {
      if (score->valid_until && context.now > *score->valid_until) {
        expired.push_back(score->ns + "/" + score->name);
      } else {
        for (const auto& [name, of] : score->items) {
          if (name == prioritizer.addon->score) value = of;
        }
        if (score->valid_until && (!expires_at || *score->valid_until < *expires_at)) expires_at = score->valid_until;
      }
    }
    sheet.set(i, value);
  }
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
  if (prioritizer.name == kCpu) allocatable(context, clusters, &Cluster::cpu, sheet);
  if (prioritizer.name == kMemory) allocatable(context, clusters, &Cluster::memory, sheet);
  return {};
}

}  // namespace fleetadm::placement
