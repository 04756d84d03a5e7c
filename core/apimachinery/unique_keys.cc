#include "core/apimachinery/unique_keys.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace fleetadm::apimachinery {
namespace {

constexpr std::size_t kMaxDepth = 512;

bool is_of_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' || c == '.';
}

class KeyReader {
 public:
  explicit KeyReader(std::string_view text) : text_(text) {}

  bool all_unique() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
      if (!take(c)) return false;
      last_ = c;
    }
    return open_.empty() && last_ == '}';
  }

 private:
  /// An object or array that is open.
  struct Open {
    bool is_object = false;
    std::size_t first = 0;  // of its keys
  };

  bool take(char c) {
    if (is_of_word(c)) return !wants_key();
    switch (c) {
      case '"': return wants_key() ? key() : skip_text();
      case '{':
      case '[': return begin(c == '{');
      case '}': return end(true);
      case ']': return end(false);
      case ',': return !open_.empty();
      default: return false;
    }
  }

  bool wants_key() const { return !open_.empty() && open_.back().is_object && (last_ == '{' || last_ == ','); }

  bool begin(bool is_object) {
    if (wants_key() || open_.size() == kMaxDepth || (open_.empty() && !is_object)) return false;
    open_.push_back({is_object, keys_.size()});
    return true;
  }

  bool end(bool is_object) {
    if (open_.empty() || open_.back().is_object != is_object) return false;
    const auto first = keys_.begin() + static_cast<std::ptrdiff_t>(open_.back().first);
    open_.pop_back();
    if (!std::is_sorted(first, keys_.end())) std::sort(first, keys_.end());
    const bool unique = std::adjacent_find(first, keys_.end()) == keys_.end();
    keys_.erase(first, keys_.end());
    return unique;
  }

  /// To the closing quote.
  bool skip_text() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    return at_ < text_.size();
  }

  /// To the colon.
  bool key() {
    const std::size_t begin = at_ + 1;
    if (!skip_text()) return false;
    keys_.push_back(text_.substr(begin, at_ - begin));
    if (keys_.back().find('\\') != std::string_view::npos) return false;
    at_ = text_.find_first_not_of(" \t\r\n", at_ + 1);
    return at_ < text_.size() && text_[at_] == ':';
  }

  std::string_view text_;
  std::size_t at_ = 0;
  char last_ = '\0';  // that counts; the first of a text or key
  std::vector<Open> open_;
  std::vector<std::string_view> keys_;  // of all objects that are open, the innermost last
};

}  // namespace

bool has_unique_keys(std::string_view text) { return KeyReader(text).all_unique(); }

}  // namespace fleetadm::apimachinery
