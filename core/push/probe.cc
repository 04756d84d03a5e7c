#include "core/push/probe.h"

#include <mutex>
#include <optional>
#include <utility>

namespace fleetadm::push {
namespace {

using Steady = std::chrono::steady_clock;

constexpr Duration kBeat = std::chrono::milliseconds(500);

/// Looks at many members begin together: that wakes the thread once, and not for each.
Duration until_next(Duration period) {
  if (period < 2 * kBeat) return period;
  const auto now = Steady::now();
  return std::chrono::ceil<std::chrono::duration<Duration::rep, std::ratio<1, 2>>>(now + period) - now;
}

}  // namespace

/// A look is up to three requests after one another. All of it but what is said to be of any thread runs on the I/O thread.
class Prober::Run : public std::enable_shared_from_this<Run> {
 public:
  Run(const Prober& of, Done done)
      : member_(of.member_), loop_(of.loop_), clock_(of.clock_), timeout_(of.timeout_), done_(std::move(done)) {}

  /// Any thread; once.
  void start() {
    asking_ = true;
    loop_->post([self = shared_from_this()] { self->look(); });
  }
  /// Any thread; once.
  void start_later(Duration period, IsNews is_news) {
    period_ = period;
    is_news_ = std::move(is_news);
    loop_->post([self = shared_from_this()] { self->wait(); });
  }

  /// Any thread. Whether a look is under way, which is told whatever it finds.
  bool tell_this() {
    const std::lock_guard lock(mutex_);
    if (!done_ || !asking_) return false;
    is_news_ = nullptr;
    return true;
  }

  /// Any thread. Whether it looks for news alone.
  bool keeps_looking() const {
    const std::lock_guard lock(mutex_);
    return is_news_ != nullptr;
  }

  /// Any thread.
  void cancel() {
    {
      const std::lock_guard lock(mutex_);
      done_ = nullptr;
    }
    loop_->post([self = shared_from_this()] { self->let_go(); });
  }

 private:
  /// Its answer comes on the I/O thread, from within the stream that answer() ends: later, then.
  class Sink final : public kube::StreamSink {
   public:
    Sink(std::shared_ptr<Run> run, const char* path) : run_(std::move(run)), path_(path) {}
    void on_response(int status, const std::map<std::string, std::string>& /*headers*/) override { status_ = status; }
    void on_data(std::string_view /*chunk*/) override {}
    void on_end(std::optional<Error> error) override {
      if (!run_) return;
      // What answered has answered, however its text ends.
      const Look look = error && status_ == 0 ? look_of(*error) : look_of(path_, status_);
      run_->loop_->post([run = std::exchange(run_, nullptr), path = path_, look] { run->answered(path, look); });
    }

   private:
    std::shared_ptr<Run> run_;
    const char* path_;
    int status_ = 0;
  };

  bool ended() const {
    const std::lock_guard lock(mutex_);
    return !done_;
  }

  void wait() {
    if (ended()) return;
    timer_ = loop_->after(until_next(period_), [self = shared_from_this()] {
      {
        const std::lock_guard lock(self->mutex_);
        self->asking_ = true;
      }
      self->look();
    });
  }

  void look() {
    if (ended()) return;
    timer_ = loop_->after(timeout_, [self = shared_from_this()] {
      self->finish({Seen::kUnreachable, 0, "it did not answer within " + format_duration(self->timeout_)});
    });
    begun_ = clock_->now();
    ask(kReadyPath);
  }

  void ask(const char* path) {
    if (ended()) return;
    asked_ = path;
    kube::Request request;
    request.path = path;
    request.accept = "*/*";
    request.timeout = Duration::zero();
    stream_ = member_->stream(request, std::make_shared<Sink>(shared_from_this(), path));
  }

  void answered(const char* path, const Look& look) {
    if (path != asked_) return;
    if (path == kReadyPath) {
      ready_ = look;
      return look.seen == Seen::kNotReady ? ask(kLivePath) : finish(look);
    }
    if (path == kLivePath && is_unknown(look)) return ask(kHealthPath);
    finish(look_of_both(ready_, look));
  }

  void finish(Look look) {
    let_go();
    look.asked = begun_;
    {
      const std::lock_guard lock(mutex_);
      if (!done_) return;
      asking_ = false;
      if (!is_news_ || is_news_(look)) return std::exchange(done_, nullptr)(std::move(look));
    }
    wait();
  }

  void let_go() {
    loop_->cancel(timer_);
    asked_ = nullptr;
    stream_.reset();
  }

  const std::shared_ptr<kube::Transport> member_;
  const std::shared_ptr<kube::IoLoop> loop_;
  const std::shared_ptr<Clock> clock_;
  const Duration timeout_;
  Duration period_{};
  std::unique_ptr<kube::StreamHandle> stream_;
  std::uint64_t timer_ = 0;
  const char* asked_ = nullptr;
  Instant begun_{};
  Look ready_;
  mutable std::mutex mutex_;
  bool asking_ = false;
  IsNews is_news_;  // empty: whatever is found is told
  Done done_;       // empty: it has ended
};

Prober::Prober(std::shared_ptr<kube::Transport> member, Duration timeout, std::shared_ptr<Clock> clock,
               std::shared_ptr<kube::IoLoop> loop)
    : member_(std::move(member)), timeout_(timeout), clock_(std::move(clock)), loop_(std::move(loop)) {}

Prober::~Prober() {
  const std::lock_guard lock(mutex_);
  if (run_) run_->cancel();
}

bool Prober::begin(Done done) {
  const std::lock_guard lock(mutex_);
  if (run_ && run_->tell_this()) return false;
  if (run_) run_->cancel();
  run_ = std::make_shared<Run>(*this, std::move(done));
  run_->start();
  return true;
}

void Prober::keep_looking(Duration period, IsNews is_news, Done done) {
  const std::lock_guard lock(mutex_);
  if (run_) run_->cancel();
  run_ = std::make_shared<Run>(*this, std::move(done));
  run_->start_later(period, std::move(is_news));
}

void Prober::stop_looking() {
  const std::lock_guard lock(mutex_);
  if (run_ && run_->keeps_looking()) run_->cancel();
}

}  // namespace fleetadm::push
