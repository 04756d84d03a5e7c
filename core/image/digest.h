// Content addresses of the OCI image format.
#pragma once

#include <memory>
#include <openssl/evp.h>
#include <string>
#include <string_view>

namespace fleetadm::image {

/// SHA-256 of what comes piece by piece.
class Digester {
 public:
  Digester();
  void add(std::string_view data);
  /// "sha256:HEX"; last.
  std::string finish();

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
  bool good_ = false;
};

std::string digest_of(std::string_view data);
/// "sha256:" and 64 lower-case hex digits.
bool is_digest(std::string_view text);

}  // namespace fleetadm::image
