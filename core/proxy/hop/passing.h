// What a server that stands before a hop lets through. Pure.
#pragma once

#include <string>

#include "core/serve/http/message.h"

namespace fleetadm::proxy {

/// The protocol of an upgrade that goes on; empty: none. What runs on the connection then is spliced unseen, so it is only what
/// API servers speak: another kind of HTTP (h2c) would carry requests that nobody has judged.
std::string passing_upgrade(const serve::Headers& headers);

/// Drops what is of one connection, and what says who asks, from where or for whom (headers.h); an upgrade stays where it is one
/// that passes. An expectation goes, too: the listener has answered it.
void clean_request(serve::HttpRequest& request);

/// The same of an answer. False: it is not an answer to such a request.
bool clean_answer(serve::HttpResponse& answer, bool asked_upgrade, bool head_only);

}  // namespace fleetadm::proxy
