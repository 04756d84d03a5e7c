#include "core/image/digest.h"

#include <algorithm>
#include <array>

#include "kubeclient/base/encoding.h"

namespace fleetadm::image {
namespace {

constexpr std::string_view kPrefix = "sha256:";
constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace

Digester::Digester() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
  good_ = context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1;
}

void Digester::add(std::string_view data) { good_ = good_ && EVP_DigestUpdate(context_.get(), data.data(), data.size()) == 1; }

std::string Digester::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  if (!good_ || EVP_DigestFinal_ex(context_.get(), bytes.data(), &size) != 1) return {};
  std::string text(kPrefix);
  for (unsigned at = 0; at < size; ++at) {
    text += kHexDigits[bytes[at] >> 4U];
    text += kHexDigits[bytes[at] & 15U];
  }
  return text;
}

std::string digest_of(std::string_view data) { return std::string(kPrefix) + sha256_hex(data); }

bool is_digest(std::string_view text) {
  if (!text.starts_with(kPrefix) || text.size() != kPrefix.size() + 64) return false;
  text.remove_prefix(kPrefix.size());
  return std::all_of(text.begin(), text.end(), [](char c) { return kHexDigits.find(c) != std::string_view::npos; });
}

}  // namespace fleetadm::image
