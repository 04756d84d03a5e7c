#include "kubeclient/base/cached_object.h"

#include <limits>
#include <utility>
#include <zlib.h>

namespace fleetadm::kube {
namespace {

// Bytes. Longer objects are works and add-ons, of which a hub keeps several for each cluster and reads few at a time; shorter
// ones are clusters, which placements read all at once.
constexpr std::size_t kDeflateFrom = 2048;
// As little memory as an object of this size needs: the state is made anew for each.
constexpr int kWindowBits = -12;  // raw
constexpr int kMemLevel = 5;

Bytef* bytes_of(const std::string& text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib reads its input only
}

/// Empty where it cannot be done, or does not help.
std::string deflated(const std::string& text) {
  std::string out;
  z_stream stream{};
  if (text.size() > std::numeric_limits<uInt>::max()) return out;
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kWindowBits, kMemLevel, Z_DEFAULT_STRATEGY) != Z_OK) return out;
  out.resize(text.size());
  stream.next_in = bytes_of(text);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = bytes_of(out);
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(done ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

std::string inflated(const std::string& packed, std::size_t size) {
  std::string out(size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, kWindowBits) != Z_OK) return {};
  stream.next_in = bytes_of(packed);
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = bytes_of(out);
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = inflate(&stream, Z_FINISH) == Z_STREAM_END;
  inflateEnd(&stream);
  return done ? out : std::string();
}

}  // namespace

CachedObject::CachedObject(std::string key, const Json& object)
    : key_(std::move(key)), resource_version_(resource_version_of(object)), uid_(uid_of(object)) {
  if (fleetadm::find(object, {"metadata", "managedFields"}) != nullptr) {
    Json lean = object;
    erase_at(lean, {"metadata", "managedFields"});
    text_ = dump_json(lean);
  } else {
    text_ = dump_json(object);
  }
  if (text_.size() >= kDeflateFrom) {
    if (std::string packed = deflated(text_); !packed.empty()) {
      plain_size_ = text_.size();
      text_ = std::move(packed);
    }
  }
  text_.shrink_to_fit();
}

Json CachedObject::decode() const {
  // The text is our own dump of a parsed object: it parses.
  auto object = parse_json(plain_size_ == 0 ? text_ : inflated(text_, plain_size_));
  return object ? std::move(*object) : Json::object();
}

}  // namespace fleetadm::kube
