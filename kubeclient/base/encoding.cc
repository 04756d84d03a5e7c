#include "kubeclient/base/encoding.h"

#include <array>
#include <cstdlib>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

namespace fleetadm {
namespace {

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr unsigned char kNoDigit = 0xFF;
constexpr auto kBase64Digits = [] {  // by character
  std::array<unsigned char, 256> digits{};
  digits.fill(kNoDigit);
  for (std::size_t i = 0; i < kBase64.size(); ++i) digits[static_cast<unsigned char>(kBase64[i])] = static_cast<unsigned char>(i);
  return digits;
}();
constexpr char kHex[] = "0123456789abcdef";

void random_bytes(unsigned char* out, int size) {
  // Without randomness no name, serial or key of ours is safe; there is nothing to fall back on.
  if (RAND_bytes(out, size) != 1) std::abort();
}

std::string hex(const unsigned char* bytes, std::size_t size) {
  std::string out;
  out.reserve(2 * size);
  for (std::size_t i = 0; i < size; ++i) {
    out += kHex[bytes[i] >> 4U];
    out += kHex[bytes[i] & 0xFU];
  }
  return out;
}

}  // namespace

std::string random_suffix(int length) {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  constexpr unsigned kFair = 256 / kAlphabet.size() * kAlphabet.size();
  std::string out;
  while (out.size() < static_cast<std::size_t>(length < 0 ? 0 : length)) {
    unsigned char byte = 0;
    random_bytes(&byte, 1);
    if (byte < kFair) out += kAlphabet[byte % kAlphabet.size()];
  }
  return out;
}

std::string random_uuid() {
  std::array<unsigned char, 16> bytes{};
  random_bytes(bytes.data(), static_cast<int>(bytes.size()));
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0FU) | 0x40U);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3FU) | 0x80U);
  std::string text = hex(bytes.data(), bytes.size());
  for (const std::size_t at : {8U, 13U, 18U, 23U}) text.insert(at, 1, '-');
  return text;
}

std::string sha256_hex(std::string_view data) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(data.data()), data.size(), digest.data());
  return hex(digest.data(), digest.size());
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
       reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  return digest;
}

std::string base64_encode(std::string_view data) {
  std::string out((data.size() + 2) / 3 * 4 + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                     reinterpret_cast<const unsigned char*>(data.data()), static_cast<int>(data.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

std::string base64url_encode(std::string_view data) {
  std::string out = base64_encode(data);
  while (!out.empty() && out.back() == '=') out.pop_back();
  for (char& c : out) {
    if (c == '+') c = '-';
    if (c == '/') c = '_';
  }
  return out;
}

Result<std::string> base64_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  unsigned group = 0;
  int digits = 0;
  int padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const unsigned value = kBase64Digits[static_cast<unsigned char>(c)];
    if (value == kNoDigit || padding > 0) return fail(Category::kInvalid, "malformed base64");
    group = (group << 6U) | value;
    if (++digits < 4) continue;
    for (const unsigned shift : {16U, 8U, 0U}) out += static_cast<char>((group >> shift) & 0xFFU);
    group = 0;
    digits = 0;
  }
  if (digits == 1 || padding > 2 || (padding > 0 && digits + padding != 4) || (padding == 0 && digits != 0)) {
    return fail(Category::kInvalid, "malformed base64");
  }
  if (digits == 2) out += static_cast<char>((group >> 4U) & 0xFFU);
  if (digits == 3) {
    out += static_cast<char>((group >> 10U) & 0xFFU);
    out += static_cast<char>((group >> 2U) & 0xFFU);
  }
  return out;
}

}  // namespace fleetadm
