// UTF-8 by hand: names, logs and YAML take bytes from the network.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fleetadm {

/// One code point; length 0 where the bytes at that place are no well-formed sequence (RFC 3629).
struct Rune {
  unsigned code = 0;
  std::size_t length = 0;
};
/// `at` is inside the text.
Rune rune_at(std::string_view text, std::size_t at);

/// The text with each malformed byte replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

}  // namespace fleetadm
