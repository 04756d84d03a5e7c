// What is spoken after an upgrade: the frames of WebSockets and of SPDY, from either end's peer.
#include <algorithm>
#include <map>

#include "kubeclient/stream/spdy.h"
#include "kubeclient/stream/websocket.h"
#include "tests/fuzz/targets.h"

namespace fleetadm::fuzz {
namespace {

tl::unexpected<Error> streams_promise(std::string what) {
  return fail(Category::kInternal, "broken promise: " + std::move(what));
}

std::string at_most(std::size_t count, std::size_t most) { return std::to_string(std::min(count, most)); }

// --- WebSockets: the first byte says which end reads, and in what pieces
// ---------------------------------------------------------

struct HeardMessages {
  std::vector<std::string> messages;
  std::string sent;
  bool open = true;
  std::string flaw;
};

HeardMessages hear_messages(std::string_view bytes, std::size_t piece, kube::StreamRole role) {
  HeardMessages out;
  kube::WebSocketFrames frames(role);
  bool within = false;
  while (!bytes.empty() && out.open) {
    const auto next = bytes.substr(0, piece);
    bytes.remove_prefix(next.size());
    out.open = frames.feed(next, [&](const kube::WebSocketPiece& part) {
      if (part.begins == within) out.flaw = "a message within a message";
      if (part.begins) out.messages.emplace_back(part.text ? "t" : "b");
      if (out.messages.empty()) return kube::WebSocketClose::kProtocol;
      out.messages.back().append(part.bytes);
      within = !part.ends;
      return kube::WebSocketClose::kNone;
    });
    out.sent += std::exchange(frames.output(), {});
  }
  if (!out.open && !frames.over() && out.sent.empty()) out.flaw = "an end without a word";
  return out;
}

Result<std::string> run_websocket(std::string_view input) {
  if (input.empty()) return "empty";
  const auto choice = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  const auto role = (choice & 0x80U) != 0 ? kube::StreamRole::kClient : kube::StreamRole::kServer;
  const auto whole = hear_messages(input, input.size() + 1, role);
  const auto pieces = hear_messages(input, (choice & 0x7FU) + 1U, role);
  if (!whole.flaw.empty()) return streams_promise(whole.flaw);
  if (whole.messages != pieces.messages || whole.open != pieces.open) return streams_promise("pieces decide what is heard");
  std::size_t heard = 0;
  for (const auto& message : whole.messages) heard += message.size() - 1;
  if (heard > input.size()) return streams_promise("a message from nowhere");
  if (whole.sent.size() > 3 * input.size() + 64) return streams_promise("more answers than questions");
  std::string out = (choice & 0x80U) != 0 ? "client " : "server ";
  out += at_most(whole.messages.size(), 4) + (whole.open ? " open " : " closed ") + at_most(whole.sent.size(), 12);
  if (!whole.messages.empty()) out += " " + whole.messages.front().substr(0, 1) + at_most(whole.messages.front().size(), 4);
  return out;
}

// --- SPDY/3.1, likewise
// ----------------------------------------------------------------------------------------------------------

class HeardStreams final : public kube::SpdyConnection::Sink {
 public:
  bool on_open(kube::SpdyStreamId stream, const kube::SpdyHeaders& headers) override {
    events += "o" + std::to_string(stream) + ":" + std::to_string(headers.size());
    ++opened;
    for (const auto& [name, value] : headers) {
      if (std::ranges::any_of(name, [](char c) { return c >= 'A' && c <= 'Z'; })) flaw = "a name in capitals";
    }
    return stream % 4 == 1;
  }
  void on_data(kube::SpdyStreamId stream, std::string_view bytes) override { data[stream].append(bytes); }
  void on_end(kube::SpdyStreamId stream) override { events += "e" + std::to_string(stream); }
  void on_reset(kube::SpdyStreamId stream) override { events += "r" + std::to_string(stream); }

  std::string events;
  std::map<kube::SpdyStreamId, std::string> data;
  std::size_t opened = 0;
  std::size_t sent = 0;
  bool open = true;
  std::string flaw;
};

void hear_streams(HeardStreams& heard, std::string_view bytes, std::size_t piece, kube::StreamRole role) {
  kube::SpdyConnection connection(role);
  if (role == kube::StreamRole::kClient) {
    for (const char* type : {"error", "stdout", "stdin"}) connection.open({{"streamtype", type}});
  }
  while (!bytes.empty() && heard.open) {
    const auto next = bytes.substr(0, piece);
    bytes.remove_prefix(next.size());
    heard.open = connection.feed(next, heard);
    heard.sent += std::exchange(connection.output(), {}).size();
  }
}

Result<std::string> run_spdy(std::string_view input) {
  if (input.empty()) return "empty";
  const auto choice = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  const auto role = (choice & 0x80U) != 0 ? kube::StreamRole::kClient : kube::StreamRole::kServer;
  HeardStreams whole;
  HeardStreams pieces;
  hear_streams(whole, input, input.size() + 1, role);
  hear_streams(pieces, input, (choice & 0x7FU) + 1U, role);
  if (!whole.flaw.empty()) return streams_promise(whole.flaw);
  if (whole.events != pieces.events || whole.data != pieces.data || whole.open != pieces.open)
    return streams_promise("pieces decide what is heard");
  if (whole.opened > kube::SpdyConnection::kMaxStreams * 64) return streams_promise("streams without end");
  std::size_t bytes = 0;
  for (const auto& [stream, text] : whole.data) bytes += text.size();
  if (bytes > input.size()) return streams_promise("data from nowhere");
  std::string kinds;
  for (const char c : whole.events) {
    if (c >= 'a' && kinds.size() < 6) kinds += c;
  }
  return std::string((choice & 0x80U) != 0 ? "client " : "server ") + kinds + (whole.open ? " open " : " closed ") +
         at_most(whole.data.size(), 3) + " " + at_most(whole.sent / 8, 12);
}

const std::vector<std::string>& websocket_words() {
  static const std::vector<std::string> kWords = [] {
    const std::string mask("\1\2\3\4");
    return std::vector<std::string>{"\x81\x85" + mask + "hello",
                                    "\x82\x85" + mask + "hello",
                                    "\x02\x83" + mask + "abc",
                                    "\x80\x83" + mask + "abc",
                                    std::string("\x00\x83", 2) + mask + "abc",
                                    "\x89\x84" + mask + "ping",
                                    "\x8A\x84" + mask + "pong",
                                    "\x88\x82" + mask + "\x03\xe8",
                                    "\x88\x80" + mask,
                                    "\x81\x05hello",
                                    "\x82\x05hello",
                                    "\x02\x03"
                                    "abc",
                                    "\x80\x03"
                                    "abc",
                                    "\x89\x04ping",
                                    std::string("\x88\x00", 2),
                                    std::string("\x82\xFE\x00\x05", 4) + mask,
                                    std::string("\x82\xFF\x00\x00\x00\x00\x00\x00\x00\x05", 10) + mask,
                                    "\x82\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
                                    "\xC2\x85" + mask,
                                    "\x83\x80" + mask};
  }();
  return kWords;
}

const std::vector<std::string>& spdy_words() {
  static const std::vector<std::string> kWords = [] {
    std::vector<std::string> out;
    kube::SpdyConnection client(kube::StreamRole::kClient);
    for (const char* type : {"error", "stdin", "stdout", "stderr"}) {
      const auto stream = client.open({{"streamtype", type}, {"port", "80"}});
      out.push_back(std::exchange(client.output(), {}));
      client.send(stream, "hello");
      out.push_back(std::exchange(client.output(), {}));
      if (stream < 4) client.end(stream);
      if (stream > 4) client.cancel(stream);
      out.push_back(std::exchange(client.output(), {}));
    }
    client.ping();
    out.push_back(std::exchange(client.output(), {}));
    client.go_away();
    out.push_back(std::exchange(client.output(), {}));
    out.push_back(std::string("\x80\x03\x00\x04\x00\x00\x00\x00", 8));                   // SETTINGS
    out.push_back(std::string("\x80\x03\x00\x02\x00\x00\x00\x04\x00\x00\x00\x01", 12));  // SYN_REPLY
    out.push_back(std::string("\x80\x03\x00\x08\x00\x00\x00\x08", 8));                   // HEADERS
    out.push_back(std::string("\x80\x03\x00\x09\x00\x00\x00\x08\x00\x00\x00\x01\x7f\xff\xff\xff", 16));
    out.push_back(std::string("\x00\x00\x00\x01\x01\x00\x00\x00", 8));
    out.push_back(std::string("\x00\x00\x00\x03\x00\xff\xff\xff", 8));
    return out;
  }();
  return kWords;
}

std::vector<std::string_view> views_of(const std::vector<std::string>& words) { return {words.begin(), words.end()}; }

}  // namespace

std::vector<Target> streams_targets() {
  return {{"websocket", 2'000, false, views_of(websocket_words()), run_websocket},
          {"spdy", 4'000, false, views_of(spdy_words()), run_spdy}};
}

}  // namespace fleetadm::fuzz
