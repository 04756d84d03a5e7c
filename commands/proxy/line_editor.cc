#include "commands/proxy/line_editor.h"

#include <algorithm>
#include <utility>

namespace fleetadm::commands {
namespace {

constexpr std::size_t kMaxTyped = std::size_t{64} * 1024;
constexpr char kEscape = '\x1b';

constexpr char control(char letter) { return static_cast<char>(letter - 'a' + 1); }
bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U; }

std::string common_beginning(const std::vector<std::string>& words) {
  std::string begin = words.front();
  for (const std::string& word : words) {
    const auto differ = std::mismatch(begin.begin(), begin.end(), word.begin(), word.end());
    begin.erase(differ.first, begin.end());
  }
  return begin;
}

}  // namespace

LineEditor::LineEditor(std::vector<std::string>& history, Complete complete)
    : history_(history), complete_(std::move(complete)), shown_(history.size()) {}

LineEditor::Outcome LineEditor::key(char byte) {
  if (!escape_.empty()) {
    escape_key(byte);
    return Outcome::kMore;
  }
  switch (byte) {
    case '\r':
    case '\n': return Outcome::kLine;
    case kEscape: escape_ = kEscape; break;
    case '\t': complete_word(); break;
    case '\x7f':
    case '\b': erase_before(); break;
    case control('a'): cursor_ = 0; break;
    case control('e'): cursor_ = line_.size(); break;
    case control('u'): line_.erase(0, std::exchange(cursor_, 0)); break;
    case control('k'): line_.erase(cursor_); break;
    case control('w'): erase_word(); break;
    case control('p'): show_history(shown_ - (shown_ > 0 ? 1 : 0)); break;
    case control('n'): show_history(shown_ + 1); break;
    case control('c'):
      line_.clear();
      cursor_ = 0;
      break;
    case control('d'): return line_.empty() ? Outcome::kEnd : Outcome::kMore;
    default:
      if (static_cast<unsigned char>(byte) >= 0x20 && line_.size() < kMaxTyped) insert({&byte, 1});
  }
  return Outcome::kMore;
}

void LineEditor::escape_key(char byte) {
  escape_ += byte;
  if (escape_.size() == 2 && (byte == '[' || byte == 'O')) return;
  const bool parameter = (byte >= '0' && byte <= '9') || byte == ';';
  if (escape_.size() > 2 && escape_.size() < 16 && parameter) return;
  const std::string keys = std::exchange(escape_, {}).substr(1);
  if (keys == "[A" || keys == "OA") show_history(shown_ - (shown_ > 0 ? 1 : 0));
  if (keys == "[B" || keys == "OB") show_history(shown_ + 1);
  if (keys == "[C" || keys == "OC") right();
  if (keys == "[D" || keys == "OD") left();
  if (keys == "[H" || keys == "OH" || keys == "[1~") cursor_ = 0;
  if (keys == "[F" || keys == "OF" || keys == "[4~") cursor_ = line_.size();
  if (keys == "[3~" && cursor_ < line_.size()) {
    right();
    erase_before();
  }
}

void LineEditor::insert(std::string_view text) {
  line_.insert(cursor_, text);
  cursor_ += text.size();
}

void LineEditor::left() {
  while (cursor_ > 0 && continues(line_[--cursor_])) {
  }
}

void LineEditor::right() {
  if (cursor_ < line_.size()) ++cursor_;
  while (cursor_ < line_.size() && continues(line_[cursor_])) ++cursor_;
}

void LineEditor::erase_before() {
  const std::size_t end = cursor_;
  left();
  line_.erase(cursor_, end - cursor_);
}

void LineEditor::erase_word() {
  const std::size_t end = cursor_;
  while (cursor_ > 0 && line_[cursor_ - 1] == ' ') --cursor_;
  while (cursor_ > 0 && line_[cursor_ - 1] != ' ') --cursor_;
  line_.erase(cursor_, end - cursor_);
}

void LineEditor::show_history(std::size_t at) {
  if (at > history_.size() || at == shown_) return;
  if (shown_ == history_.size()) typed_ = line_;
  shown_ = at;
  line_ = at == history_.size() ? typed_ : history_[at];
  cursor_ = line_.size();
}

void LineEditor::complete_word() {
  if (cursor_ != line_.size()) return;
  const std::string current = line_.substr(line_.rfind(' ') + 1);
  std::vector<std::string> words = complete_(line_);
  std::erase_if(words, [&](const std::string& word) { return !word.starts_with(current); });
  if (words.empty()) return;
  insert(common_beginning(words).substr(current.size()));
  if (words.size() == 1) {
    insert(" ");
  } else {
    candidates_ = std::move(words);
  }
}

std::string LineEditor::take() {
  std::string line = std::exchange(line_, {});
  if (!line.empty() && (history_.empty() || history_.back() != line)) history_.push_back(line);
  cursor_ = 0;
  shown_ = history_.size();
  typed_.clear();
  return line;
}

std::size_t LineEditor::behind_cursor() const {
  return static_cast<std::size_t>(
      std::count_if(line_.begin() + static_cast<std::ptrdiff_t>(cursor_), line_.end(), [](char c) { return !continues(c); }));
}

std::vector<std::string> LineEditor::take_candidates() { return std::exchange(candidates_, {}); }

}  // namespace fleetadm::commands
