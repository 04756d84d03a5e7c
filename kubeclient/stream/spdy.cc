#include "kubeclient/stream/spdy.h"

#include <algorithm>

namespace fleetadm::kube {
namespace {

constexpr std::size_t kSpdyHeader = 8;
constexpr std::size_t kMaxDataFrame = 64 * 1024;
constexpr std::uint32_t kSpdyVersion = 3;
constexpr std::uint8_t kSpdyFin = 0x01;
constexpr std::uint32_t kStreamMask = 0x7fffffffU;
enum SpdyType : std::uint16_t { kSynStream = 1, kSynReply = 2, kRstStream = 3, kPingFrame = 6, kGoAway = 7, kHeaderFrame = 8 };

std::uint32_t number_at(std::string_view text, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = (value << 8U) | static_cast<std::uint8_t>(text[at + i]);
  return value;
}

void put_number(std::string& into, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) into += static_cast<char>((value >> static_cast<unsigned>(shift)) & 0xffU);
}

std::string numbers(std::uint32_t first, std::uint32_t second) {
  std::string text;
  put_number(text, first);
  put_number(text, second);
  return text;
}

bool is_control(std::string_view header) { return (static_cast<std::uint8_t>(header[0]) & 0x80U) != 0; }
std::uint8_t flags_of(std::string_view header) { return static_cast<std::uint8_t>(header[4]); }

}  // namespace

bool SpdyConnection::feed(std::string_view bytes, Sink& sink) {
  while (!bytes.empty() && !over_) {
    if (header_.size() < kSpdyHeader) {
      const auto size = std::min(bytes.size(), kSpdyHeader - header_.size());
      header_.append(bytes.substr(0, size));
      bytes.remove_prefix(size);
      if (header_.size() < kSpdyHeader) break;
      if (!begin_frame()) return broken();
    }
    const auto size = std::min(bytes.size(), left_);
    const auto piece = bytes.substr(0, size);
    bytes.remove_prefix(size);
    left_ -= size;
    const bool control = is_control(header_);
    const auto id = number_at(header_, 0);
    if (control) {
      payload_.append(piece);
    } else if (const auto at = streams_.find(id); size > 0 && at != streams_.end() && !at->second.ended_there) {
      sink.on_data(id, piece);
    }
    if (left_ > 0) continue;
    if (control && !control_frame(sink)) return broken();
    if (!control && (flags_of(header_) & kSpdyFin) != 0) ended_there(id, sink);
    header_.clear();
    payload_.clear();
  }
  return !over_;
}

bool SpdyConnection::begin_frame() {
  left_ = number_at(header_, 4) & 0xffffffU;
  if (!is_control(header_)) return number_at(header_, 0) != 0;
  const auto version = (number_at(header_, 0) >> 16U) & 0x7fffU;
  return version == kSpdyVersion && left_ <= kMaxControlFrame;
}

bool SpdyConnection::control_frame(Sink& sink) {
  const auto type = number_at(header_, 0) & 0xffffU;
  const auto has = [&](std::size_t size) { return payload_.size() >= size; };
  switch (type) {
    case kSynStream: return has(10) && open_stream(sink, flags_of(header_));
    case kSynReply:
    case kHeaderFrame:  // what they say is nothing to us, but the blocks are one compressed stream
      if (!has(4) || !reader_.read(std::string_view(payload_).substr(4))) return false;
      if ((flags_of(header_) & kSpdyFin) != 0) ended_there(number_at(payload_, 0) & kStreamMask, sink);
      return true;
    case kRstStream: {
      if (!has(8)) return false;
      const auto id = number_at(payload_, 0) & kStreamMask;
      if (streams_.erase(id) > 0) sink.on_reset(id);
      return true;
    }
    case kPingFrame:
      if (!has(4)) return false;
      if ((number_at(payload_, 0) % 2 == 1) != client_) write_control(kPingFrame, std::string_view(payload_).substr(0, 4));
      return true;
    case kGoAway: over_ = true; return true;
    default: return true;  // SETTINGS, WINDOW_UPDATE, and what a later version may have
  }
}

SpdyStreamId SpdyConnection::open(const SpdyHeaders& headers) {
  if (!client_ || over_ || streams_.size() >= kMaxStreams || next_ > kStreamMask - 2) return 0;
  const SpdyStreamId id = next_;
  next_ += 2;
  streams_[id] = {};
  std::string content = numbers(id, 0);
  content.append(2, '\0');  // priority and slot
  write_control(kSynStream, content + writer_.write(headers));
  return id;
}

bool SpdyConnection::open_stream(Sink& sink, std::uint8_t flags) {
  const auto id = number_at(payload_, 0) & kStreamMask;
  const auto headers = reader_.read(std::string_view(payload_).substr(10));
  if (!headers || id == 0) return false;
  if (client_) {  // no server of Kubernetes opens any
    send_reset(id, Reset::kRefused);
    return true;
  }
  if (id % 2 == 0 || id < next_) {
    send_reset(id, Reset::kProtocol);
    return true;
  }
  next_ = id + 2;
  if (streams_.size() >= kMaxStreams) {
    send_reset(id, Reset::kRefused);
    return true;
  }
  streams_[id] = {};
  std::string reply;
  put_number(reply, id);
  write_control(kSynReply, reply + writer_.write({}));
  if (!sink.on_open(id, *headers)) {
    if (streams_.erase(id) > 0) send_reset(id, Reset::kRefused);
  } else if ((flags & kSpdyFin) != 0) {
    ended_there(id, sink);
  }
  return true;
}

void SpdyConnection::ended_there(SpdyStreamId stream, Sink& sink) {
  const auto at = streams_.find(stream);
  if (at == streams_.end() || at->second.ended_there) return;
  at->second.ended_there = true;
  if (at->second.ended_here) streams_.erase(at);
  sink.on_end(stream);
}

void SpdyConnection::send(SpdyStreamId stream, std::string_view bytes) {
  const auto at = streams_.find(stream);
  if (bytes.empty() || at == streams_.end() || at->second.ended_here) return;
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, kMaxDataFrame);
    put_number(output_, stream);
    put_number(output_, static_cast<std::uint32_t>(piece.size()));
    output_.append(piece);
    bytes.remove_prefix(piece.size());
  }
}

void SpdyConnection::end(SpdyStreamId stream) {
  const auto at = streams_.find(stream);
  if (at == streams_.end() || at->second.ended_here) return;
  put_number(output_, stream);
  put_number(output_, static_cast<std::uint32_t>(kSpdyFin) << 24U);
  at->second.ended_here = true;
  if (at->second.ended_there) streams_.erase(at);
}

void SpdyConnection::cancel(SpdyStreamId stream) {
  if (streams_.erase(stream) > 0) send_reset(stream, Reset::kCancel);
}

void SpdyConnection::send_reset(SpdyStreamId stream, Reset why) {
  write_control(kRstStream, numbers(stream, static_cast<std::uint32_t>(why)));
}

void SpdyConnection::ping() {
  std::string number;
  put_number(number, next_ping_);
  next_ping_ = (next_ping_ + 2) & kStreamMask;
  if (next_ping_ < 2) next_ping_ = client_ ? 1 : 2;
  write_control(kPingFrame, number);
}

void SpdyConnection::go_away() {
  if (!over_) write_control(kGoAway, numbers(0, 0));
  over_ = true;
}

bool SpdyConnection::broken() {
  if (!over_) write_control(kGoAway, numbers(!client_ && next_ > 1 ? next_ - 2 : 0, 1));  // PROTOCOL_ERROR
  over_ = true;
  return false;
}

void SpdyConnection::write_control(std::uint16_t type, std::string_view payload) {
  put_number(output_, ((0x8000U | kSpdyVersion) << 16U) | type);
  put_number(output_, static_cast<std::uint32_t>(payload.size()));  // no flags
  output_.append(payload);
}

}  // namespace fleetadm::kube
