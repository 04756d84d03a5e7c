#include "core/serve/http/descriptor_watch.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <utility>

namespace fleetadm::serve {
namespace {

class AsioWatch final : public DescriptorWatch {
 public:
  AsioWatch(const boost::asio::any_io_executor& executor, std::function<void()> ready)
      : descriptor_(executor), state_(std::make_shared<State>()) {
    state_->ready = std::move(ready);
  }
  ~AsioWatch() override {
    state_->ready = nullptr;
    if (descriptor_.is_open()) descriptor_.release();  // whoever gave it closes it
  }
  AsioWatch(const AsioWatch&) = delete;
  AsioWatch& operator=(const AsioWatch&) = delete;

  bool open(int descriptor) {
    boost::system::error_code error;
    descriptor_.assign(descriptor, error);
    return !error;
  }
  void await_readable() override { await(boost::asio::posix::descriptor_base::wait_read, &State::reading); }
  void await_writable() override { await(boost::asio::posix::descriptor_base::wait_write, &State::writing); }

 private:
  struct State {  // outlives the watch where it still waits
    std::function<void()> ready;
    bool reading = false;
    bool writing = false;
  };

  void await(boost::asio::posix::descriptor_base::wait_type kind, bool State::*waiting) {
    if (std::exchange(state_.get()->*waiting, true)) return;
    descriptor_.async_wait(kind, [state = state_, waiting](const boost::system::error_code& error) {
      state.get()->*waiting = false;
      if (!error && state->ready) state->ready();
    });
  }

  boost::asio::posix::stream_descriptor descriptor_;
  std::shared_ptr<State> state_;
};

}  // namespace

std::unique_ptr<DescriptorWatch> watch_descriptor(const boost::asio::any_io_executor& executor, int descriptor,
                                                  std::function<void()> ready) {
  try {
    auto watch = std::make_unique<AsioWatch>(executor, std::move(ready));
    if (watch->open(descriptor)) return watch;
  } catch (const std::exception&) {  // out of memory or descriptors: as one that cannot be watched
  }
  return nullptr;
}

}  // namespace fleetadm::serve
