// The terminal of standard input while a program elsewhere has it: every key goes there, and none is obeyed here.
#pragma once

#include <termios.h>

namespace fleetadm::commands {

class RawTerminal {
 public:
  /// Nothing happens where `wanted` is false, or standard input is no terminal.
  explicit RawTerminal(bool wanted);
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  struct Size {
    int columns = 0;
    int rows = 0;
    bool operator==(const Size&) const = default;
  };
  /// Of the window, now; zeroes where there is none.
  static Size size();

 private:
  bool raw_ = false;
  termios before_{};
};

}  // namespace fleetadm::commands
