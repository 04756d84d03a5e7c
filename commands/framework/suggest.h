// "Did you mean": the known words that a mistyped one is near to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fleetadm::commands {

/// Damerau-Levenshtein distance (insert, delete, replace, swap of neighbours), case ignored.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Known words within a distance that grows with the word's length (or that `word` is the beginning of), nearest first; at most
/// three.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

/// `did you mean "a" or "b"?` for a word that is none of the known ones; `otherwise` where nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known, std::string otherwise = {});

}  // namespace fleetadm::commands
