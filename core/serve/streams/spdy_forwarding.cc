#include <charconv>
#include <map>

#include "core/serve/streams/forward_link.h"
#include "kubeclient/stream/framing.h"
#include "kubeclient/stream/spdy.h"

namespace fleetadm::serve {
namespace {

constexpr auto kPairTime = std::chrono::seconds(30);  // from the first stream of a connection to its second

int forwarded_port(const std::string& text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && port > 0 && port <= 0xffff ? port : 0;
}

class SpdyForwarding final : public ForwardLink, private kube::SpdyConnection::Sink {
 public:
  explicit SpdyForwarding(bool tunnelled) : wire_(tunnelled ? kube::make_websocket_wire() : kube::make_plain_wire()) {}

  void begin(ForwardLink::Sink&) override {}
  bool feed(std::string_view bytes, ForwardLink::Sink& sink) override {
    sink_ = &sink;
    const bool more = wire_->feed(bytes, [this](std::string_view inner) { return connection_.feed(inner, *this); });
    sink_ = nullptr;
    return more;
  }
  void send(Id id, std::string_view bytes) override { connection_.send(id, bytes); }
  void end(Id id) override {
    const auto at = open_.find(id);
    if (at == open_.end()) return;
    connection_.end(id);
    connection_.end(at->second);
    open_.erase(at);
  }
  void fail(Id id, const std::string& why) override {
    if (const auto at = open_.find(id); at != open_.end()) connection_.send(at->second, why);
    end(id);
  }
  bool finished() const override { return false; }
  void expire(Time now) override {
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      if (now - at->second.began < kPairTime) {
        ++at;
        continue;
      }
      for (const auto stream : {at->second.error, at->second.data}) connection_.cancel(stream);
      at = waiting_.erase(at);
    }
  }
  void keep_alive() override { connection_.ping(); }
  std::string& output() override {
    wire_->send(connection_.output());
    return wire_->output();
  }

 private:
  struct Pair {
    kube::SpdyStreamId error = 0;
    kube::SpdyStreamId data = 0;
    Time began = std::chrono::steady_clock::now();
  };

  bool on_open(kube::SpdyStreamId stream, const kube::SpdyHeaders& headers) override {
    const std::string type = kube::spdy_header(headers, "streamtype");
    const int port = forwarded_port(kube::spdy_header(headers, "port"));
    if (port == 0 || (type != "error" && type != "data")) return false;
    std::string request = kube::spdy_header(headers, "requestid");
    // Clients that name no request open the error stream, and the data stream right after it.
    if (request.empty()) request = "#" + std::to_string(type == "error" ? stream : stream - 2);
    Pair& pair = waiting_[request];
    kube::SpdyStreamId& slot = type == "error" ? pair.error : pair.data;
    if (slot != 0) return false;
    slot = stream;
    if (pair.error == 0 || pair.data == 0) return true;
    const Pair whole = pair;
    waiting_.erase(request);
    open_[whole.data] = whole.error;
    sink_->on_open(whole.data, port);
    return true;
  }
  void on_data(kube::SpdyStreamId stream, std::string_view bytes) override {
    if (open_.contains(stream)) sink_->on_data(stream, bytes);
  }
  void on_end(kube::SpdyStreamId stream) override {
    if (open_.contains(stream)) sink_->on_end(stream);
  }
  void on_reset(kube::SpdyStreamId stream) override {
    std::erase_if(waiting_, [&](const auto& one) { return one.second.error == stream || one.second.data == stream; });
    if (!open_.contains(stream)) return;
    end(stream);
    sink_->on_gone(stream);
  }

  std::unique_ptr<kube::Framing> wire_;
  kube::SpdyConnection connection_;
  std::map<std::string, Pair> waiting_;                    // by the client's number of the connection
  std::map<kube::SpdyStreamId, kube::SpdyStreamId> open_;  // data stream → its error stream
  ForwardLink::Sink* sink_ = nullptr;                      // while it is fed
};

}  // namespace

std::unique_ptr<ForwardLink> make_spdy_forwarding(bool tunnelled) { return std::make_unique<SpdyForwarding>(tunnelled); }

}  // namespace fleetadm::serve
