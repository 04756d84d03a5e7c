#include "kubeclient/stream/framing.h"

#include <algorithm>
#include <utility>

#include "kubeclient/stream/websocket.h"

namespace fleetadm::kube {
namespace {

constexpr std::size_t kMaxMessage = 32 * 1024;  // what clients read at a time

class PlainWire final : public Framing {
 public:
  bool feed(std::string_view bytes, const std::function<bool(std::string_view)>& take) override { return take(bytes); }
  void send(std::string& inner) override {
    if (output_.empty()) {
      output_.swap(inner);
    } else {
      output_ += std::exchange(inner, {});
    }
  }
  void finish() override {}
  std::string& output() override { return output_; }

 private:
  std::string output_;
};

class WebSocketWire final : public Framing {
 public:
  explicit WebSocketWire(StreamRole role) : frames_(role) {}

  bool feed(std::string_view bytes, const std::function<bool(std::string_view)>& take) override {
    return frames_.feed(bytes, [&](const WebSocketPiece& piece) {
      if (piece.text) return WebSocketClose::kUnsupported;
      return take(piece.bytes) ? WebSocketClose::kNone : WebSocketClose::kNormal;
    });
  }
  void send(std::string& inner) override {
    for (std::string_view rest = inner; !rest.empty(); rest.remove_prefix(std::min(rest.size(), kMaxMessage)))
      frames_.send(rest.substr(0, kMaxMessage));
    inner.clear();
  }
  void finish() override { frames_.close(WebSocketClose::kNormal); }
  std::string& output() override { return frames_.output(); }

 private:
  WebSocketFrames frames_;
};

}  // namespace

std::unique_ptr<Framing> make_plain_wire() { return std::make_unique<PlainWire>(); }
std::unique_ptr<Framing> make_websocket_wire(StreamRole role) { return std::make_unique<WebSocketWire>(role); }

}  // namespace fleetadm::kube
