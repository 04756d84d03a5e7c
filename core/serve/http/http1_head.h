// The head of a request of HTTP/1.1, as Beast has parsed it: which ones are refused, and what they ask for.
#pragma once

#include <boost/beast/core/error.hpp>
#include <boost/beast/http/message.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/serve/http/message.h"

namespace fleetadm::serve {

using Http1Head = boost::beast::http::request_header<>;

/// Why a request is refused before anybody has seen it.
struct Refusal {
  int status = 0;
  std::string why;
};

/// Of a head that must not be answered by what it seems to ask: whoever stands in front of this server could read where the
/// request ends, or whom it is for, in another way.
std::optional<Refusal> ambiguous(const Http1Head& head);

/// Of what begins with a head: a header goes on in the next line, which nobody sends any more and not everybody reads in the
/// same way.
bool is_folded(std::string_view input);

/// Of what the parser cannot take. `most_header`: bytes of a head.
Refusal refusal_of(const boost::beast::error_code& error, std::size_t most_header);

/// The head as a request without a body.
HttpRequest request_of(const Http1Head& head, std::shared_ptr<const Peer> peer);

/// The client may send another request on the connection.
bool keeps_connection(const Http1Head& head);

}  // namespace fleetadm::serve
