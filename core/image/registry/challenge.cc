#include "core/image/registry/challenge.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace fleetadm::image {
namespace {

bool token_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool done() const { return at_ >= text_.size(); }
  void skip(std::string_view characters) {
    while (!done() && characters.find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool take(char wanted) {
    if (done() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  std::string token() {
    std::string out;
    while (!done() && token_char(text_[at_])) out += text_[at_++];
    return out;
  }
  /// What follows the equals sign; false where a quote is not closed.
  bool value(std::string& out) {
    if (!take('"')) {
      out = token();
      return true;
    }
    while (!done()) {
      char c = text_[at_++];
      if (c == '"') return true;
      if (c == '\\' && !done()) c = text_[at_++];
      out += c;
    }
    return false;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

std::vector<Challenge> parse_challenges(std::string_view header) {
  std::vector<Challenge> challenges;
  Reader reader(header);
  while (true) {
    reader.skip(" \t,");
    if (reader.done()) return challenges;
    const std::string word = lower(reader.token());
    if (word.empty()) return challenges;
    reader.skip(" \t");
    if (!reader.take('=')) {
      challenges.push_back({word, {}});  // a scheme; its values follow
      continue;
    }
    reader.skip(" \t");
    std::string value;
    if (!reader.value(value) || challenges.empty()) return challenges;
    challenges.back().values.emplace(word, std::move(value));
  }
}

}  // namespace fleetadm::image
