#include "core/proxy/konnectivity/grpc_frames.h"

#include <cstdint>
#include <utility>

namespace fleetadm::konnectivity {
namespace {

constexpr std::size_t kPrefix = 5;

}  // namespace

void append_grpc_frame(std::string& out, std::string_view message) {
  const auto size = static_cast<std::uint32_t>(message.size());
  out += '\0';
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((size >> shift) & 0xFFU);
  out += message;
}

Result<std::optional<std::string>> GrpcFrames::next() {
  const std::string_view rest = std::string_view(held_).substr(begin_);
  if (rest.empty()) return std::nullopt;
  if (rest[0] == 1) return fail(Category::kUnsupported, "a gRPC message is compressed");
  if (rest[0] != 0) return fail(Category::kInvalid, "malformed gRPC message: its flag says nothing");
  if (rest.size() < kPrefix) return std::nullopt;
  std::size_t size = 0;
  for (std::size_t i = 1; i < kPrefix; ++i) size = (size << 8) | static_cast<std::uint8_t>(rest[i]);
  if (size > most_) return fail(Category::kInvalid, "a gRPC message is too long: " + std::to_string(size) + " bytes");
  if (rest.size() - kPrefix < size) {
    if (begin_ > 0) held_.erase(0, std::exchange(begin_, 0));
    return std::nullopt;
  }
  std::string message(rest.substr(kPrefix, size));
  begin_ += kPrefix + size;
  if (begin_ == held_.size()) {
    held_.clear();
    begin_ = 0;
  }
  return message;
}

Status GrpcFrames::end() const {
  if (held() == 0) return {};
  return fail(Category::kInvalid, "a gRPC message is broken off");
}

}  // namespace fleetadm::konnectivity
