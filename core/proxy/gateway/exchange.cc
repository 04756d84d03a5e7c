#include "core/proxy/gateway/exchange.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "core/serve/http/body_pipe.h"
#include "core/serve/http/upgrade.h"

namespace fleetadm::proxy {
namespace {

/// Counts on the way through.
class CountedBody final : public serve::BodyStream {
 public:
  CountedBody(std::shared_ptr<serve::BodyStream> body, std::shared_ptr<Exchange> exchange)
      : body_(std::move(body)), exchange_(std::move(exchange)) {}

  More read(std::string& into, std::size_t most) override { return exchange_->pass_on(*body_, into, most); }
  void on_ready(std::function<void()> wake) override { body_->on_ready(std::move(wake)); }

 private:
  std::shared_ptr<serve::BodyStream> body_;
  std::shared_ptr<Exchange> exchange_;
};

class CountedUpgrade final : public serve::UpgradedStream {
 public:
  CountedUpgrade(std::shared_ptr<serve::UpgradedStream> upgrade, std::shared_ptr<serve::BodyStream> stream,
                 std::shared_ptr<Exchange> exchange)
      : upgrade_(std::move(upgrade)), stream_(stream ? std::move(stream) : upgrade_), exchange_(std::move(exchange)) {}

  More read(std::string& into, std::size_t most) override { return exchange_->pass_on(*stream_, into, most); }
  void on_ready(std::function<void()> wake) override { stream_->on_ready(std::move(wake)); }
  void begin(const serve::WatchDescriptor& watch) override { upgrade_->begin(watch); }
  bool take(std::string_view bytes) override {
    exchange_->record.received += bytes.size();
    exchange_->spend(bytes.size());
    return upgrade_->take(bytes);
  }
  bool takes() const override { return exchange_->may_go_on() && upgrade_->takes(); }

 private:
  std::shared_ptr<serve::UpgradedStream> upgrade_;
  std::shared_ptr<serve::BodyStream> stream_;
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace

Exchange::Exchange(AuditRecord begun, Audit audit) : record(std::move(begun)), audit_(std::move(audit)) {}

Exchange::~Exchange() {
  record.took = std::chrono::steady_clock::now() - began_;
  if (streamed_) record.received += *streamed_;
  if (audit_) audit_(record);
}

void Exchange::count(serve::HttpRequest& request) {
  record.received += request.body.size();
  if (request.content) streamed_ = request.content->count();
}

std::size_t Exchange::room() const {
  if (budgets.empty()) return std::numeric_limits<std::size_t>::max();
  std::size_t room = std::numeric_limits<std::size_t>::max();
  const auto now = std::chrono::steady_clock::now();
  for (const auto& budget : budgets) room = std::min(room, budget->room(now));
  return room;
}

void Exchange::spend(std::size_t bytes) const {
  for (const auto& budget : budgets) budget->spend(bytes);
}

serve::BodyStream::More Exchange::pass_on(serve::BodyStream& body, std::string& into, std::size_t most) {
  // The server asks again after a while, whoever wakes it.
  const auto left = room();
  if (left == 0) return serve::BodyStream::More::kLater;
  const auto before = into.size();
  const auto more = body.read(into, std::min(most, left));
  record.sent += into.size() - before;
  spend(into.size() - before);
  return more;
}

void Exchange::attach(const std::shared_ptr<Exchange>& exchange, serve::HttpResponse& answer) {
  exchange->record.code = answer.status;
  if (answer.upgrade) {
    auto counted = std::make_shared<CountedUpgrade>(std::move(answer.upgrade), std::move(answer.stream), exchange);
    answer.upgrade = counted;
    answer.stream = std::move(counted);
  } else if (answer.stream) {
    answer.stream = std::make_shared<CountedBody>(std::move(answer.stream), exchange);
  } else {
    exchange->record.sent += answer.body.size();
  }
}

}  // namespace fleetadm::proxy
