#include "kubeclient/stream/spdy_headers.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <zlib.h>

namespace fleetadm::kube {
namespace {

std::string be32(std::size_t value) {
  return {static_cast<char>((value >> 24U) & 0xffU), static_cast<char>((value >> 16U) & 0xffU),
          static_cast<char>((value >> 8U) & 0xffU), static_cast<char>(value & 0xffU)};
}

/// SPDY/3, 2.6.10.1: words with their lengths, then plain text.
std::string make_dictionary() {
  static constexpr const char* kWords[] = {"options",
                                           "head",
                                           "post",
                                           "put",
                                           "delete",
                                           "trace",
                                           "accept",
                                           "accept-charset",
                                           "accept-encoding",
                                           "accept-language",
                                           "accept-ranges",
                                           "age",
                                           "allow",
                                           "authorization",
                                           "cache-control",
                                           "connection",
                                           "content-base",
                                           "content-encoding",
                                           "content-language",
                                           "content-length",
                                           "content-location",
                                           "content-md5",
                                           "content-range",
                                           "content-type",
                                           "date",
                                           "etag",
                                           "expect",
                                           "expires",
                                           "from",
                                           "host",
                                           "if-match",
                                           "if-modified-since",
                                           "if-none-match",
                                           "if-range",
                                           "if-unmodified-since",
                                           "last-modified",
                                           "location",
                                           "max-forwards",
                                           "pragma",
                                           "proxy-authenticate",
                                           "proxy-authorization",
                                           "range",
                                           "referer",
                                           "retry-after",
                                           "server",
                                           "te",
                                           "trailer",
                                           "transfer-encoding",
                                           "upgrade",
                                           "user-agent",
                                           "vary",
                                           "via",
                                           "warning",
                                           "www-authenticate",
                                           "method",
                                           "get",
                                           "status",
                                           "200 OK",
                                           "version",
                                           "HTTP/1.1",
                                           "url",
                                           "public",
                                           "set-cookie",
                                           "keep-alive",
                                           "origin"};
  static constexpr const char* kText =
      "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative "
      "Information"
      "204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error"
      "501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, "
      "Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
      "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";
  std::string text;
  for (const std::string_view word : kWords) text.append(be32(word.size())).append(word);
  return text + kText;
}

const std::string& dictionary() {
  static const std::string text = make_dictionary();
  return text;
}

Bytef* bytes_of(std::string_view text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib's own pointers are not const; it only reads
}

bool take_number(std::string_view& text, std::size_t& number) {
  if (text.size() < 4) return false;
  number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = (number << 8U) | static_cast<std::uint8_t>(text[i]);
  text.remove_prefix(4);
  return true;
}

bool take_text(std::string_view& text, std::string& into) {
  std::size_t size = 0;
  if (!take_number(text, size) || size > text.size()) return false;
  into = text.substr(0, size);
  text.remove_prefix(size);
  return true;
}

/// As the protocol demands: a name in capitals would be another one to whoever looks for it.
bool is_lower_case(std::string_view name) {
  return std::none_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

Result<SpdyHeaders> pairs_of(std::string_view text) {
  SpdyHeaders headers;
  std::size_t count = 0;
  bool whole = take_number(text, count);
  for (std::size_t i = 0; whole && i < count; ++i) {
    auto& [name, value] = headers.emplace_back();
    whole = take_text(text, name) && take_text(text, value) && is_lower_case(name);
  }
  if (!whole || !text.empty()) return fail(Category::kInvalid, "a SPDY header block is not well-formed");
  return headers;
}

}  // namespace

struct SpdyHeaderReader::Zlib {
  z_stream stream{};
  bool ready = inflateInit(&stream) == Z_OK;
  Zlib() = default;
  Zlib(const Zlib&) = delete;
  Zlib& operator=(const Zlib&) = delete;
  ~Zlib() { inflateEnd(&stream); }
};

struct SpdyHeaderWriter::Zlib {
  z_stream stream{};
  bool ready = deflateInit(&stream, Z_BEST_COMPRESSION) == Z_OK &&
               deflateSetDictionary(&stream, bytes_of(dictionary()), static_cast<uInt>(dictionary().size())) == Z_OK;
  Zlib() = default;
  Zlib(const Zlib&) = delete;
  Zlib& operator=(const Zlib&) = delete;
  ~Zlib() { deflateEnd(&stream); }
};

std::string spdy_header(const SpdyHeaders& headers, std::string_view name) {
  const auto at = std::find_if(headers.begin(), headers.end(), [&](const auto& header) { return header.first == name; });
  return at == headers.end() ? std::string() : at->second;
}

SpdyHeaderReader::SpdyHeaderReader() : zlib_(std::make_unique<Zlib>()) {}
SpdyHeaderReader::~SpdyHeaderReader() = default;
SpdyHeaderReader::SpdyHeaderReader(SpdyHeaderReader&&) noexcept = default;
SpdyHeaderReader& SpdyHeaderReader::operator=(SpdyHeaderReader&&) noexcept = default;
SpdyHeaderWriter::SpdyHeaderWriter() : zlib_(std::make_unique<Zlib>()) {}
SpdyHeaderWriter::~SpdyHeaderWriter() = default;
SpdyHeaderWriter::SpdyHeaderWriter(SpdyHeaderWriter&&) noexcept = default;
SpdyHeaderWriter& SpdyHeaderWriter::operator=(SpdyHeaderWriter&&) noexcept = default;

Result<SpdyHeaders> SpdyHeaderReader::read(std::string_view block) {
  z_stream& stream = zlib_->stream;
  stream.next_in = bytes_of(block);
  stream.avail_in = static_cast<uInt>(block.size());
  std::string text;
  std::array<char, 4096> piece{};
  while (zlib_->ready) {
    stream.next_out = bytes_of({piece.data(), piece.size()});
    stream.avail_out = static_cast<uInt>(piece.size());
    int done = inflate(&stream, Z_SYNC_FLUSH);
    if (done == Z_NEED_DICT) {
      done = inflateSetDictionary(&stream, bytes_of(dictionary()), static_cast<uInt>(dictionary().size()));
      if (done == Z_OK) continue;
    }
    text.append(piece.data(), piece.size() - stream.avail_out);
    if (text.size() > kMaxSpdyHeaderBytes) return fail(Category::kInvalid, "a SPDY header block is too large");
    if (done == Z_BUF_ERROR && stream.avail_in == 0) return pairs_of(text);  // there was nothing left to do
    if (done != Z_OK) break;
    if (stream.avail_in == 0 && stream.avail_out > 0) return pairs_of(text);
  }
  zlib_->ready = false;
  return fail(Category::kInvalid, "a SPDY header block cannot be decompressed");
}

std::string SpdyHeaderWriter::write(const SpdyHeaders& headers) {
  std::string text = be32(headers.size());
  for (const auto& [name, value] : headers) text.append(be32(name.size())).append(name).append(be32(value.size())).append(value);
  z_stream& stream = zlib_->stream;
  stream.next_in = bytes_of(text);
  stream.avail_in = static_cast<uInt>(text.size());
  std::string block;
  std::array<char, 1024> piece{};
  while (zlib_->ready) {
    stream.next_out = bytes_of({piece.data(), piece.size()});
    stream.avail_out = static_cast<uInt>(piece.size());
    deflate(&stream, Z_SYNC_FLUSH);
    block.append(piece.data(), piece.size() - stream.avail_out);
    if (stream.avail_out > 0) break;
  }
  return block;
}

}  // namespace fleetadm::kube
