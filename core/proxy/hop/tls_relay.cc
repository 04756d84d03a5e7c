#include "core/proxy/hop/tls_relay.h"

#include <boost/asio/steady_timer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/proxy/hop/local_pipe.h"

namespace fleetadm::proxy {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using Step = serve::SocketStream::Step;

constexpr std::size_t kPiece = std::size_t{32} * 1024;
constexpr std::size_t kMostHeld = 4 * kPiece;  // that came and were not taken

class TlsRelay : public std::enable_shared_from_this<TlsRelay> {
 public:
  TlsRelay(std::shared_ptr<asio::ssl::context> context, std::unique_ptr<serve::SocketStream> stream, tcp::socket socket)
      : context_(std::move(context)), socket_(std::move(socket)), stream_(std::move(stream)), life_(socket_.get_executor()) {}

  Result<tcp::socket> start(const asio::any_io_executor& executor) {
    LocalPipe::Events events;
    events.read = [weak = weak_from_this()](std::string_view bytes) {
      const auto self = weak.lock();
      if (!self || self->ended_) return;
      self->outgoing_ += bytes;
      self->send();
    };
    events.taken = [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->receive();
    };
    events.closed = [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->end();
    };
    FLEETADM_TRY(LocalPipe::Ends ends, LocalPipe::make(executor, std::move(events)));
    pipe_ = std::move(ends.pipe);
    // Until one of the two ends does, or the executor.
    life_.expires_at(asio::steady_timer::time_point::max());
    life_.async_wait([self = shared_from_this()](const boost::system::error_code&) {});
    pipe_->await();
    wait(Step::kWaitsToRead);
    return std::move(ends.other);
  }

 private:
  void send() {
    if (ended_) return;
    const auto moved = stream_->write(outgoing_);
    outgoing_.erase(0, moved.bytes);
    if (moved.step == Step::kEnded) return end();
    if (moved.step != Step::kDone || !outgoing_.empty()) return wait(Step::kWaitsToWrite);
    pipe_->await();
  }

  void receive() {
    while (!ended_ && pipe_->held() < kMostHeld) {
      const auto moved = stream_->read(piece_);
      if (moved.bytes > 0) pipe_->write({piece_.data(), moved.bytes});
      if (moved.step == Step::kEnded) return end();
      if (moved.step != Step::kDone) return wait(moved.step);
    }
  }

  void wait(Step step) {
    bool& waiting = step == Step::kWaitsToWrite ? waits_to_write_ : waits_to_read_;
    if (std::exchange(waiting, true)) return;
    const auto what = step == Step::kWaitsToWrite ? tcp::socket::wait_write : tcp::socket::wait_read;
    socket_.async_wait(what, [self = shared_from_this(), &waiting](const boost::system::error_code& error) {
      waiting = false;
      if (self->ended_) return;
      if (error) return self->end();
      if (&waiting == &self->waits_to_write_) {
        self->send();
      } else {
        self->receive();
      }
    });
  }

  void end() {
    if (std::exchange(ended_, true)) return;
    life_.cancel();
    boost::system::error_code ignored;
    socket_.close(ignored);
    pipe_->finish();
    pipe_.reset();
  }

  std::shared_ptr<asio::ssl::context> context_;
  tcp::socket socket_;
  std::unique_ptr<serve::SocketStream> stream_;
  asio::steady_timer life_;
  std::shared_ptr<LocalPipe> pipe_;
  std::string outgoing_;
  std::vector<char> piece_ = std::vector<char>(kPiece);
  bool waits_to_read_ = false;
  bool waits_to_write_ = false;
  bool ended_ = false;
};

}  // namespace

Result<tcp::socket> relay_tls(const asio::any_io_executor& executor, std::shared_ptr<asio::ssl::context> context,
                              std::unique_ptr<serve::SocketStream> stream, tcp::socket socket) {
  return std::make_shared<TlsRelay>(std::move(context), std::move(stream), std::move(socket))->start(executor);
}

}  // namespace fleetadm::proxy
