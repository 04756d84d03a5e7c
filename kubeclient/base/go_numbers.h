// Numbers as Go and Kubernetes read them, where the last bit decides a score or a group size
// (docs/reference/placement.md#quantities-as-doubles, docs/reference/placement.md#group-length). kubeclient's Quantity is exact
// and forgets how a figure was written; here 0.3 and 300m differ on purpose.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fleetadm {

/// The approximate double of a quantity's text; nullopt where the text is no quantity.
std::optional<double> quantity_as_double(std::string_view text);

/// Go's strconv.ParseFloat(text, 64): decimal and hexadecimal forms, underscores between digits, inf, nan. Out of range: nullopt.
std::optional<double> parse_go_float(std::string_view text);

/// Drops the fraction; what does not fit becomes the smallest integer, as on amd64.
std::int64_t truncate(double value);

}  // namespace fleetadm
