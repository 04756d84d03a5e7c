// Text forms of numbers as upstream's engine (Go) reads and writes them; none where a text is not one or is out of range.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fleetadm::cel {

/// Go's %g: the shortest digits that read back, an exponent below 1e-4 and from 1e6 on ("1e+06", "0.5", "3", "NaN", "+Inf").
std::string format_double(double value);
/// The shortest digits without exponent (Go's 'f', -1).
std::string format_fixed(double value);
/// Go's strconv.ParseFloat: decimal and hexadecimal, underscores between digits, inf, infinity and nan in any case.
std::optional<double> parse_double(std::string_view text);
std::optional<std::int64_t> parse_int(std::string_view text);
std::optional<std::uint64_t> parse_uint(std::string_view text);
/// 1, t, T, TRUE, true, True and 0, f, F, FALSE, false, False.
std::optional<bool> parse_bool(std::string_view text);
bool is_valid_utf8(std::string_view text);

}  // namespace fleetadm::cel
