#include "core/proxy/client/fan_out.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "core/proxy/client/gateway_access.h"
#include "kubeclient/rest/client.h"
#include "kubeclient/transport/answer_limit.h"

namespace fleetadm::proxy {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Moment = SteadyClock::time_point;

struct Arrival {
  std::size_t which = 0;
  unsigned attempt = 0;  // an answer to an earlier one is of no use any more
  Result<kube::Response> response;
};

/// Where the I/O thread leaves answers for the thread that waits.
class Inbox {
 public:
  void put(Arrival arrival) {
    const std::scoped_lock lock(mutex_);
    arrivals_.push_back(std::move(arrival));
    ready_.notify_one();
  }
  std::deque<Arrival> take(Moment until, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    ready_.wait_until(lock, stop, until, [&] { return !arrivals_.empty(); });
    return std::exchange(arrivals_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any ready_;
  std::deque<Arrival> arrivals_;
};

class AnswerSink final : public kube::StreamSink {
 public:
  AnswerSink(std::shared_ptr<Inbox> inbox, std::size_t which, unsigned attempt)
      : inbox_(std::move(inbox)), which_(which), attempt_(attempt) {}
  void on_response(int status, const std::map<std::string, std::string>& headers) override {
    response_.status = status;
    response_.headers = headers;
  }
  void on_data(std::string_view chunk) override {
    if (response_.body.size() + chunk.size() <= kube::kMaxAnswer) {
      response_.body += chunk;
      return;
    }
    Error error = fail(Category::kInvalid, "the answer is longer than 64 MiB").value();
    error.reason = kube::kAnswerTooLong;
    on_end(std::move(error));
  }
  void on_end(std::optional<Error> error) override {
    if (ended_) return;
    ended_ = true;
    if (error) {
      inbox_->put({which_, attempt_, fail(std::move(*error))});
    } else {
      inbox_->put({which_, attempt_, std::move(response_)});
    }
  }

 private:
  const std::shared_ptr<Inbox> inbox_;
  const std::size_t which_;
  const unsigned attempt_;
  kube::Response response_;
  bool ended_ = false;
};

struct Asked {
  std::unique_ptr<kube::StreamHandle> handle;
  kube::Request request;  // with the path at the member
  Moment begun;
  Moment until;
  std::optional<Moment> again;  // when a request that was put off is sent again
  unsigned attempt = 0;
  bool running = false;
};

class Run {
 public:
  Run(const FanOut& plan, const kube::Request& first, const std::function<std::optional<kube::Request>(FanOutAnswer)>& next)
      : plan_(plan), first_(first), next_(next), asked_(plan.clusters.size()) {}

  void all() {
    while (done_ < asked_.size()) {
      while (begun_ < asked_.size() && running_ < plan_.at_once) begin(begun_++);
      for (Arrival& arrival : inbox_->take(wake(), plan_.stop)) arrived(std::move(arrival));
      if (plan_.stop.stop_requested()) return cancel();
      pass_time();
    }
  }

 private:
  void begin(std::size_t which) {
    Asked& one = asked_[which];
    one.begun = SteadyClock::now();
    one.until = one.begun + plan_.deadline;
    one.running = true;
    ++running_;
    send(which, first_);
  }

  void send(std::size_t which, kube::Request request) {
    Asked& one = asked_[which];
    one.again.reset();
    one.request = std::move(request);
    ++one.attempt;
    const auto prefix = member_prefix(plan_.clusters[which]);
    if (!prefix) return answered(which, fail(prefix.error()));
    kube::Request sent = one.request;
    sent.path = *prefix + sent.path;
    sent.timeout = std::max<Duration>(one.until - SteadyClock::now(), std::chrono::milliseconds(1));
    one.handle = plan_.gateway.stream(sent, std::make_shared<AnswerSink>(inbox_, which, one.attempt));
  }

  void arrived(Arrival arrival) {
    Asked& one = asked_[arrival.which];
    if (!one.running || one.attempt != arrival.attempt) return;
    one.handle.reset();
    if (!arrival.response && arrival.response.error().category == Category::kTimeout) return time_is_up(arrival.which);
    if (arrival.response && arrival.response->status == 429) {
      const int seconds = std::max(1, kube::error_of(*arrival.response, one.request).retry_after_seconds);
      const Moment again = SteadyClock::now() + std::chrono::seconds(seconds);
      if (again < one.until) {
        one.again = again;
        return;
      }
    }
    answered(arrival.which, std::move(arrival.response));
  }

  void answered(std::size_t which, Result<kube::Response> response) {
    auto more = next_({which, std::move(response), SteadyClock::now() - asked_[which].begun});
    if (more) return send(which, std::move(*more));
    end(which);
  }

  void end(std::size_t which) {
    asked_[which].running = false;
    asked_[which].handle.reset();
    --running_;
    ++done_;
  }

  /// Not asked further, whatever `next` would like to.
  void give_up(std::size_t which, const Error& error) {
    next_({which, fail(error), SteadyClock::now() - asked_[which].begun});
    end(which);
  }

  void time_is_up(std::size_t which) {
    give_up(which, fail(Category::kTimeout, "no answer within " + format_duration(plan_.deadline)).value());
  }

  void pass_time() {
    const Moment now = SteadyClock::now();
    for (std::size_t which = 0; which < begun_; ++which) {
      Asked& one = asked_[which];
      if (!one.running) continue;
      if (one.until <= now) {
        time_is_up(which);
      } else if (one.again && *one.again <= now) {
        send(which, std::move(one.request));
      }
    }
  }

  /// When something is to be done even though nothing has arrived.
  Moment wake() const {
    Moment at = SteadyClock::now() + plan_.deadline;
    for (std::size_t which = 0; which < begun_; ++which) {
      const Asked& one = asked_[which];
      if (one.running) at = std::min({at, one.until, one.again.value_or(one.until)});
    }
    return at;
  }

  void cancel() {
    const Error stopped = fail(Category::kCancelled, "cancelled").value();
    for (std::size_t which = 0; which < asked_.size(); ++which) {
      if (which >= begun_) next_({which, fail(stopped), Duration::zero()});
      if (which < begun_ && asked_[which].running) give_up(which, stopped);
    }
  }

  const FanOut& plan_;
  const kube::Request& first_;
  const std::function<std::optional<kube::Request>(FanOutAnswer)>& next_;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::vector<Asked> asked_;
  std::size_t begun_ = 0;
  std::size_t running_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

void fan_out(const FanOut& plan, const kube::Request& first,
             const std::function<std::optional<kube::Request>(FanOutAnswer answer)>& next) {
  Run(plan, first, next).all();
}

}  // namespace fleetadm::proxy
