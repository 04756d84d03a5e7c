// The body of an answer on its way from a tunnel to whoever reads it, and after an upgrade, the bytes both ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/serve/http/upgrade.h"

namespace fleetadm::proxy {

/// I/O thread only. What the tunnel's flow control lets come is held; it gives all of that before it says that the rest is
/// missing.
class TunnelBody final : public serve::UpgradedStream {
 public:
  /// The tunnel it comes from. It calls nothing back at once.
  class Source {
   public:
    virtual ~Source() = default;
    /// So much was read, and the agent may send as much again.
    virtual void consumed(std::int32_t stream, std::size_t bytes) = 0;
    /// Nobody reads it any more. The stream may be over.
    virtual void dropped(std::int32_t stream) = 0;
    /// After an upgrade:
    virtual void send(std::int32_t stream, std::string_view bytes) = 0;
    virtual bool can_send(std::int32_t stream) const = 0;
  };

  TunnelBody(std::weak_ptr<Source> source, std::int32_t stream) : source_(std::move(source)), stream_(stream) {}
  ~TunnelBody() override;
  TunnelBody(const TunnelBody&) = delete;
  TunnelBody& operator=(const TunnelBody&) = delete;

  More read(std::string& into, std::size_t most) override;
  void on_ready(std::function<void()> wake) override { wake_ = std::move(wake); }
  void begin(const serve::WatchDescriptor& /*watch*/) override {}
  bool take(std::string_view bytes) override;
  bool takes() const override;

  // For the source, which calls wake() after changes:
  void push(std::string_view bytes) { held_ += bytes; }
  void end(bool whole) {
    if (end_ == More::kLater) end_ = whole ? More::kEnd : More::kCut;
  }
  bool is_whole() const { return end_ == More::kEnd; }
  std::size_t size() const { return held_.size() - begin_; }
  void wake() const;

 private:
  std::weak_ptr<Source> source_;
  const std::int32_t stream_;
  std::string held_;
  std::size_t begin_ = 0;  // of what was not read yet
  More end_ = More::kLater;
  std::function<void()> wake_;
};

}  // namespace fleetadm::proxy
