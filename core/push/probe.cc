#include "core/push/probe.h"

#include <mutex>
#include <optional>
#include <utility>

namespace fleetadm::push {

/// One look: up to three requests after one another. All of it but cancel() runs on the I/O thread.
class Prober::Run : public std::enable_shared_from_this<Run> {
 public:
  Run(std::shared_ptr<kube::Transport> member, std::shared_ptr<kube::IoLoop> loop, std::function<void(Look)> done)
      : member_(std::move(member)), loop_(std::move(loop)), done_(std::move(done)) {}

  void start(Duration timeout) {
    loop_->post([self = shared_from_this(), timeout] {
      self->timer_ = self->loop_->after(timeout, [self, timeout] {
        self->finish({Seen::kUnreachable, 0, "it did not answer within " + format_duration(timeout)});
      });
      self->ask(kReadyPath);
    });
  }

  bool ended() const {
    const std::lock_guard lock(mutex_);
    return !done_;
  }

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

  void finish(const Look& look) {
    let_go();
    const std::lock_guard lock(mutex_);
    if (const auto done = std::exchange(done_, nullptr)) done(look);
  }

  void let_go() {
    loop_->cancel(timer_);
    asked_ = nullptr;
    stream_.reset();
  }

  const std::shared_ptr<kube::Transport> member_;
  const std::shared_ptr<kube::IoLoop> loop_;
  std::unique_ptr<kube::StreamHandle> stream_;
  std::uint64_t timer_ = 0;
  const char* asked_ = nullptr;
  Look ready_;
  mutable std::mutex mutex_;
  std::function<void(Look)> done_;  // empty: it has ended
};

Prober::Prober(std::shared_ptr<kube::Transport> member, Duration timeout, std::shared_ptr<kube::IoLoop> loop)
    : member_(std::move(member)), timeout_(timeout), loop_(std::move(loop)) {}

Prober::~Prober() {
  const std::lock_guard lock(mutex_);
  if (run_) run_->cancel();
}

void Prober::begin(std::function<void(Look)> done) {
  const std::lock_guard lock(mutex_);
  if (run_ && !run_->ended()) return;
  run_ = std::make_shared<Run>(member_, loop_, std::move(done));
  run_->start(timeout_);
}

}  // namespace fleetadm::push
