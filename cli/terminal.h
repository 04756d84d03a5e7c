// The process's own terminal and standard streams.
#pragma once

#include "commands/framework/context.h"

namespace fleetadm::cli {

/// Writes all of `text` to a file descriptor, repeating short writes. False where the reader is gone or the disk is full
/// (errno tells which).
bool write_all(int fd, std::string_view text);

class ProcessTerminal final : public commands::Terminal {
 public:
  bool interactive() const override;
  bool stdout_is_terminal() const override;
  Result<bool> confirm(std::string_view question) override;
  Result<std::string> read_stdin() override;
  Result<Input> read_stdin_some(std::string& into, Duration patience) override;
  bool write_stdout(std::string_view text) override;
  bool write_stderr(std::string_view text) override;
};

/// Whether to use colors on that descriptor: `color` is auto, always or never; auto means a terminal other than TERM=dumb, or
/// CLICOLOR_FORCE, and no NO_COLOR.
bool use_color(std::string_view color, int fd);

/// The cells of a line: COLUMNS, else what the terminal of that descriptor says; 0: unknown.
std::size_t terminal_width(int fd);

/// TERM=dumb: a terminal without cursor movement and colors.
bool terminal_is_dumb();

/// Whether the locale of the environment (LC_ALL, LC_CTYPE, LANG) encodes as UTF-8; true where none is set.
bool locale_is_utf8();
/// Text of this program for people: without UTF-8 an ellipsis is three dots.
std::string for_locale(std::string text);

}  // namespace fleetadm::cli
