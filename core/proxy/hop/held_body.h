// The body of an answer on its way from where it comes to whoever reads it, and after an upgrade, the bytes both ways.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/serve/http/byte_queue.h"
#include "core/serve/http/upgrade.h"

namespace fleetadm::proxy {

/// I/O thread only. Unlike a BodyPipe it gives all that has come before it says that the rest is missing.
class HeldBody : public serve::UpgradedStream {
 public:
  HeldBody() = default;
  HeldBody(const HeldBody&) = delete;
  HeldBody& operator=(const HeldBody&) = delete;

  More read(std::string& into, std::size_t most) final;
  void on_ready(std::function<void()> wake) final;
  void begin(const serve::WatchDescriptor& /*watch*/) final {}
  bool take(std::string_view bytes) final { return end_ == More::kLater && send(bytes); }

  // For the source, which calls wake() after changes:
  void push(std::string_view bytes) { held_.append(bytes); }
  /// Where it may write at the end; about so much.
  std::string& tail(std::size_t coming) { return held_.tail(coming); }
  std::size_t size() const { return held_.size(); }
  /// Once; what comes behind it is nothing.
  void end(bool whole) {
    if (end_ == More::kLater) end_ = whole ? More::kEnd : More::kCut;
  }
  bool is_whole() const { return end_ == More::kEnd; }
  void wake() const;

 private:
  /// So much is held no more.
  virtual void was_read(std::size_t bytes) = 0;
  /// False: the source is gone.
  virtual bool send(std::string_view bytes) = 0;

  serve::ByteQueue held_;
  More end_ = More::kLater;
  // Null: nobody. Shared by whoever calls it, as it may be replaced meanwhile.
  std::shared_ptr<const std::function<void()>> wake_;
};

}  // namespace fleetadm::proxy
