#include "kubeclient/transport/gunzip.h"

#include <vector>
#include <zlib.h>

namespace fleetadm::kube {
namespace {

constexpr int kGzipWindow = 15 + 16;  // the largest window, in gzip's framing
constexpr std::size_t kInflated = std::size_t{64} * 1024;

}  // namespace

struct Gunzip::Zlib {
  z_stream stream{};
  bool ready = inflateInit2(&stream, kGzipWindow) == Z_OK;
  bool ended = false;
  std::vector<char> piece = std::vector<char>(kInflated);

  Zlib() = default;
  Zlib(const Zlib&) = delete;
  Zlib& operator=(const Zlib&) = delete;
  ~Zlib() {
    if (ready) inflateEnd(&stream);
  }
};

Gunzip::Gunzip() : zlib_(std::make_unique<Zlib>()) {}
Gunzip::~Gunzip() = default;

bool Gunzip::ended() const { return zlib_->ended; }

Gunzip::State Gunzip::feed(std::string_view bytes, const Take& take) {
  if (!zlib_->ready) return State::kBroken;
  z_stream& stream = zlib_->stream;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib reads its input only
  stream.avail_in = static_cast<uInt>(bytes.size());
  bool full = true;  // what was asked for last filled the piece: there may be more
  while ((stream.avail_in > 0 || full) && !zlib_->ended) {
    stream.next_out = reinterpret_cast<Bytef*>(zlib_->piece.data());
    stream.avail_out = kInflated;
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) return State::kBroken;
    zlib_->ended = result == Z_STREAM_END;
    const std::size_t size = kInflated - stream.avail_out;
    full = stream.avail_out == 0;
    if (size > 0 && !take({zlib_->piece.data(), size})) return State::kUnwanted;
    if (size == 0 && result == Z_BUF_ERROR) break;
  }
  // What stands behind the end is another member, or nothing that was promised.
  return zlib_->ended && stream.avail_in > 0 ? State::kBroken : State::kGoesOn;
}

}  // namespace fleetadm::kube
