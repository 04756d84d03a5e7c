// Stdout of a command.
#pragma once

#include <string>
#include <string_view>

namespace fleetadm::cli {

/// Stdout with its failure remembered: `fleetadm get clusters | head` ends quietly, a full disk does not.
class Output {
 public:
  /// `pager`: the command to show the whole text with at the end if it is longer than the screen; empty: text is written as it
  /// comes.
  explicit Output(std::string pager) : pager_(std::move(pager)) {}

  void write(std::string_view text);
  bool failed() const { return error_ != 0; }
  /// The exit code of a command that ended with `code`; tells on stderr what went wrong here.
  int finish(int code, bool color);

 private:
  void write_now(std::string_view text);

  std::string pager_;
  std::string waiting_;  // for the pager
  int error_ = 0;
};

}  // namespace fleetadm::cli
