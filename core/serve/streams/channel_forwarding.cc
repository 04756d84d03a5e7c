#include <algorithm>
#include <optional>
#include <set>

#include "core/serve/streams/forward_link.h"
#include "kubeclient/stream/websocket.h"

namespace fleetadm::serve {
namespace {

class ChannelForwarding final : public ForwardLink {
 public:
  explicit ChannelForwarding(const std::vector<int>& ports) : ports_(ports) {
    ports_.resize(std::min(ports_.size(), kMaxForwardedPorts));
  }

  void begin(Sink& sink) override {
    for (Id id = 0; id < ports_.size(); ++id) {
      const auto port = static_cast<unsigned>(ports_[id]);
      const std::string number = {static_cast<char>(port & 0xffU), static_cast<char>(port >> 8U)};
      write(2 * id, number);
      write(2 * id + 1, number);
      open_.insert(id);
    }
    for (Id id = 0; id < ports_.size(); ++id) sink.on_open(id, ports_[id]);
  }
  bool feed(std::string_view bytes, Sink& sink) override {
    return frames_.feed(bytes, [&](const kube::WebSocketPiece& piece) {
      if (piece.text) return kube::WebSocketClose::kUnsupported;
      if (piece.begins) channel_.reset();
      std::string_view rest = piece.bytes;
      if (!channel_ && !rest.empty()) {
        channel_ = static_cast<unsigned char>(rest.front());
        rest.remove_prefix(1);
      }
      if (channel_ && *channel_ % 2 == 0 && !rest.empty() && open_.contains(*channel_ / 2)) sink.on_data(*channel_ / 2, rest);
      return kube::WebSocketClose::kNone;
    });
  }
  void send(Id id, std::string_view bytes) override {
    if (open_.contains(id)) write(2 * id, bytes);
  }
  void end(Id id) override {
    if (open_.erase(id) > 0 && open_.empty()) frames_.close(kube::WebSocketClose::kNormal);
  }
  void fail(Id id, const std::string& why) override {
    if (open_.contains(id)) write(2 * id + 1, why);
    end(id);
  }
  bool finished() const override { return open_.empty(); }
  void expire(Time) override {}
  void keep_alive() override { frames_.ping(); }
  std::string& output() override { return frames_.output(); }

 private:
  void write(Id channel, std::string_view bytes) {
    const char head = static_cast<char>(channel);
    frames_.send({&head, 1}, bytes);
  }

  std::vector<int> ports_;
  std::set<Id> open_;
  kube::WebSocketFrames frames_;
  std::optional<Id> channel_;  // of the message that is being read
};

}  // namespace

std::unique_ptr<ForwardLink> make_channel_forwarding(const std::vector<int>& ports) {
  return std::make_unique<ChannelForwarding>(ports);
}

}  // namespace fleetadm::serve
