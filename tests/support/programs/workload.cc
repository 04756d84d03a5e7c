// workload: what containers of tests on real nodes run, and the one file of their image. Linked statically.
//
//   workload             waits for SIGTERM, and prints that it has begun
//   workload exit N      ends with the code N
//   workload say WORD…   prints the words
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "exit") == 0) return std::atoi(argv[2]);
  if (argc > 1 && std::strcmp(argv[1], "say") == 0) {
    for (int i = 2; i < argc; ++i) std::printf(i + 1 < argc ? "%s " : "%s\n", argv[i]);
    return 0;
  }
  sigset_t ends;
  sigemptyset(&ends);
  for (const int number : {SIGTERM, SIGINT}) sigaddset(&ends, number);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  std::puts("at work");
  std::fflush(stdout);
  int number = 0;
  sigwait(&ends, &number);
  return 0;
}
