// Large answers, compressed for clients that take them so.
#pragma once

#include <string>
#include <string_view>

#include "core/serve/http/message.h"

namespace fleetadm::serve {

inline constexpr std::size_t kGzipFrom = 128 * 1024;  // bytes of a body, as kube-apiserver has it

/// Compresses the body where it is larger than kGzipFrom and one of the encodings that the request accepts is plain "gzip", as
/// kube-apiserver reads it. Streams and what cannot be compressed stay as they are.
void compress_answer(const HttpRequest& request, HttpResponse& answer);

}  // namespace fleetadm::serve
