// Random bodies of konnectivity's streams: frames, packets, and what they mean to a client.
#include <algorithm>
#include <vector>

#include "core/proxy/konnectivity/connections.h"
#include "core/proxy/konnectivity/grpc_frames.h"
#include "core/proxy/konnectivity/packet.h"
#include "tests/fuzz/targets.h"

namespace fleetadm::fuzz {
namespace {

constexpr std::size_t kMostMessage = 4096;
constexpr std::int64_t kDialNumber = 42;

tl::unexpected<Error> promise_broken(std::string what) { return fail(Category::kInternal, "broken promise: " + std::move(what)); }

struct Messages {
  std::vector<std::string> whole;
  std::string end;  // how it ended
  bool operator==(const Messages&) const = default;
};

Messages messages_of(std::string_view body, std::size_t step) {
  Messages out;
  konnectivity::GrpcFrames frames(kMostMessage);
  for (; !body.empty(); body.remove_prefix(std::min(step, body.size()))) {
    frames.feed(body.substr(0, step));
    while (true) {
      auto message = frames.next();
      if (!message) {
        out.end = shape_of(message.error().message);
        return out;
      }
      if (!*message) break;
      out.whole.push_back(std::move(**message));
    }
  }
  const Status end = frames.end();
  out.end = end ? "whole" : shape_of(end.error().message);
  return out;
}

Result<std::string> run_konnectivity(std::string_view body) {
  const Messages messages = messages_of(body, body.size() + 1);
  if (messages_of(body, 1) != messages) return promise_broken("other messages where they come byte by byte");
  std::string shape = messages.end;
  konnectivity::ClientConnection connection("c1:443", kDialNumber);
  for (const std::string& message : messages.whole) {
    const auto packet = konnectivity::decode_packet(message);
    if (!packet) return shape + " " + shape_of(packet.error().message);
    shape += " " + std::string(konnectivity::to_string(packet->type));
    if (packet->type == konnectivity::PacketType::kOther) continue;
    const auto again = konnectivity::decode_packet(konnectivity::encode_packet(*packet));
    if (!again || *again != *packet) return promise_broken("a packet that does not come back as it was");
    const auto before = connection.state();
    const auto event = connection.take(*packet);
    using State = konnectivity::ClientConnection::State;
    if (before == State::kDialing && packet->type == konnectivity::PacketType::kData && event)
      return promise_broken("data before the answer to the dial");
    if (before == State::kClosed && connection.state() != State::kClosed) return promise_broken("a connection that lives again");
    if (!event && connection.state() != State::kClosed) return promise_broken("an error after which it goes on");
    shape += event ? std::to_string(static_cast<int>(*event)) : shape_of(event.error().message);
  }
  return shape;
}

const std::vector<std::string_view> kKonnectivityWords = {
    std::string_view("\0\0\0\0\x06\x08\x01\x1a\x02\x18\x2a", 11),      // the dial's answer
    std::string_view("\0\0\0\0\x08\x08\x04\x22\x04\x08\0\x1a\0", 13),  // data
    std::string_view("\0\0\0\0\x06\x08\x03\x32\x02\x10\x01", 11),      // closed
    std::string_view("\0\0\0\0\x02\x08\x06", 7),                       // to drain
    std::string_view("\0\xff\xff\xff\xff", 5),
    "\x01",
    "tcp",
    "c1:443",
    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"};

}  // namespace

std::vector<Target> konnectivity_targets() { return {{"konnectivity", 4'000, false, kKonnectivityWords, run_konnectivity}}; }

}  // namespace fleetadm::fuzz
