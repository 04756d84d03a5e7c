#include "core/proxy/konnectivity/packet_stream.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace fleetadm::konnectivity {
namespace {

constexpr std::size_t kMostUnsent = PacketStream::kWindow;
constexpr std::size_t kMostHeaderValue = 1024;
constexpr std::size_t kMostMetadata = 64;
constexpr std::string_view kGrpc = "application/grpc";

}  // namespace

const nghttp2_session_callbacks* PacketStream::callbacks() {
  static const nghttp2_session_callbacks* const kCallbacks = kube::Http2Callbacks<PacketStream>()
                                                                 .header<&PacketStream::on_header>()
                                                                 .frame_received<&PacketStream::on_frame>()
                                                                 .data<&PacketStream::on_data>()
                                                                 .closed<&PacketStream::on_closed>()
                                                                 .keep();
  return kCallbacks;
}

PacketStream::PacketStream(serve::ProtocolHost host, const std::string& authority, const std::string& method,
                           const serve::Headers& metadata)
    : host_(std::move(host)) {
  nghttp2_option* options = nullptr;
  nghttp2_option_new(&options);
  nghttp2_option_set_no_auto_window_update(options, 1);  // the window opens as the socket's user reads
  nghttp2_session* session = nullptr;
  nghttp2_session_client_new2(&session, callbacks(), this, options);
  nghttp2_option_del(options);
  session_.reset(session);
  const std::array<nghttp2_settings_entry, 2> settings = {
      {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}, {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(kWindow)}}};
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, static_cast<std::int32_t>(2 * kWindow));
  std::vector<nghttp2_nv> head = {kube::http2_field(":method", "POST"),       kube::http2_field(":scheme", "https"),
                                  kube::http2_field(":path", method),         kube::http2_field(":authority", authority),
                                  kube::http2_field("content-type", kGrpc),   kube::http2_field("te", "trailers"),
                                  kube::http2_field("user-agent", "fleetadm")};
  for (const auto& [name, value] : metadata) head.push_back(kube::http2_field(name, value));
  nghttp2_data_provider provider{};
  provider.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* buffer, std::size_t size, std::uint32_t*,
                              nghttp2_data_source*, void* self) -> ssize_t {
    auto& here = *static_cast<PacketStream*>(self);
    const std::size_t count = std::min(size, here.outgoing_.size() - here.given_);
    if (count == 0) return NGHTTP2_ERR_DEFERRED;
    std::memcpy(buffer, here.outgoing_.data() + here.given_, count);
    here.given_ += count;
    if (here.given_ == here.outgoing_.size()) {
      here.outgoing_.clear();
      here.given_ = 0;
    }
    return static_cast<ssize_t>(count);
  };
  id_ = nghttp2_submit_request(session, nullptr, head.data(), head.size(), &provider, nullptr);
}

PacketStream::~PacketStream() = default;

bool PacketStream::feed(std::string_view bytes) {
  if (over_) return false;
  heard_ = true;
  const auto used = nghttp2_session_mem_recv(session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (used < 0) {
    break_off({.category = Category::kInvalid,
               .message = std::string("the konnectivity server broke HTTP/2: ") + nghttp2_strerror(static_cast<int>(used))});
  }
  give_credit();
  return !over_;
}

void PacketStream::output(std::string& into, std::size_t most) {
  while (into.size() < most) {
    const std::uint8_t* data = nullptr;
    const auto size = nghttp2_session_mem_send(session_.get(), &data);
    if (size <= 0) break;
    into.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
  }
  if (!over_ && unsent() < kMostUnsent) has_room();
}

void PacketStream::gone() {
  over_ = true;
  if (failure_) return ended(*failure_);
  if (!heard_) {
    return ended({.category = Category::kTls,
                  .message = "the konnectivity server closed the connection: it may not take the certificate"});
  }
  ended({.category = Category::kUnavailable, .message = "the konnectivity server closed the connection"});
}

int PacketStream::on_header(const nghttp2_frame*, std::string_view name, std::string_view value) {
  value = value.substr(0, kMostHeaderValue);
  if (is_head_ && metadata_.size() < kMostMetadata) metadata_.emplace_back(name, value);
  if (name == ":status") status_ = value;
  if (name == "content-type") content_type_ = value;
  if (name == "grpc-status") grpc_status_ = value;
  if (name == "grpc-message") grpc_message_ = value;
  return 0;
}

int PacketStream::on_frame(const nghttp2_frame* frame) {
  if (frame->hd.type == NGHTTP2_HEADERS) on_head_end((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0);
  return 0;
}

void PacketStream::on_head_end(bool last) {
  if (is_head_ && (status_ != "200" || !content_type_.starts_with(kGrpc))) {
    break_off({.category = Category::kInvalid,
               .message = "what answers is no konnectivity server: it answered " + status_ + " " + content_type_});
  }
  if (std::exchange(is_head_, false) && !over_ && !last) begun(std::exchange(metadata_, {}));
  if (last && !grpc_status_.empty() && grpc_status_ != "0") {
    break_off({.category = Category::kUnavailable,
               .message = "the konnectivity server ended the stream (gRPC status " + grpc_status_ + "): " + grpc_message_});
  }
}

int PacketStream::on_data(std::int32_t, std::string_view data) {
  nghttp2_session_consume_connection(session_.get(), data.size());
  uncredited_ += data.size();
  frames_.feed(data);
  while (!over_) {
    auto message = frames_.next();
    if (!message) {
      break_off(message.error().wrap("the konnectivity server"));
      break;
    }
    if (!*message) break;
    const auto packet = decode_packet(**message);
    if (!packet) {
      break_off(packet.error().wrap("the konnectivity server"));
      break;
    }
    take(*packet);
  }
  return 0;
}

void PacketStream::say(const Packet& packet) {
  if (given_ > kMostUnsent) outgoing_.erase(0, std::exchange(given_, 0));
  append_grpc_frame(outgoing_, encode_packet(packet));
  nghttp2_session_resume_data(session_.get(), id_);
  host_.flush();
}

void PacketStream::give_credit() {
  if (over_ || uncredited_ == 0 || is_full()) return;
  nghttp2_session_consume_stream(session_.get(), id_, std::exchange(uncredited_, 0));
}

void PacketStream::break_off(Error error) {
  over_ = true;
  if (!failure_) failure_ = std::move(error);
}

}  // namespace fleetadm::konnectivity
