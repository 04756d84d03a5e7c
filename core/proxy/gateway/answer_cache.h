// Answers to slow questions: asked once, however many want to know, and kept for a while.
#pragma once

#include <boost/asio/post.hpp>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/serve/http/server.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/result.h"

namespace fleetadm::proxy {

/// I/O thread only. What fails is not kept.
template <class Value>
class AnswerCache : public std::enable_shared_from_this<AnswerCache<Value>> {
 public:
  struct Answer {
    std::shared_ptr<const Value> value;
    Duration keep{};
  };
  /// On a worker; may block.
  using Question = std::function<Result<Answer>()>;
  using Done = std::function<void(const Result<std::shared_ptr<const Value>>&)>;

  AnswerCache(serve::HttpRuntime& runtime, std::shared_ptr<Clock> clock, std::size_t most)
      : runtime_(runtime), clock_(std::move(clock)), most_(most) {}

  /// `done` is called once: at once where the answer is kept, otherwise later, on the I/O thread.
  void get(const std::string& key, Question question, Done done) {
    if (const auto at = kept_.find(key); at != kept_.end()) {
      const Instant now = clock_->now();
      if (now < at->second.until && now >= at->second.since) return done(at->second.value);
      forget(at);
    }
    auto& waiting = waiting_[key];
    waiting.push_back(std::move(done));
    if (waiting.size() > 1) return;
    const std::weak_ptr<AnswerCache> weak = this->weak_from_this();
    const bool queued = runtime_.work([weak, key, question = std::move(question), &runtime = runtime_] {
      auto answer = std::make_shared<Result<Answer>>();
      runtime.wait_outside([&] { *answer = question(); });
      boost::asio::post(runtime.executor(), [weak, key, answer] {
        if (const auto here = weak.lock()) here->take(key, *answer);
      });
    });
    if (queued) return;
    settle(key, fail({.code = 429,
                      .category = Category::kUnavailable,
                      .message = "the gateway is busy with other callers",
                      .reason = "TooManyRequests",
                      .retry_after_seconds = 1}));
  }

  std::size_t size() const { return kept_.size(); }

 private:
  struct Kept {
    std::shared_ptr<const Value> value;
    Instant since;
    Instant until;
    std::list<std::string>::iterator place;
  };
  using Entry = typename std::unordered_map<std::string, Kept>::iterator;

  void take(const std::string& key, const Result<Answer>& answer) {
    if (!answer) return settle(key, fail(answer.error()));
    if (answer->keep > Duration::zero()) keep(key, *answer);
    settle(key, answer->value);
  }

  void keep(const std::string& key, const Answer& answer) {
    if (const auto at = kept_.find(key); at != kept_.end()) forget(at);
    while (kept_.size() >= most_ && !order_.empty()) forget(kept_.find(order_.front()));
    order_.push_back(key);
    const Instant now = clock_->now();
    kept_.emplace(key, Kept{answer.value, now, now + answer.keep, std::prev(order_.end())});
  }

  void forget(Entry entry) {
    order_.erase(entry->second.place);
    kept_.erase(entry);
  }

  void settle(const std::string& key, const Result<std::shared_ptr<const Value>>& answer) {
    const auto waiting = waiting_.extract(key);
    if (waiting.empty()) return;
    for (const Done& done : waiting.mapped()) done(answer);
  }

  serve::HttpRuntime& runtime_;
  const std::shared_ptr<Clock> clock_;
  const std::size_t most_;
  std::unordered_map<std::string, Kept> kept_;
  std::list<std::string> order_;  // the oldest first
  std::unordered_map<std::string, std::vector<Done>> waiting_;
};

}  // namespace fleetadm::proxy
