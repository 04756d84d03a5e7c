// Connections, byte by byte: requests over HTTP/1.1 and HTTP/2 into the server, and an agent's frames into the gateway's end of
// its tunnel.
#include <algorithm>
#include <deque>
#include <set>

#include "core/proxy/tunnel/tunnel_session.h"
#include "core/serve/http/body_pipe.h"
#include "core/serve/http/protocol.h"
#include "tests/fuzz/targets.h"

namespace fleetadm::fuzz {
namespace {

using serve::HttpRequest;
using serve::HttpResponse;

tl::unexpected<Error> frames_promise(std::string what) { return fail(Category::kInternal, "broken promise: " + std::move(what)); }

std::string up_to(std::size_t count, std::size_t most) { return std::to_string(std::min(count, most)); }

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

/// What is wrong with a request that was handed over; empty: nothing.
std::string flaw_of(const HttpRequest& request) {
  if (request.method.empty() || has_control(request.method) || has_control(request.path) || has_control(request.query))
    return "a head with controls";
  std::size_t lengths = 0;
  std::size_t encodings = 0;
  std::size_t bytes = 0;
  for (const auto& [name, value] : request.headers) {
    if (name.empty() || has_control(name) || has_control(value)) return "a header with controls";
    if (std::ranges::any_of(name, [](char c) { return c >= 'A' && c <= 'Z'; })) return "a name in capitals";
    lengths += name == "content-length" ? 1 : 0;
    encodings += name == "transfer-encoding" ? 1 : 0;
    bytes += name.size() + value.size();
  }
  if (encodings > 1 || (encodings > 0 && lengths > 0)) return "a body whose end can be read in two ways";
  if (bytes > serve::HttpLimits().header) return "a head beyond its limit";
  return {};
}

/// A server's end of a connection, and what its handler has seen.
class ServedConnection {
 public:
  using Make = std::shared_ptr<serve::Protocol> (*)(serve::ProtocolHost);

  ServedConnection(Make make, bool streams) {
    serve::ProtocolHost host;
    host.limits.body = 4096;
    host.limits.window = 4096;
    host.room = std::make_shared<serve::MemoryBudget>(host.limits.bodies);
    host.handle = [this](const HttpRequest& request, const serve::Reply& reply) {
      seen.push_back(request);
      seen.back().content = nullptr;  // which drops the rest of the body
      auto answer = serve::answer_text(200, "ok");
      if (request.path == "/echo" && request.content) answer.stream = request.content;
      reply(std::move(answer));
    };
    if (streams) host.streams_body = [](const HttpRequest&) { return true; };
    host.flush = [] {};
    host.post = [this](std::function<void()> task) { later_.push_back(std::move(task)); };
    protocol_ = make(std::move(host));
  }
  ~ServedConnection() { protocol_->gone(); }
  ServedConnection(const ServedConnection&) = delete;
  ServedConnection& operator=(const ServedConnection&) = delete;

  void feed(std::string_view bytes, std::size_t piece) {
    while (!bytes.empty() && open) {
      const auto next = bytes.substr(0, piece);
      bytes.remove_prefix(next.size());
      open = protocol_->feed(next);
      settle();
      open = open && !protocol_->finished();
    }
  }

  std::vector<HttpRequest> seen;
  std::string sent;
  bool open = true;

 private:
  void settle() {
    for (int i = 0; i < 100; ++i) {
      const auto before = sent.size();
      protocol_->output(sent, sent.size() + 64 * 1024);
      if (later_.empty() && sent.size() == before) return;
      while (!later_.empty()) {
        const auto task = std::move(later_.front());
        later_.pop_front();
        task();
      }
    }
  }

  std::shared_ptr<serve::Protocol> protocol_;
  std::deque<std::function<void()>> later_;
};

// --- HTTP/1.1: the first byte says whether bodies are streamed, and in what pieces the rest comes
// --------------------------------

Result<std::string> run_http1(std::string_view input) {
  if (input.empty()) return "empty";
  const auto choice = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  const bool streams = (choice & 0x80U) != 0;
  ServedConnection whole(serve::make_http1, streams);
  ServedConnection pieces(serve::make_http1, streams);
  whole.feed(input, 16 * 1024);
  pieces.feed(input, (choice & 0x7FU) + 1U);
  for (const auto& request : whole.seen) {
    if (auto flaw = flaw_of(request); !flaw.empty()) return frames_promise(std::move(flaw));
  }
  const auto common = std::min(whole.seen.size(), pieces.seen.size());
  for (std::size_t i = 0; i < common; ++i) {
    const auto& one = whole.seen[i];
    const auto& other = pieces.seen[i];
    if (one.method != other.method || one.path != other.path || one.headers != other.headers || one.body != other.body)
      return frames_promise("pieces decide what a request is");
  }
  if (whole.sent.size() > (whole.seen.size() + 2) * 64 * 1024) return frames_promise("an answer from nowhere");
  std::string out = (streams ? "s" : "w") + up_to(whole.seen.size(), 4) + (whole.open ? " open" : " closed");
  for (std::size_t at = 0, count = 0; count < 4 && (at = whole.sent.find("HTTP/1.1 ", at)) != std::string::npos; ++count) {
    out += " " + whole.sent.substr(at + 9, 3);
    at += 9;
  }
  if (const auto why = whole.sent.rfind("\r\n\r\n"); why != std::string::npos) out += " " + shape_of(whole.sent.substr(why + 4));
  return out;
}

// --- HTTP/2: records of type, flags, stream, size and payload become frames; of type 255, the payload goes as it is
// --------------

std::string frames_of(std::string_view script) {
  std::string out;
  while (script.size() >= 4) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned>(static_cast<unsigned char>(script[at])); };
    const auto size = std::min<std::size_t>(byte(3), script.size() - 4);
    const auto payload = script.substr(4, size);
    if (byte(0) != 255) {
      out += {'\0', '\0', static_cast<char>(size), script[0], script[1], '\0', '\0', '\0', static_cast<char>(byte(2) & 0x0FU)};
    }
    out += payload;
    script.remove_prefix(4 + size);
  }
  return out;
}
/// The kinds of frames in what was sent, and how often the streams were reset or refused.
std::string kinds_of(std::string_view sent) {
  std::set<unsigned> kinds;
  while (sent.size() >= 9) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned>(static_cast<unsigned char>(sent[at])); };
    const std::size_t size = byte(0) << 16U | byte(1) << 8U | byte(2);
    kinds.insert(byte(3));
    sent.remove_prefix(std::min(sent.size(), size + 9));
  }
  std::string out;
  for (const auto kind : kinds) out += std::to_string(kind);
  return out;
}

Result<std::string> run_http2(std::string_view input) {
  if (input.empty()) return "empty";
  const auto choice = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  ServedConnection server(serve::make_http2, (choice & 0x80U) != 0);
  server.feed("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frames_of("\4" + std::string(3, '\0')), 1024);
  server.feed(frames_of(input), (choice & 0x7FU) * 8U + 1U);
  for (const auto& request : server.seen) {
    if (auto flaw = flaw_of(request); !flaw.empty()) return frames_promise(std::move(flaw));
  }
  if (server.seen.size() * 4 > input.size()) return frames_promise("requests from nowhere");
  std::string out = up_to(server.seen.size(), 6) + (server.open ? " open " : " closed ") + kinds_of(server.sent);
  if (!server.seen.empty()) out += " " + server.seen.back().method.substr(0, 4) + up_to(server.seen.back().headers.size(), 5);
  return out;
}

// --- an agent's frames, while a GET, an upgrade and a POST are under way on streams 1, 3 and 5
// -----------------------------------

struct TunnelOutcome {
  int times = 0;
  Result<HttpResponse> answer = fail(Category::kInternal, "none");
};

Result<std::string> run_tunnel(std::string_view input) {
  if (input.empty()) return "empty";
  const auto choice = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  serve::ProtocolHost host;
  host.flush = [] {};
  std::deque<std::function<void()>> later;
  host.post = [&](std::function<void()> task) { later.push_back(std::move(task)); };
  proxy::TunnelSessionOptions options;
  options.identity.cluster = "c1";
  options.limits.window = 4096;
  auto session = std::make_shared<proxy::TunnelSession>(std::move(host), std::move(options));
  std::vector<TunnelOutcome> outcomes(3);
  auto content = serve::make_body_pipe(4096);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    HttpRequest request;
    request.method = i == 0 ? "GET" : "POST";
    request.path = "/x";
    if (i == 1) request.headers = {{"connection", "Upgrade"}, {"upgrade", "SPDY/3.1"}};
    if (i == 2) request.content = content.reader;
    session->send(std::move(request), [outcome = &outcomes[i]](Result<HttpResponse> answer) {
      ++outcome->times;
      outcome->answer = std::move(answer);
    });
  }
  content.reader = nullptr;
  content.writer->push(std::string(1000, 'x'));
  std::string sent;
  bool open = true;
  std::size_t read = 0;
  const auto settle = [&] {
    session->output(sent, sent.size() + 64 * 1024);
    while (!later.empty()) {
      const auto task = std::move(later.front());
      later.pop_front();
      task();
    }
    for (auto& outcome : outcomes) {
      std::string piece;
      if (outcome.answer && outcome.answer->stream && (choice & 0x80U) != 0) outcome.answer->stream->read(piece, 1024);
      read += piece.size();
    }
  };
  settle();
  std::string frames = frames_of("\4" + std::string(3, '\0')) + frames_of(input);
  const auto bytes = frames.size();
  for (std::string_view rest = frames; !rest.empty() && open;) {
    const auto piece = rest.substr(0, (choice & 0x7FU) * 8U + 1U);
    rest.remove_prefix(piece.size());
    open = session->feed(piece);
    settle();
    open = open && !session->finished();
  }
  session->gone();
  settle();
  if (read > bytes) return frames_promise("a body from nowhere");
  std::string out = (open ? "open " : "closed ") + kinds_of(sent);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].times != 1) return frames_promise("an answer that comes " + std::to_string(outcomes[i].times) + " times");
    if (!outcomes[i].answer) {
      out += " " + shape_of(outcomes[i].answer.error().message);
      continue;
    }
    const auto& answer = *outcomes[i].answer;
    const bool switched = answer.status == 101;
    if (switched != (answer.upgrade != nullptr)) return frames_promise("an upgrade that is none");
    if (switched && i != 1) return frames_promise("an upgrade that nobody asked for");
    if (answer.status < 101 || answer.status > 599) return frames_promise("no such status");
    for (const auto& [name, value] : answer.headers) {
      if (has_control(name) || has_control(value)) return frames_promise("a header with controls");
      if (name.starts_with("fleetadm-")) return frames_promise("a header of the tunnel's own");
    }
    out += " " + std::to_string(answer.status / 100) + (switched ? "up" : "") + up_to(answer.headers.size(), 3);
  }
  return out;
}

const std::vector<std::string_view> kHttp1Words = {"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
                                                   "POST /echo HTTP/1.1\r\nHost: a\r\n",
                                                   "HEAD /x HTTP/1.0\r\n",
                                                   "HTTP/1.1\r\n",
                                                   "Host: a\r\n",
                                                   "Content-Length: 5\r\n",
                                                   "Content-Length: ",
                                                   "Transfer-Encoding: chunked\r\n",
                                                   "Transfer-Encoding: gzip\r\n",
                                                   "Connection: close\r\n",
                                                   "Connection: Upgrade\r\nUpgrade: websocket\r\n",
                                                   "Expect: 100-continue\r\n",
                                                   "\r\n",
                                                   "\r\n\r\n",
                                                   "\r\n ",
                                                   "\r\n\t",
                                                   "\r",
                                                   "\n",
                                                   ": ",
                                                   "5\r\nhello\r\n",
                                                   "0\r\n\r\n",
                                                   "1;a=b\r\nx\r\n",
                                                   "0\r\nX: y\r\n\r\n",
                                                   "hello"};

/// Records of frames that make sense, as words.
const std::vector<std::string>& frame_records() {
  static const std::vector<std::string> kRecords = [] {
    const auto record = [](int type, int flags, int stream, const std::string& payload) {
      std::string out;
      for (const int value : {type, flags, stream, static_cast<int>(payload.size())}) out += static_cast<char>(value);
      return out + payload;
    };
    const auto field = [](const std::string& name, const std::string& value) {
      return std::string(1, '\0') + static_cast<char>(name.size()) + name + static_cast<char>(value.size()) + value;
    };
    const auto number = [](std::uint32_t value) {
      std::string out;
      for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(value >> shift & 0xFFU);
      return out;
    };
    const std::string get =
        field(":method", "GET") + field(":scheme", "https") + field(":path", "/x?y") + field(":authority", "a");
    const std::string post =
        field(":method", "POST") + field(":scheme", "https") + field(":path", "/echo") + field(":authority", "a");
    const std::string ok = field(":status", "200");
    std::vector<std::string> out;
    for (const int stream : {1, 3, 5, 7}) {
      out.push_back(record(1, 5, stream, get));
      out.push_back(record(1, 4, stream, post));
      out.push_back(record(1, 4, stream, ok));
      out.push_back(record(1, 5, stream, ok));
      out.push_back(record(0, 0, stream, "data"));
      out.push_back(record(0, 1, stream, "last"));
      out.push_back(record(3, 0, stream, number(8)));
      out.push_back(record(3, 0, stream, number(7)));
      out.push_back(record(8, 0, stream, number(1000)));
    }
    out.push_back(record(1, 0, 1, ok));
    out.push_back(record(1, 4, 3, ok + field("fleetadm-switched", "SPDY/3.1")));
    out.push_back(record(1, 4, 1, field(":status", "103")));
    out.push_back(record(1, 4, 1, field(":status", "101")));
    out.push_back(record(1, 5, 1, "\x88"));
    out.push_back(record(1, 5, 1, "\x82\x87\x84\x41\x01\x61"));
    out.push_back(record(9, 4, 1, field("x", "y")));
    out.push_back(record(9, 0, 1, field("x", "y")));
    out.push_back(record(5, 4, 1, number(2) + get));
    out.push_back(record(4, 0, 0, std::string("\0\4\0\0\0\0", 6)));
    out.push_back(record(4, 0, 0, std::string("\0\4\x7f\xff\xff\xff", 6)));
    out.push_back(record(4, 0, 0, std::string("\0\3\0\0\0\0", 6)));
    out.push_back(record(4, 0, 0, std::string("\0\1\0\0\0\0", 6)));
    out.push_back(record(4, 1, 0, ""));
    out.push_back(record(6, 0, 0, "01234567"));
    out.push_back(record(6, 1, 0, "01234567"));
    out.push_back(record(7, 0, 0, number(0) + number(0)));
    out.push_back(record(7, 0, 0, number(0x7fffffff) + number(11)));
    out.push_back(record(8, 0, 0, number(0x7fffffff)));
    out.push_back(record(2, 0, 1, number(0) + "x"));
    out.push_back(record(10, 0, 0, "an extension"));
    out.push_back(record(255, 0, 0, "raw"));
    for (const char* name : {"content-length", "transfer-encoding", "connection", "te", "upgrade", "expect", "Upper"})
      out.push_back(field(name, "5"));
    return out;
  }();
  return kRecords;
}

}  // namespace

std::vector<Target> frames_targets() {
  std::vector<std::string_view> records;
  for (const std::string& record : frame_records()) records.emplace_back(record);
  return {{"http1", 4'000, false, kHttp1Words, run_http1},
          {"http2", 4'000, false, records, run_http2},
          {"tunnel", 4'000, false, records, run_tunnel}};
}

}  // namespace fleetadm::fuzz
