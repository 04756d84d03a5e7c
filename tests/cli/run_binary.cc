#include "tests/cli/run_binary.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fleetadm::cli_cases {

BinaryOutcome run_binary(std::vector<std::string> words, const std::string& input) {
  std::signal(SIGPIPE, SIG_IGN);
  BinaryOutcome outcome;
  const char* binary = std::getenv("FLEETADM_BINARY");
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (binary == nullptr || ::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) return outcome;
  words.insert(words.begin(), binary);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(in[0], 0);
    ::dup2(out[1], 1);
    ::execv(binary, argv.data());
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  std::jthread writer([&] {
    for (std::size_t at = 0; at < input.size();) {
      const ssize_t count = ::write(in[1], input.data() + at, input.size() - at);
      if (count <= 0) break;
      at += static_cast<std::size_t>(count);
    }
    ::close(in[1]);
  });
  std::array<char, 65536> buffer{};
  for (ssize_t count = 0; (count = ::read(out[0], buffer.data(), buffer.size())) > 0;) {
    outcome.out.append(buffer.data(), static_cast<std::size_t>(count));
  }
  ::close(out[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    auto line = parse_json(std::string_view(text).substr(at, end - at));
    lines.push_back(line ? std::move(*line) : Json());
    at = end + 1;
  }
  return lines;
}

}  // namespace fleetadm::cli_cases
