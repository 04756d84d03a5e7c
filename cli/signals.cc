#include "cli/signals.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <signal.h>
#include <thread>
#include <time.h>
#include <unistd.h>

#include "cli/render/errors.h"

namespace fleetadm::cli {
namespace {

// A handler may only touch what is async-signal-safe: a pipe's end and a counter. Request_stop (which takes locks and runs
// callbacks) happens on the thread that reads the pipe. Handlers, unlike a blocked mask, are not inherited by child processes.
volatile int signal_pipe = -1;
volatile sig_atomic_t signals_seen = 0;
timespec first_seen{};  // written by the first signal only; both signals are blocked while a handler runs

// timeout(1) and other wrappers signal the process and then its group: what comes twice at once is one interrupt.
constexpr long kOneInterruptMillis = 300;

long millis_between(const timespec& from, const timespec& to) {
  return (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1'000'000;
}

void on_signal(int) {
  const int saved = errno;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  if (signals_seen != 0) {
    if (millis_between(first_seen, now) >= kOneInterruptMillis) ::_exit(kExitCancelled);
  } else {
    signals_seen = 1;
    first_seen = now;
    const char byte = 1;
    [[maybe_unused]] const ssize_t written = ::write(signal_pipe, &byte, 1);
  }
  errno = saved;
}

std::stop_source install() {
  std::stop_source source;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return source;
  signal_pipe = ends[1];
  std::thread([source, reader = ends[0]]() mutable {
    char byte = 0;
    while (::read(reader, &byte, 1) < 0 && errno == EINTR) {
    }
    source.request_stop();
  }).detach();
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGINT);
  sigaddset(&action.sa_mask, SIGTERM);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  return source;
}

}  // namespace

std::stop_token stop_on_signals() {
  static const std::stop_source source = install();
  return source.get_token();
}

void stop_by_ourselves() {
  stop_on_signals();
  const char byte = 1;
  [[maybe_unused]] const ssize_t written = ::write(signal_pipe, &byte, 1);
}

}  // namespace fleetadm::cli
