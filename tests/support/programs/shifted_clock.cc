// For LD_PRELOAD: the program's clock is wrong by $FLEETADM_TEST_CLOCK_SHIFT seconds. Only what tells the time of day is shifted,
// not what waits.
#include <cstdlib>
#include <ctime>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

long clock_shift() {
  static const long kSeconds = [] {
    const char* given = std::getenv("FLEETADM_TEST_CLOCK_SHIFT");
    return given == nullptr ? 0L : std::strtol(given, nullptr, 10);
  }();
  return kSeconds;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long failed = syscall(SYS_clock_gettime, clock, now);
  if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += clock_shift();
  return static_cast<int>(failed);
}

[[gnu::visibility("default")]] time_t time(time_t* into) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (into != nullptr) *into = now.tv_sec;
  return now.tv_sec;
}

[[gnu::visibility("default")]] int gettimeofday(timeval* __restrict into, void* __restrict /*zone*/) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  into->tv_sec = now.tv_sec;
  into->tv_usec = now.tv_nsec / 1000;
  return 0;
}

}  // extern "C"
