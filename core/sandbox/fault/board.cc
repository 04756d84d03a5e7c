#include "core/sandbox/fault/board.h"

#include <algorithm>

namespace fleetadm::sandbox {
namespace {

constexpr std::size_t kMaxFaults = 1000;

bool names(const std::vector<std::string>& list, const std::string& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

bool names_resource(const std::vector<std::string>& list, const RequestFacts& facts) {
  if (list.empty()) return true;
  const auto sub = facts.subresource.empty() ? std::string() : "/" + facts.subresource;
  // A bare resource means its subresources, too.
  return std::any_of(list.begin(), list.end(), [&](const std::string& one) {
    return one == facts.resource || one == facts.resource + "." + facts.group || one == facts.resource + sub ||
           one == facts.resource + "." + facts.group + sub;
  });
}

}  // namespace

FaultBoard::FaultBoard() : random_(std::random_device{}()) {}

bool FaultBoard::concerns(const Entry& entry, const RequestFacts& facts) const {
  const Fault& fault = entry.fault;
  return names(fault.clusters, facts.cluster) && names(fault.verbs, facts.verb) && names(fault.users, facts.user) &&
         names_resource(fault.resources, facts);
}

/// Drops what has had its time or its number.
void FaultBoard::sweep() {
  const auto now = Steady::now();
  const auto gone = std::erase_if(entries_, [&](const Entry& entry) {
    return (entry.end && *entry.end <= now) || (entry.fault.count > 0 && entry.strikes >= entry.fault.count);
  });
  if (gone > 0) ++generation_;
  any_ = !entries_.empty();
}

bool FaultBoard::roll(Entry& entry) {
  if (entry.fault.count > 0 && entry.strikes >= entry.fault.count) return false;
  if (entry.fault.probability < 1 && std::uniform_real_distribution<>(0, 1)(random_) >= entry.fault.probability) return false;
  ++entry.strikes;
  return true;
}

Result<std::string> FaultBoard::add(Fault fault) {
  FLEETADM_CHECK(check_fault(fault));
  const std::lock_guard lock(mutex_);
  sweep();
  if (entries_.size() >= kMaxFaults) return fail(Category::kUsage, "there are a thousand faults already");
  fault.id = "f" + std::to_string(++last_id_);
  Entry entry;
  entry.since = Steady::now();
  if (fault.lasts > Duration::zero()) entry.end = entry.since + fault.lasts;
  entry.fault = std::move(fault);
  auto id = entry.fault.id;
  entries_.push_back(std::move(entry));
  ++generation_;
  any_ = true;
  return id;
}

std::vector<StandingFault> FaultBoard::list() {
  const std::lock_guard lock(mutex_);
  sweep();
  std::vector<StandingFault> out;
  for (const Entry& entry : entries_)
    out.push_back({entry.fault, entry.strikes, entry.end ? Duration(*entry.end - Steady::now()) : Duration::zero()});
  return out;
}

std::vector<std::string> FaultBoard::clear(const std::vector<std::string>& ids, const std::vector<std::string>& clusters) {
  const std::lock_guard lock(mutex_);
  sweep();
  std::vector<std::string> ended;
  std::erase_if(entries_, [&](Entry& entry) {
    if (!names(ids, entry.fault.id)) return false;
    auto& of = entry.fault.clusters;
    if (!clusters.empty()) {
      if (of.empty()) return false;  // it concerns clusters that are not named
      const auto left = std::erase_if(of, [&](const std::string& one) { return names(clusters, one); });
      if (left == 0 || !of.empty()) return false;
    }
    ended.push_back(entry.fault.id);
    return true;
  });
  ++generation_;
  any_ = !entries_.empty();
  return ended;
}

InjectedFault FaultBoard::strike(const RequestFacts& facts) {
  InjectedFault out;
  if (!any_.load(std::memory_order_relaxed)) return out;
  const std::lock_guard lock(mutex_);
  sweep();
  for (Entry& entry : entries_) {
    const auto kind = entry.fault.kind;
    if (kind > FaultKind::kServerError || !concerns(entry, facts)) continue;
    if (kind != FaultKind::kLatency && out.code != 0) continue;  // the first refusal counts
    if (!roll(entry)) continue;
    if (kind == FaultKind::kLatency) {
      out.delay += std::chrono::duration_cast<std::chrono::milliseconds>(entry.fault.amount);
      continue;
    }
    out.fault = entry.fault.id;
    out.code = kind == FaultKind::kTooManyRequests ? 429 : 500;
    // Whole seconds on the wire: less than one would read as "at once".
    if (out.code == 429) out.retry_after = static_cast<int>(std::chrono::ceil<std::chrono::seconds>(entry.fault.amount).count());
  }
  return out;
}

ClusterTrouble FaultBoard::trouble(const std::string& cluster) {
  ClusterTrouble out;
  const std::lock_guard lock(mutex_);
  sweep();
  for (const Entry& entry : entries_) {
    if (!names(entry.fault.clusters, cluster)) continue;
    if (entry.fault.kind == FaultKind::kPartition) {
      out.partition = true;
      out.silent = entry.fault.silent;
    }
    if (entry.fault.kind == FaultKind::kExpiredCertificate) out.expired_certificate = true;
    if (entry.fault.kind == FaultKind::kClock) out.clock_offset += entry.fault.amount;
  }
  return out;
}

std::optional<FaultBoard::Steady::time_point> FaultBoard::next_end() {
  const std::lock_guard lock(mutex_);
  std::optional<Steady::time_point> out;
  for (const Entry& entry : entries_) {
    if (entry.end && (!out || *entry.end < *out)) out = entry.end;
  }
  return out;
}

std::optional<FaultBoard::Cut> FaultBoard::cut(const RequestFacts& facts, const std::vector<std::string>& escaped) {
  if (!any_.load(std::memory_order_relaxed)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  sweep();
  for (const Entry& entry : entries_) {
    if (entry.fault.kind != FaultKind::kCut || !concerns(entry, facts)) continue;
    if (std::find(escaped.begin(), escaped.end(), entry.fault.id) != escaped.end()) continue;
    return Cut{entry.fault.id, entry.since, entry.fault.amount, entry.fault.bytes};
  }
  return std::nullopt;
}

bool FaultBoard::take_cut(const std::string& id) {
  const std::lock_guard lock(mutex_);
  sweep();
  const auto at = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.fault.id == id; });
  return at != entries_.end() && roll(*at);
}

namespace {

class BreakableStream final : public serve::BodyStream {
 public:
  BreakableStream(std::shared_ptr<serve::BodyStream> body, std::shared_ptr<FaultBoard> board, RequestFacts facts)
      : body_(std::move(body)), board_(std::move(board)), facts_(std::move(facts)), began_(FaultBoard::Steady::now()) {}

  More read(std::string& into, std::size_t most) override {
    look();
    if (cut_ && due()) return break_off();
    const auto before = into.size();
    const auto more = body_->read(into, most);
    const auto size = static_cast<std::int64_t>(into.size() - before);
    if (cut_ && cut_->bytes > 0 && counted_ + size >= cut_->bytes) {
      const auto left = static_cast<std::size_t>(cut_->bytes - counted_);
      if (board_->take_cut(cut_->id)) {
        into.resize(before + left);
        return More::kCut;
      }
      escape();
    }
    counted_ += size;
    return more;
  }
  void on_ready(std::function<void()> wake) override { body_->on_ready(std::move(wake)); }
  bool due(FaultBoard::Steady::time_point now) const override { return cut_ || board_->generation() != seen_ || body_->due(now); }

 private:
  void look() {
    const auto generation = board_->generation();
    if (generation == seen_) return;
    seen_ = generation;
    auto cut = board_->cut(facts_, escaped_);
    if (cut && (!cut_ || cut_->id != cut->id)) counted_ = 0;
    cut_ = std::move(cut);
  }
  bool due() const { return cut_->bytes == 0 && FaultBoard::Steady::now() >= std::max(began_, cut_->since) + cut_->after; }
  void escape() {
    escaped_.push_back(cut_->id);
    cut_ = board_->cut(facts_, escaped_);
    counted_ = 0;
  }
  More break_off() {
    if (board_->take_cut(cut_->id)) return More::kCut;
    escape();
    return More::kLater;
  }

  std::shared_ptr<serve::BodyStream> body_;
  std::shared_ptr<FaultBoard> board_;
  RequestFacts facts_;
  FaultBoard::Steady::time_point began_;
  std::uint64_t seen_ = 0;
  std::optional<FaultBoard::Cut> cut_;
  std::vector<std::string> escaped_;
  std::int64_t counted_ = 0;
};

}  // namespace

std::shared_ptr<serve::BodyStream> breakable(std::shared_ptr<serve::BodyStream> body, std::shared_ptr<FaultBoard> board,
                                             RequestFacts facts) {
  return std::make_shared<BreakableStream>(std::move(body), std::move(board), std::move(facts));
}

}  // namespace fleetadm::sandbox
