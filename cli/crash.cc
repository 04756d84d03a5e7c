#include "cli/crash.h"

#include <array>
#include <signal.h>
#include <string_view>
#include <unistd.h>

namespace fleetadm::cli {
namespace {

constexpr std::string_view kCrashed = "fatal: fleetadm " FLEETADM_VERSION " crashed (";
constexpr std::string_view kReport = ")\nhint: this is a bug in fleetadm; please report it and include the command line\n";

struct Crash {
  int number;
  std::string_view name;
};
constexpr std::array<Crash, 5> kCrashes{
    {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGILL, "SIGILL"}, {SIGFPE, "SIGFPE"}, {SIGABRT, "SIGABRT"}}};

void put(std::string_view text) { [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size()); }

// Async-signal-safe: writes what is constant. SA_RESETHAND has taken the handler away, so the signal ends the process.
void on_crash(int number) {
  put(kCrashed);
  for (const Crash& crash : kCrashes) {
    if (crash.number == number) put(crash.name);
  }
  put(kReport);
  ::raise(number);
}

}  // namespace

void report_crashes() {
  static std::array<char, 16384> stack{};  // a stack that has overflowed holds no handler
  stack_t own{};
  own.ss_sp = stack.data();
  own.ss_size = stack.size();
  ::sigaltstack(&own, nullptr);
  struct sigaction action {};
  action.sa_handler = on_crash;
  sigemptyset(&action.sa_mask);
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_ONSTACK);
  for (const Crash& crash : kCrashes) {
    struct sigaction before {};
    if (::sigaction(crash.number, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    ::sigaction(crash.number, &action, nullptr);
  }
}

}  // namespace fleetadm::cli
