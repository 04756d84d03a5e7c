#include <optional>

#include "core/serve/streams/channel_link.h"
#include "kubeclient/stream/websocket.h"

namespace fleetadm::serve {
namespace {

class WebSocketChannels final : public ChannelLink {
 public:
  WebSocketChannels(const ChannelsWanted& wanted, bool half_close) : half_close_(half_close) {
    // Clients take an empty message as the sign that the channels are there.
    send(wanted.output ? Channel::kOutput : wanted.errors ? Channel::kErrors : Channel::kStatus, {});
  }

  bool feed(std::string_view bytes, Sink& sink) override {
    return frames_.feed(bytes, [&](const kube::WebSocketPiece& piece) { return take(piece, sink); });
  }
  bool ready() const override { return true; }
  void send(Channel channel, std::string_view bytes) override {
    const char head = static_cast<char>(channel);
    frames_.send({&head, 1}, bytes);
  }
  void finish() override { frames_.close(kube::WebSocketClose::kNormal); }
  void keep_alive() override { frames_.ping(); }
  std::string& output() override { return frames_.output(); }

 private:
  kube::WebSocketClose take(const kube::WebSocketPiece& piece, Sink& sink) {
    if (piece.text) return kube::WebSocketClose::kUnsupported;
    if (piece.begins) {
      channel_.reset();
      ended_.clear();
    }
    std::string_view bytes = piece.bytes;
    if (!channel_ && !bytes.empty()) {
      channel_ = static_cast<std::uint8_t>(bytes.front());
      bytes.remove_prefix(1);
    }
    if (!channel_) return kube::WebSocketClose::kNone;
    if (half_close_ && *channel_ == kube::kEndOfChannel) {
      ended_ += bytes;
      if (ended_.size() > 1 || (piece.ends && ended_.empty())) return kube::WebSocketClose::kProtocol;
      if (piece.ends && ended_.front() == static_cast<char>(Channel::kInput)) sink.on_end(Channel::kInput);
    } else if (*channel_ == static_cast<std::uint8_t>(Channel::kInput) ||
               *channel_ == static_cast<std::uint8_t>(Channel::kResize)) {
      if (!bytes.empty()) sink.on_data(static_cast<Channel>(*channel_), bytes);
    }
    return kube::WebSocketClose::kNone;
  }

  const bool half_close_;
  kube::WebSocketFrames frames_;
  std::optional<std::uint8_t> channel_;  // of the message that is being read
  std::string ended_;                    // the channels that it ends
};

}  // namespace

std::unique_ptr<ChannelLink> make_websocket_channels(const ChannelsWanted& wanted, bool half_close) {
  return std::make_unique<WebSocketChannels>(wanted, half_close);
}

}  // namespace fleetadm::serve
