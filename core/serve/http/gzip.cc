#include "core/serve/http/gzip.h"

#include <optional>
#include <zlib.h>

namespace fleetadm::serve {
namespace {

constexpr int kFastest = 1;
constexpr int kGzipWindow = 15 + 16;  // the largest window, in gzip's framing
constexpr int kGzipMemory = 8;

bool accepts_gzip(std::string_view encodings) {
  while (!encodings.empty()) {
    const auto comma = encodings.find(',');
    auto one = encodings.substr(0, comma);
    while (!one.empty() && (one.front() == ' ' || one.front() == '\t')) one.remove_prefix(1);
    while (!one.empty() && (one.back() == ' ' || one.back() == '\t')) one.remove_suffix(1);
    if (one == "gzip") return true;
    if (comma == std::string_view::npos) break;
    encodings.remove_prefix(comma + 1);
  }
  return false;
}

std::optional<std::string> gzipped(const std::string& text) {
  z_stream stream{};
  if (deflateInit2(&stream, kFastest, Z_DEFLATED, kGzipWindow, kGzipMemory, Z_DEFAULT_STRATEGY) != Z_OK) return std::nullopt;
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  // zlib's interface is older than const; it does not write there.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (!done) return std::nullopt;
  return out;
}

}  // namespace

void compress_answer(const HttpRequest& request, HttpResponse& answer) {
  constexpr std::size_t kMaxAtOnce = 1024UL * 1024 * 1024;  // what fits zlib's counts for sure
  if (answer.stream || answer.body.size() <= kGzipFrom || answer.body.size() > kMaxAtOnce) return;
  if (!accepts_gzip(request.header("accept-encoding"))) return;
  auto small = gzipped(answer.body);
  if (!small) return;
  answer.body = std::move(*small);
  answer.headers.emplace_back("content-encoding", "gzip");
  answer.headers.emplace_back("vary", "Accept-Encoding");
}

}  // namespace fleetadm::serve
