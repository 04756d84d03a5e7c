// How much room text takes on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace fleetadm::cli {

/// The cells of a terminal that valid UTF-8 takes: wide characters take two, combining ones none.
std::size_t text_width(std::string_view text);

/// The beginning of `text` that fits into `cells`; `more`, which is ASCII or takes one cell a character, replaces what was cut.
std::string fit_cells(std::string_view text, std::size_t cells, std::string_view more);

/// As fit_cells, but what is cut is the middle: names of one kind differ at their ends.
std::string fit_cells_middle(std::string_view text, std::size_t cells, std::string_view more);

}  // namespace fleetadm::cli
