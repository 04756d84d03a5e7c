#include <array>
#include <utility>

#include "core/serve/streams/channel_link.h"
#include "kubeclient/stream/spdy.h"

namespace fleetadm::serve {
namespace {

constexpr std::array<std::string_view, 5> kStreamTypes = {"stdin", "stdout", "stderr", "error", "resize"};  // by channel

class SpdyChannels final : public ChannelLink, private kube::SpdyConnection::Sink {
 public:
  explicit SpdyChannels(const ChannelsWanted& wanted)
      : wanted_{wanted.input, wanted.output, wanted.errors, true, wanted.terminal} {}

  bool feed(std::string_view bytes, ChannelLink::Sink& sink) override {
    sink_ = &sink;
    const bool more = connection_.feed(bytes, *this);
    sink_ = nullptr;
    return more;
  }
  bool ready() const override {
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (wanted_[i] && streams_[i] == 0) return false;
    }
    return true;
  }
  void send(Channel channel, std::string_view bytes) override {
    connection_.send(streams_[static_cast<std::size_t>(channel)], bytes);
  }
  void finish() override {
    for (const auto stream : streams_) connection_.end(stream);
  }
  void keep_alive() override { connection_.ping(); }
  std::string& output() override { return connection_.output(); }

 private:
  bool on_open(kube::SpdyStreamId stream, const kube::SpdyHeaders& headers) override {
    const std::string type = kube::spdy_header(headers, "streamtype");
    for (std::size_t i = 0; i < kStreamTypes.size(); ++i) {
      if (type == kStreamTypes[i] && streams_[i] == 0) {
        streams_[i] = stream;
        return true;
      }
    }
    return false;
  }
  void on_data(kube::SpdyStreamId stream, std::string_view bytes) override {
    for (const Channel channel : {Channel::kInput, Channel::kResize}) {
      if (stream == streams_[static_cast<std::size_t>(channel)]) sink_->on_data(channel, bytes);
    }
  }
  void on_end(kube::SpdyStreamId stream) override {
    if (stream == streams_[static_cast<std::size_t>(Channel::kInput)]) sink_->on_end(Channel::kInput);
  }
  void on_reset(kube::SpdyStreamId stream) override { on_end(stream); }

  const std::array<bool, 5> wanted_;
  std::array<kube::SpdyStreamId, 5> streams_{};  // by channel; 0: not opened
  kube::SpdyConnection connection_;
  ChannelLink::Sink* sink_ = nullptr;  // while it is fed
};

}  // namespace

std::unique_ptr<ChannelLink> make_spdy_channels(const ChannelsWanted& wanted) { return std::make_unique<SpdyChannels>(wanted); }

}  // namespace fleetadm::serve
