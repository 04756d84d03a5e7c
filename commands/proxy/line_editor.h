// One line of a terminal as it is typed: what keys do to it, lines that were typed before, and completion. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fleetadm::commands {

class LineEditor {
 public:
  /// The words that may stand where the line ends, each as a whole.
  using Complete = std::function<std::vector<std::string>(const std::string& line)>;

  /// `history` is of lines before, the last one last; empty lines and repeats are not kept.
  LineEditor(std::vector<std::string>& history, Complete complete);

  enum class Outcome { kMore, kLine, kEnd };  // kEnd: Ctrl-D on an empty line
  /// One byte from the terminal. After kLine the line is taken with take().
  Outcome key(char byte);
  std::string take();

  const std::string& line() const { return line_; }
  /// Characters from the cursor to the end, for the terminal to go back by.
  std::size_t behind_cursor() const;
  /// Candidates to be shown above the line, once; empty: none.
  std::vector<std::string> take_candidates();

 private:
  void escape_key(char byte);
  void insert(std::string_view text);
  void erase_before();
  void erase_word();
  void left();
  void right();
  void show_history(std::size_t at);
  void complete_word();

  std::vector<std::string>& history_;
  const Complete complete_;
  std::string line_;
  std::size_t cursor_ = 0;  // a byte of line_, where a character begins
  std::size_t shown_;       // of the history; its size: the line that is being typed
  std::string typed_;       // that line, while another one is shown
  std::string escape_;      // a sequence that is not whole yet
  std::vector<std::string> candidates_;
};

}  // namespace fleetadm::commands
