#include "core/proxy/member/switched_body.h"

#include <functional>
#include <string>
#include <utility>

namespace fleetadm::proxy {
namespace {

constexpr std::size_t kPieceOfSaid = 64 * 1024;

class SwitchedBody final : public serve::BodyStream, public std::enable_shared_from_this<SwitchedBody> {
 public:
  SwitchedBody(std::shared_ptr<serve::UpgradedStream> connection, std::shared_ptr<serve::BodyReader> said)
      : connection_(std::move(connection)), said_(std::move(said)) {}

  void begin() {
    connection_->begin([](int) { return nullptr; });  // it stands on no descriptor of its own
    connection_->on_ready([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->pass_on();
      const auto wake = self->wake_;
      if (wake) wake();
    });
    if (said_) {
      said_->on_ready([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->pass_on();
      });
    }
    pass_on();
  }

  More read(std::string& into, std::size_t most) override {
    if (!connection_) return More::kCut;
    const auto more = connection_->read(into, most);
    pass_on();  // it may take more now
    return more;
  }
  void on_ready(std::function<void()> wake) override { wake_ = std::move(wake); }

 private:
  void pass_on() {
    while (said_ && connection_ && connection_->takes()) {
      std::string piece;
      const auto more = said_->read(piece, kPieceOfSaid);
      if (!piece.empty() && !connection_->take(piece)) return end_said();
      if (more == More::kEnd) return end_said();
      if (more == More::kCut) return cut();
      if (more == More::kLater) return;
    }
  }
  void end_said() {
    said_->on_ready(nullptr);
    said_.reset();
  }
  void cut() {
    end_said();
    connection_->on_ready(nullptr);
    connection_.reset();
    const auto wake = wake_;
    if (wake) wake();
  }

  std::shared_ptr<serve::UpgradedStream> connection_;  // null: it is over
  std::shared_ptr<serve::BodyReader> said_;            // null: nothing more is said to it
  std::function<void()> wake_;
};

}  // namespace

std::shared_ptr<serve::BodyStream> join_switched(std::shared_ptr<serve::UpgradedStream> connection,
                                                 std::shared_ptr<serve::BodyReader> said) {
  auto body = std::make_shared<SwitchedBody>(std::move(connection), std::move(said));
  body->begin();
  return body;
}

}  // namespace fleetadm::proxy
