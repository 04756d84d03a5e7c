#include "cli/render/cells.h"

#include <algorithm>
#include <array>

namespace fleetadm::cli {
namespace {

struct CellRange {
  char32_t first;
  char32_t last;
};

constexpr std::array kNoCell = {CellRange{0x300, 0x36F},   CellRange{0x1AB0, 0x1AFF}, CellRange{0x200B, 0x200F},
                                CellRange{0x20D0, 0x20FF}, CellRange{0xFE00, 0xFE0F}, CellRange{0xFE20, 0xFE2F}};
constexpr std::array kTwoCells = {CellRange{0x1100, 0x115F}, CellRange{0x2E80, 0xA4CF},   CellRange{0xAC00, 0xD7A3},
                                  CellRange{0xF900, 0xFAFF}, CellRange{0xFE30, 0xFE6F},   CellRange{0xFF00, 0xFF60},
                                  CellRange{0xFFE0, 0xFFE6}, CellRange{0x1F300, 0x1FAFF}, CellRange{0x20000, 0x3FFFD}};

template <std::size_t kCount>
bool among(const std::array<CellRange, kCount>& ranges, char32_t point) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const CellRange& range) { return range.first <= point && point <= range.last; });
}

std::size_t cells_of(char32_t point) {
  if (point < kNoCell.front().first) return 1;  // most text
  return among(kNoCell, point) ? 0 : among(kTwoCells, point) ? 2 : 1;
}

/// The code point at the beginning of `text` (not empty), which is taken off it with its continuation bytes.
char32_t take_point(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text.front());
  char32_t point = lead < 0x80 ? lead : lead < 0xE0 ? lead & 0x1FU : lead < 0xF0 ? lead & 0x0FU : lead & 0x07U;
  text.remove_prefix(1);
  while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0U) == 0x80U) {
    point = (point << 6U) | (static_cast<unsigned char>(text.front()) & 0x3FU);
    text.remove_prefix(1);
  }
  return point;
}

std::size_t width_of_sign(std::string_view more) { return more.starts_with("\xE2") ? 1 : more.size(); }

}  // namespace

std::size_t text_width(std::string_view text) {
  std::size_t cells = 0;
  while (!text.empty()) cells += cells_of(take_point(text));
  return cells;
}

std::string fit_cells(std::string_view text, std::size_t cells, std::string_view more) {
  const std::size_t room = cells - std::min(cells, width_of_sign(more));
  std::size_t used = 0;
  std::size_t fitting = 0;  // bytes that leave room for `more`
  std::string_view rest = text;
  while (!rest.empty()) {
    used += cells_of(take_point(rest));
    if (used <= room) fitting = text.size() - rest.size();
  }
  if (used <= cells) return std::string(text);
  return room == 0 ? std::string() : std::string(text.substr(0, fitting)) + std::string(more);
}

std::string fit_cells_middle(std::string_view text, std::size_t cells, std::string_view more) {
  const std::size_t whole = text_width(text);
  if (whole <= cells) return std::string(text);
  const std::size_t sign = width_of_sign(more);
  if (cells < sign + 2) return fit_cells(text, cells, more);
  const std::size_t room = cells - sign;
  const std::size_t head = room - room / 2;
  std::size_t used = 0;
  std::string_view rest = text;
  std::string out;
  while (!rest.empty()) {
    const std::string_view before = rest;
    const std::size_t width = cells_of(take_point(rest));
    if (used + width > head) {
      rest = before;
      break;
    }
    used += width;
    out += before.substr(0, before.size() - rest.size());
  }
  // A wide character that did not fit into the first half leaves its cell to the second.
  std::size_t left = text_width(rest);
  while (left > room - used) left -= cells_of(take_point(rest));
  // Combining characters belong to what was cut.
  while (!rest.empty()) {
    std::string_view next = rest;
    if (cells_of(take_point(next)) > 0) break;
    rest = next;
  }
  return out + std::string(more) + std::string(rest);
}

}  // namespace fleetadm::cli
