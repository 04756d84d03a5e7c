// The body of an answer that comes on a connection of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "core/proxy/hop/held_body.h"

namespace fleetadm::proxy {

/// I/O thread only.
class AnswerStream final : public HeldBody {
 public:
  /// The connection it comes from. It calls nothing back at once.
  class Source {
   public:
    virtual ~Source() = default;
    /// There is room again.
    virtual void read_on() = 0;
    /// Nobody reads that one any more, which may be over.
    virtual void dropped(const AnswerStream* which) = 0;
    /// After an upgrade:
    virtual void send(std::string_view bytes) = 0;
    virtual bool can_send() const = 0;
  };

  /// `window`: the bytes that are held before the source is to wait.
  AnswerStream(std::weak_ptr<Source> source, std::size_t window) : source_(std::move(source)), window_(window) {}
  ~AnswerStream() override;

  bool takes() const override;
  bool full() const { return size() >= window_; }

 private:
  void was_read(std::size_t bytes) override;
  bool send(std::string_view bytes) override;

  std::weak_ptr<Source> source_;
  const std::size_t window_;
};

}  // namespace fleetadm::proxy
