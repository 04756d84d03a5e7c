// Texts by code points, for the strings library. Inputs are valid UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fleetadm::cel {

/// The byte at which the code point with this index starts; the text's size where it has just that many.
std::size_t byte_of(std::string_view text, std::size_t code_point);
/// The bytes of the code point that starts there.
std::size_t length_at(std::string_view text, std::size_t byte);
/// The text without white space (Unicode's) at either end.
std::string_view trimmed(std::string_view text);
std::string reversed(std::string_view text);
/// In double quotes, with CEL's escapes for quotes, backslashes and control characters that have a letter.
std::string quoted(std::string_view text);
/// Every (at most `limit`) occurrence replaced; an empty `from` is before every code point and at the end. Fails (false) where
/// the result would be over `max_bytes`.
bool replaced(std::string_view text, std::string_view from, std::string_view to, std::size_t limit, std::size_t max_bytes,
              std::string& out);
/// At most `limit` pieces, the last one being the rest. An empty separator is between all code points.
std::vector<std::string_view> split(std::string_view text, std::string_view separator, std::size_t limit);

}  // namespace fleetadm::cel
