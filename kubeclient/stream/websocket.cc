#include "kubeclient/stream/websocket.h"

#include <algorithm>
#include <array>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "kubeclient/base/encoding.h"

namespace fleetadm::kube {
namespace {

constexpr std::string_view kWebSocketGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::uint8_t kContinuation = 0x0;
constexpr std::uint8_t kText = 0x1;
constexpr std::uint8_t kBinary = 0x2;
constexpr std::uint8_t kClose = 0x8;
constexpr std::uint8_t kPing = 0x9;
constexpr std::uint8_t kPong = 0xA;
constexpr std::size_t kMaxControl = 125;

std::uint8_t byte_at(std::string_view text, std::size_t at) { return static_cast<std::uint8_t>(text[at]); }

bool may_be_sent(std::uint16_t code) {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

std::string code_bytes(std::uint16_t code) { return {static_cast<char>(code >> 8U), static_cast<char>(code & 0xffU)}; }

}  // namespace

std::string websocket_accept(std::string_view key) {
  const std::string text = std::string(key) + std::string(kWebSocketGuid);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) return {};
  return base64_encode({reinterpret_cast<const char*>(digest.data()), size});
}

std::size_t WebSocketFrames::header_size() const {
  const auto length = byte_at(header_, 1) & 0x7fU;
  const bool masked = (byte_at(header_, 1) & 0x80U) != 0;
  return 2U + (length == 126 ? 2U : length == 127 ? 8U : 0U) + (masked ? 4U : 0U);
}

WebSocketClose WebSocketFrames::begin_frame() {
  const auto first = byte_at(header_, 0);
  const bool masked = (byte_at(header_, 1) & 0x80U) != 0;
  opcode_ = static_cast<std::uint8_t>(first & 0x0fU);
  last_ = (first & 0x80U) != 0;
  // No extension was agreed on, so the reserved bits are zero; a client's frames are masked, a server's are not.
  if ((first & 0x70U) != 0 || masked != (role_ == StreamRole::kServer)) return WebSocketClose::kProtocol;
  left_ = byte_at(header_, 1) & 0x7fU;
  if (left_ >= 126) {
    const std::size_t size = left_ == 126 ? 2 : 8;
    left_ = 0;
    for (std::size_t i = 0; i < size; ++i) left_ = (left_ << 8U) | byte_at(header_, 2 + i);
  }
  read_ = 0;
  control_.clear();
  if (opcode_ == kClose || opcode_ == kPing || opcode_ == kPong)
    return last_ && left_ <= kMaxControl ? WebSocketClose::kNone : WebSocketClose::kProtocol;
  if (opcode_ == kContinuation ? !in_message_ : in_message_ || opcode_ > kBinary) return WebSocketClose::kProtocol;
  if (left_ > kMaxFrame) return WebSocketClose::kTooBig;
  if (opcode_ != kContinuation) {
    in_message_ = begins_ = true;
    text_ = opcode_ == kText;
  }
  return WebSocketClose::kNone;
}

WebSocketClose WebSocketFrames::control_frame() {
  if (opcode_ == kPing && !close_sent_) write(kPong, control_);
  if (opcode_ != kClose) return WebSocketClose::kNone;
  if (control_.size() == 1) return WebSocketClose::kProtocol;
  const auto code = control_.empty() ? 0U : byte_at(control_, 0) * 256U + byte_at(control_, 1);
  if (!control_.empty() && !may_be_sent(static_cast<std::uint16_t>(code))) return WebSocketClose::kProtocol;
  if (!close_sent_) write(kClose, std::string_view(control_).substr(0, 2));
  close_sent_ = over_ = true;
  return WebSocketClose::kNone;
}

bool WebSocketFrames::give_up(WebSocketClose why) {
  close(why);
  over_ = true;
  return false;
}

bool WebSocketFrames::feed(std::string_view bytes, const std::function<WebSocketClose(const WebSocketPiece&)>& take) {
  while (!bytes.empty() && !over_) {
    if (header_.size() < 2 || header_.size() < header_size()) {
      header_ += bytes.front();
      bytes.remove_prefix(1);
      if (header_.size() < 2 || header_.size() < header_size()) continue;
      if (const auto wrong = begin_frame(); wrong != WebSocketClose::kNone) return give_up(wrong);
    }
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    piece_.assign(bytes.substr(0, size));
    bytes.remove_prefix(size);
    if (role_ == StreamRole::kServer) {
      const std::string_view mask = std::string_view(header_).substr(header_.size() - 4);
      for (char& c : piece_) c = static_cast<char>(c ^ mask[read_++ % 4]);
    }
    left_ -= size;
    if ((opcode_ & 0x8U) != 0) {
      control_ += piece_;
    } else if (!close_sent_ && (size > 0 || left_ == 0)) {
      const WebSocketPiece piece{text_, begins_, last_ && left_ == 0, piece_};
      begins_ = false;
      if (const auto wrong = take(piece); wrong != WebSocketClose::kNone) return give_up(wrong);
    }
    if (left_ > 0) continue;
    header_.clear();
    if ((opcode_ & 0x8U) == 0) {
      in_message_ = !last_;
    } else if (const auto wrong = control_frame(); wrong != WebSocketClose::kNone) {
      return give_up(wrong);
    }
  }
  return !over_;
}

void WebSocketFrames::send(std::string_view head, std::string_view rest) {
  if (!close_sent_) write(kBinary, head, rest);
}

void WebSocketFrames::ping() {
  if (!close_sent_) write(kPing, {});
}

void WebSocketFrames::close(WebSocketClose why) {
  if (close_sent_) return;
  write(kClose, code_bytes(static_cast<std::uint16_t>(why)));
  close_sent_ = true;
}

void WebSocketFrames::write(std::uint8_t opcode, std::string_view head, std::string_view rest) {
  const std::uint64_t size = head.size() + rest.size();
  const unsigned mask_bit = role_ == StreamRole::kClient ? 0x80U : 0U;
  output_ += static_cast<char>(0x80U | opcode);
  if (size < 126) {
    output_ += static_cast<char>(mask_bit | size);
  } else {
    const int bytes = size <= 0xffff ? 2 : 8;
    output_ += static_cast<char>(mask_bit | (bytes == 2 ? 126U : 127U));
    for (int i = bytes - 1; i >= 0; --i) output_ += static_cast<char>((size >> (8U * static_cast<unsigned>(i))) & 0xffU);
  }
  if (role_ == StreamRole::kServer) {
    output_.append(head).append(rest);
    return;
  }
  // Not for secrecy: no intermediary is to mistake what a client sends for something else (RFC 6455 10.3).
  std::array<unsigned char, 4> mask{};
  RAND_bytes(mask.data(), static_cast<int>(mask.size()));
  output_.append(reinterpret_cast<const char*>(mask.data()), mask.size());
  const auto begin = output_.size();
  output_.append(head).append(rest);
  for (std::size_t i = begin; i < output_.size(); ++i) output_[i] = static_cast<char>(output_[i] ^ mask[(i - begin) % 4]);
}

}  // namespace fleetadm::kube
