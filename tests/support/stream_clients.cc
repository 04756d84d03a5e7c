#include "tests/support/stream_clients.h"

namespace fleetadm::testkit {
namespace {

void put_big_endian(std::string& into, std::uint64_t value, unsigned bytes) {
  for (unsigned i = bytes; i > 0; --i) into += static_cast<char>((value >> (8U * (i - 1))) & 0xffU);
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = (value << 8U) | static_cast<unsigned char>(c);
  return value;
}

unsigned octet(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

}  // namespace

std::string joined(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

std::string websocket_frame(unsigned opcode, std::string_view payload, bool last, bool masked) {
  std::string frame;
  frame += static_cast<char>((last ? 0x80U : 0U) | opcode);
  const unsigned mask_bit = masked ? 0x80U : 0U;
  if (payload.size() < 126) {
    frame += static_cast<char>(mask_bit | payload.size());
  } else {
    const unsigned bytes = payload.size() <= 0xffff ? 2 : 8;
    frame += static_cast<char>(mask_bit | (bytes == 2 ? 126U : 127U));
    put_big_endian(frame, payload.size(), bytes);
  }
  if (!masked) return frame.append(payload);
  const std::string mask = "\x1f\x2e\x3d\x4c";
  frame += mask;
  for (std::size_t i = 0; i < payload.size(); ++i) frame += static_cast<char>(payload[i] ^ mask[i % 4]);
  return frame;
}

std::optional<WebSocketFrame> cut_websocket_frame(std::string& bytes) {
  if (bytes.size() < 2) return std::nullopt;
  std::uint64_t size = octet(bytes, 1) & 0x7fU;
  std::size_t head = 2;
  if (size >= 126) {
    const std::size_t more = size == 126 ? 2 : 8;
    if (bytes.size() < head + more) return std::nullopt;
    size = big_endian(std::string_view(bytes).substr(head, more));
    head += more;
  }
  if (bytes.size() < head + size) return std::nullopt;
  WebSocketFrame frame;
  frame.opcode = octet(bytes, 0) & 0x0fU;
  frame.last = (octet(bytes, 0) & 0x80U) != 0;
  frame.masked = (octet(bytes, 1) & 0x80U) != 0;
  frame.payload = bytes.substr(head, size);
  bytes.erase(0, head + size);
  return frame;
}

int WebSocketClient::open(const std::string& target, const std::string& protocols, const std::string& headers) {
  return send_upgrade(client_,
                      "GET " + target +
                          " HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
                          "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                          "sec-websocket-protocol: " +
                          protocols + "\r\n" + headers,
                      head_, bytes_);
}

bool WebSocketClient::say(int channel, std::string_view data) {
  return send(std::string(1, static_cast<char>(channel)) + std::string(data));
}

std::optional<WebSocketFrame> WebSocketClient::next() {
  while (true) {
    if (auto frame = cut_websocket_frame(bytes_)) return frame;
    if (!client_.receive(bytes_)) return std::nullopt;
  }
}

bool WebSocketClient::hear_frame(Heard& heard) {
  const auto frame = next();
  if (!frame) return false;
  if (frame->opcode == 8) {
    heard.close_code = frame->payload.size() >= 2 ? octet(frame->payload, 0) * 256 + octet(frame->payload, 1) : 0;
    send(frame->payload, 8);
    return false;
  }
  if (frame->opcode != 2 || frame->payload.empty()) return true;
  const std::string data = frame->payload.substr(1);
  if (frame->payload[0] == 1) heard.output += data;
  if (frame->payload[0] == 2) heard.errors += data;
  if (frame->payload[0] == 3 && !data.empty()) {
    ++heard.statuses;
    if (auto status = parse_json(data)) heard.status = std::move(*status);
  }
  return true;
}

WebSocketClient::Heard WebSocketClient::hear() {
  while (hear_frame(heard_)) {
  }
  return heard_;
}

WebSocketClient::Heard WebSocketClient::hear_until(std::string_view text) {
  while (heard_.output.find(text) == std::string::npos && hear_frame(heard_)) {
  }
  return heard_;
}

std::string SpdyClient::control(unsigned type, std::string_view content, unsigned flags) {
  std::string frame;
  put_big_endian(frame, 0x80030000U | type, 4);
  put_big_endian(frame, flags, 1);
  put_big_endian(frame, content.size(), 3);
  return frame.append(content);
}

std::string SpdyClient::open(std::uint32_t stream, const kube::SpdyHeaders& headers, bool fin) {
  std::string content;
  put_big_endian(content, stream, 4);
  put_big_endian(content, 0, 6);  // no parent, priority and slot 0
  return control(1, content + writer_.write(headers), fin ? 1 : 0);
}

std::string SpdyClient::data(std::uint32_t stream, std::string_view bytes, bool fin) {
  std::string frame;
  put_big_endian(frame, stream, 4);
  put_big_endian(frame, fin ? 1 : 0, 1);
  put_big_endian(frame, bytes.size(), 3);
  return frame.append(bytes);
}

std::string SpdyClient::ping(std::uint32_t number) {
  std::string content;
  put_big_endian(content, number, 4);
  return control(6, content);
}

std::string SpdyClient::reset(std::uint32_t stream) {
  std::string content;
  put_big_endian(content, stream, 4);
  put_big_endian(content, 5, 4);
  return control(3, content);
}

std::string SpdyClient::go_away() { return control(7, std::string(8, '\0')); }

std::optional<SpdyFrame> SpdyClient::cut(std::string& bytes) {
  if (bytes.size() < 8) return std::nullopt;
  const std::string_view view = bytes;
  const auto size = static_cast<std::size_t>(big_endian(view.substr(5, 3)));
  if (bytes.size() < 8 + size) return std::nullopt;
  SpdyFrame frame;
  frame.control = (octet(view, 0) & 0x80U) != 0;
  frame.flags = octet(view, 4);
  frame.payload = bytes.substr(8, size);
  if (frame.control) {
    frame.type = static_cast<unsigned>(big_endian(view.substr(2, 2)));
    if (size >= 4) frame.stream = static_cast<std::uint32_t>(big_endian(view.substr(8, 4)));
  } else {
    frame.stream = static_cast<std::uint32_t>(big_endian(view.substr(0, 4)));
  }
  bytes.erase(0, 8 + size);
  return frame;
}

}  // namespace fleetadm::testkit
