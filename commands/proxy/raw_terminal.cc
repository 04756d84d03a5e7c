#include "commands/proxy/raw_terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace fleetadm::commands {

RawTerminal::RawTerminal(bool wanted) {
  if (!wanted || ::isatty(STDIN_FILENO) != 1 || ::tcgetattr(STDIN_FILENO, &before_) != 0) return;
  termios raw = before_;
  ::cfmakeraw(&raw);
  raw_ = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

RawTerminal::~RawTerminal() {
  if (raw_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

RawTerminal::Size RawTerminal::size() {
  winsize window{};
  if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &window) != 0) return {};
  return {window.ws_col, window.ws_row};
}

}  // namespace fleetadm::commands
