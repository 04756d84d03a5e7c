#include "core/proxy/gateway/exchange.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <string_view>
#include <utility>

#include "core/serve/http/body_pipe.h"
#include "core/serve/http/upgrade.h"

namespace fleetadm::proxy {
namespace {

constexpr std::chrono::milliseconds kPace{50};  // between two pieces of a body that has used up its budget

/// Of a request's body. It holds the budgets and not the exchange, which ends with the answer.
class RequestPace final : public serve::BodyPace, public std::enable_shared_from_this<RequestPace> {
 public:
  RequestPace(const boost::asio::any_io_executor& executor, ByteBudgets budgets)
      : timer_(executor), budgets_(std::move(budgets)) {}

  std::size_t room() override { return budgets_.room(std::chrono::steady_clock::now()); }
  void was_read(std::size_t bytes) override { budgets_.spend(bytes); }
  void on_room(std::function<void()> wake) override {
    timer_.expires_after(kPace);
    timer_.async_wait([self = weak_from_this(), wake = std::move(wake)](const boost::system::error_code& error) {
      const auto here = self.lock();
      if (here && !error) wake();
    });
  }

 private:
  boost::asio::steady_timer timer_;
  const ByteBudgets budgets_;
};

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
    exchange_->budgets.spend(bytes.size());
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

void Exchange::slow_down(serve::HttpRequest& request, const boost::asio::any_io_executor& executor) const {
  if (budgets.empty()) return;
  budgets.spend(request.body.size());
  if (request.content) request.content->keep_pace(std::make_shared<RequestPace>(executor, budgets));
}

serve::BodyStream::More Exchange::pass_on(serve::BodyStream& body, std::string& into, std::size_t most) {
  // The server asks again after a while, whoever wakes it.
  const auto left = budgets.room(std::chrono::steady_clock::now());
  if (left == 0) return serve::BodyStream::More::kLater;
  const auto before = into.size();
  const auto more = body.read(into, std::min(most, left));
  record.sent += into.size() - before;
  budgets.spend(into.size() - before);
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
    exchange->budgets.spend(answer.body.size());
  }
}

}  // namespace fleetadm::proxy
