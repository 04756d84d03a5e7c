#include "cli/output.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <utility>

#include "cli/pager.h"
#include "cli/render/errors.h"
#include "cli/terminal.h"

namespace fleetadm::cli {

void Output::write(std::string_view text) {
  if (pager_.empty()) {
    write_now(text);
  } else {
    waiting_ += text;
  }
}

void Output::write_now(std::string_view text) {
  if (error_ == 0 && !write_all(STDOUT_FILENO, text)) error_ = errno;
}

int Output::finish(int code, bool color) {
  if (const std::string text = std::exchange(waiting_, {}); !text.empty() && (fits_screen(text) || !show_in_pager(text, pager_)))
    write_now(text);
  if (error_ == 0) return code;
  if (error_ == EPIPE) return kExitBrokenPipe;
  Error error;
  error.message = std::string("cannot write the output: ") + std::strerror(error_);
  write_all(STDERR_FILENO, render_error(error, color));
  // A stream that stopped because it could not write any more was not cancelled by anyone.
  return code == kExitOk || code == kExitCancelled ? kExitFailure : code;
}

}  // namespace fleetadm::cli
