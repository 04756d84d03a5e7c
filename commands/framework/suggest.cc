#include "commands/framework/suggest.h"

#include <algorithm>
#include <utility>

namespace fleetadm::commands {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0U : 1U)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
  if (word.empty() || word.size() > 64) return {};
  const std::size_t limit = word.size() <= 3 ? 1 : word.size() <= 7 ? 2 : 3;
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& candidate : known) {
    const bool begins =
        word.size() >= 2 && candidate.size() > word.size() && std::string_view(candidate).substr(0, word.size()) == word;
    const std::size_t distance = begins ? 1 : edit_distance(word, candidate);
    if (distance <= limit && distance < std::max(word.size(), candidate.size())) found.emplace_back(distance, candidate);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<std::string> words;
  for (auto& [distance, candidate] : found)
    if (words.size() < 3 && std::find(words.begin(), words.end(), candidate) == words.end())
      words.push_back(std::move(candidate));
  return words;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known, std::string otherwise) {
  const std::vector<std::string> near = nearest(word, known);
  if (near.empty()) return otherwise;
  std::string text = "did you mean";
  for (std::size_t i = 0; i < near.size(); ++i) text += std::string(i == 0 ? " \"" : " or \"") + near[i] + "\"";
  return text + "?";
}

}  // namespace fleetadm::commands
