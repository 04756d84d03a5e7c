#include "core/image/tar.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace fleetadm::image {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kMaxName = 100;
constexpr std::size_t kMaxPrefix = 155;

// One header block; the fields stand where the format has them, in octal digits.
class Header {
 public:
  void text(std::size_t at, std::size_t width, std::string_view value) {
    std::memcpy(bytes_.data() + at, value.data(), std::min(width, value.size()));
  }
  void number(std::size_t at, std::size_t width, std::uint64_t value) {
    for (std::size_t digit = width - 1; digit-- > 0; value >>= 3U) bytes_[at + digit] = static_cast<char>('0' + (value & 7U));
  }
  std::string_view sealed() {
    text(148, 8, "        ");
    unsigned sum = 0;
    for (const char byte : bytes_) sum += static_cast<unsigned char>(byte);
    number(148, 7, sum);
    bytes_[154] = '\0';
    return {bytes_.data(), bytes_.size()};
  }

 private:
  std::array<char, kBlock> bytes_{};
};

char type_of(TarEntry::Kind kind) {
  switch (kind) {
    case TarEntry::Kind::kFolder: return '5';
    case TarEntry::Kind::kLink: return '2';
    case TarEntry::Kind::kFile: break;
  }
  return '0';
}

/// The name, in two parts where it is long.
Status put_name(Header& header, const std::string& path) {
  if (path.size() <= kMaxName) {
    header.text(0, kMaxName, path);
    return {};
  }
  // The prefix ends at a slash, which is not written.
  const std::size_t slash = path.find('/', path.size() - kMaxName - 1);
  if (slash == std::string::npos || slash > kMaxPrefix || slash + 1 == path.size())
    return fail(Category::kInvalid, "the path \"" + path + "\" is too long for an archive");
  header.text(345, kMaxPrefix, std::string_view(path).substr(0, slash));
  header.text(0, kMaxName, std::string_view(path).substr(slash + 1));
  return {};
}

}  // namespace

Status TarWriter::add(const TarEntry& entry, std::string_view content) {
  Header header;
  FLEETADM_CHECK(put_name(header, entry.kind == TarEntry::Kind::kFolder ? entry.path + "/" : entry.path));
  if (entry.target.size() > kMaxName)
    return fail(Category::kInvalid, "the link \"" + entry.path + "\" leads to a path that is too long for an archive");
  header.number(100, 8, entry.mode);
  header.number(108, 8, entry.owner);
  header.number(116, 8, entry.owner);
  header.number(124, 12, content.size());
  header.number(136, 12, 0);  // the time
  header.text(156, 1, std::string(1, type_of(entry.kind)));
  header.text(157, kMaxName, entry.target);
  header.text(257, 6, std::string_view("ustar\0", 6));
  header.text(263, 2, "00");
  header.number(329, 8, 0);  // no device
  header.number(337, 8, 0);
  FLEETADM_CHECK(sink_(header.sealed()));
  if (content.empty()) return {};
  FLEETADM_CHECK(sink_(content));
  const std::size_t rest = content.size() % kBlock;
  return rest == 0 ? Status{} : sink_(std::string(kBlock - rest, '\0'));
}

Status TarWriter::finish() { return sink_(std::string(2 * kBlock, '\0')); }

}  // namespace fleetadm::image
