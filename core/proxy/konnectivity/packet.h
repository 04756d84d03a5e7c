// What the two ends of konnectivity's tunnels say to each other: protobuf messages, each in a frame of gRPC's
// (grpc_frames.h). Untrusted input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm::konnectivity {

inline constexpr std::size_t kMostPacketBytes = std::size_t{4} * 1024 * 1024;  // what gRPC takes by default
inline constexpr std::size_t kMostAddressBytes = 512;                          // of "host:port"

enum class PacketType {
  kDialRequest = 0,
  kDialResponse = 1,
  kCloseRequest = 2,
  kCloseResponse = 3,
  kData = 4,
  kDialClose = 5,  // the client no longer waits for its dial
  kDrain = 6,      // the agent is about to leave
  kOther = 7,      // of a later version: to be ignored
};

struct Packet {
  PacketType type = PacketType::kDialRequest;
  std::string protocol = {};    // of a dial request: "tcp"
  std::string address = {};     // of a dial request: "host:port"
  std::int64_t random = 0;      // of what concerns a dial: which one, as the client numbers them
  std::int64_t connection = 0;  // of what comes after it: which connection, as the agent numbers them
  std::string error = {};       // of responses and data; empty: none
  std::string data = {};

  bool operator==(const Packet&) const = default;
};

/// Without gRPC's frame.
std::string encode_packet(const Packet& packet);
/// kInvalid for what is no packet: broken off, without what its type demands or with what belongs to another, texts that are not
/// UTF-8, an address that is too long. Unknown fields are skipped.
Result<Packet> decode_packet(std::string_view bytes);

std::string_view to_string(PacketType type);

}  // namespace fleetadm::konnectivity
