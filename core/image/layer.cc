#include "core/image/layer.h"

#include <algorithm>
#include <array>
#include <zlib.h>

#include "core/image/digest.h"

namespace fleetadm::image {
namespace {

constexpr std::string_view kLayerType = "application/vnd.oci.image.layer.v1.tar+gzip";
constexpr int kLargestGzipWindow = 15 + 16;  // in gzip's framing, which zlib writes without a time and a name
constexpr int kUsualMemory = 8;
constexpr std::size_t kMaxPiece = 1U << 30U;  // what fits zlib's counts for sure

class Deflater {
 public:
  Deflater() { good_ = deflateInit2(&stream_, 6, Z_DEFLATED, kLargestGzipWindow, kUsualMemory, Z_DEFAULT_STRATEGY) == Z_OK; }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  ~Deflater() { deflateEnd(&stream_); }

  Status add(std::string_view data) {
    while (!data.empty()) {
      const std::string_view piece = data.substr(0, kMaxPiece);
      FLEETADM_CHECK(run(piece, Z_NO_FLUSH));
      data.remove_prefix(piece.size());
    }
    return {};
  }
  Result<std::string> finish() {
    FLEETADM_CHECK(run({}, Z_FINISH));
    return std::move(out_);
  }

 private:
  Status run(std::string_view data, int flush) {
    // zlib's interface is older than const; it does not write there.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
    stream_.avail_in = static_cast<uInt>(data.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      if (!good_ || deflate(&stream_, flush) == Z_STREAM_ERROR) return fail(Category::kInternal, "a layer cannot be compressed");
      out_.append(buffer_.data(), buffer_.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
    return {};
  }

  z_stream stream_{};
  bool good_ = false;
  std::array<char, 65536> buffer_{};
  std::string out_;
};

}  // namespace

Blob make_blob(std::string media_type, std::string content) {
  std::string digest = digest_of(content);
  return {std::move(media_type), std::move(digest), std::move(content)};
}

Result<Layer> make_layer(const FileTree& files) {
  Deflater deflater;
  Digester digester;
  FLEETADM_CHECK(files.write([&](std::string_view piece) {
    digester.add(piece);
    return deflater.add(piece);
  }));
  FLEETADM_TRY(std::string content, deflater.finish());
  return Layer{make_blob(std::string(kLayerType), std::move(content)), digester.finish()};
}

}  // namespace fleetadm::image
