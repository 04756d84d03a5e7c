// A request as HTTP/1.1 sends it to an API server.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/proxy/hop/client_left.h"
#include "core/proxy/hop/hop.h"
#include "core/proxy/hop/request_head.h"
#include "core/serve/http/body_pipe.h"

namespace fleetadm::proxy {

struct OutgoingRequest {
  std::string head;
  std::string body;
  std::shared_ptr<serve::BodyReader> content;  // instead of the body
  std::optional<std::uint64_t> length;         // of the content; without, it is sent in chunks
  bool head_only = false;                      // HEAD
  bool upgrade = false;                        // an answer of 101 is in order
  bool repeatable = false;                     // has no body, and sent twice, does what it does once
  bool repeated = false;
  std::uint64_t number = 0;  // of the hop
  WhenLeft left;             // until it has an answer
  Hop::Done done;
};

/// All of it but `number`, `left` and `done`. `token`: the bearer, where it is not empty. 400 (kInvalid) as write_request_head().
Result<OutgoingRequest> outgoing_request(serve::HttpRequest request, const ServerAddress& address, std::string_view token);

}  // namespace fleetadm::proxy
