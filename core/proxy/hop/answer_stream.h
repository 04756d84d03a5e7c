// The body of an answer on its way from a connection to whoever reads it, and after an upgrade, the bytes both ways.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/serve/http/upgrade.h"

namespace fleetadm::proxy {

/// I/O thread only. Unlike a BodyPipe it gives all that has come before it says that the rest is missing.
class AnswerStream final : public serve::UpgradedStream {
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
  AnswerStream(const AnswerStream&) = delete;
  AnswerStream& operator=(const AnswerStream&) = delete;

  More read(std::string& into, std::size_t most) override;
  void on_ready(std::function<void()> wake) override { wake_ = std::move(wake); }
  void begin(const serve::WatchDescriptor& /*watch*/) override {}
  bool take(std::string_view bytes) override;
  bool takes() const override;

  // For the source, which calls wake() after changes:
  std::string& held() { return held_; }
  bool full() const { return held_.size() - begin_ >= window_; }
  void end(bool whole) { end_ = whole ? More::kEnd : More::kCut; }
  void wake() const;

 private:
  std::weak_ptr<Source> source_;
  const std::size_t window_;
  std::string held_;
  std::size_t begin_ = 0;  // of what was not read yet
  More end_ = More::kLater;
  std::function<void()> wake_;
};

}  // namespace fleetadm::proxy
