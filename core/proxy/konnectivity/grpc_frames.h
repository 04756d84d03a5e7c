// gRPC's messages in the body of an HTTP/2 stream: each has a flag and its length before it. Untrusted input.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm::konnectivity {

void append_grpc_frame(std::string& out, std::string_view message);

/// Takes a body piece by piece, and gives its messages. It holds no more than one message and what came with its end.
class GrpcFrames {
 public:
  explicit GrpcFrames(std::size_t most) : most_(most) {}

  void feed(std::string_view bytes) { held_.append(bytes); }
  /// The next message; nothing: more has to come. kInvalid where one is longer than `most`, which its length says before any of
  /// it is held; kUnsupported where one is compressed. After an Error it gives nothing else.
  Result<std::optional<std::string>> next();
  /// The body is over: kInvalid where it broke off in a message.
  Status end() const;
  std::size_t held() const { return held_.size() - begin_; }

 private:
  const std::size_t most_;
  std::string held_;
  std::size_t begin_ = 0;  // of what was not given yet
};

}  // namespace fleetadm::konnectivity
