#include "tests/cli/case.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <signal.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace fleetadm::cli_cases {
namespace {

namespace fs = std::filesystem;

std::string trimmed(const std::string& text) {
  const std::size_t from = text.find_first_not_of(' ');
  return from == std::string::npos ? "" : text.substr(from);
}

// Reads both pipes until they close or the time is over. True: they closed.
bool read_both(std::array<int, 2> ends, std::array<std::string*, 2> into, std::chrono::steady_clock::time_point end) {
  std::array<pollfd, 2> wait = {{{ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}}};
  while (wait[0].fd >= 0 || wait[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) return false;
    if (::poll(wait.data(), wait.size(), static_cast<int>(left)) < 0 && errno != EINTR) return false;
    for (std::size_t i = 0; i < wait.size(); ++i) {
      if (wait[i].fd < 0 || wait[i].revents == 0) continue;
      std::array<char, 4096> buffer{};
      const ssize_t count = ::read(wait[i].fd, buffer.data(), buffer.size());
      if (count > 0) into[i]->append(buffer.data(), static_cast<std::size_t>(count));
      if (count == 0 || (count < 0 && errno != EINTR)) wait[i].fd = -1;
    }
  }
  return true;
}

}  // namespace

std::vector<Case> parse_cases(const std::string& text, const std::string& file, std::string& problem) {
  std::vector<Case> cases;
  Case current;
  int number = 0;
  auto finish = [&] {
    if (current.name.empty() && current.run.empty()) return;
    if (current.name.empty() || current.run.empty()) problem += current.source + ": a case needs NAME and RUN\n";
    cases.push_back(std::move(current));
    current = {};
  };
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty()) {
      finish();
      continue;
    }
    if (line[0] == '#') continue;
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string word = line.substr(0, space);
    const std::string rest = trimmed(line.substr(space));
    if (word == "NAME") {
      current.name = rest;
      current.source = file + ":" + std::to_string(number);
    } else if (word == "FILE") {
      std::string content;
      bool closed = false;
      for (std::string inside; std::getline(in, inside);) {
        ++number;
        closed = inside == "END";
        if (closed) break;
        content += inside + "\n";
      }
      if (!closed) problem += file + ": FILE " + rest + " has no END\n";
      current.files.emplace_back(rest, content);
    } else if (word == "ENV") {
      current.env.push_back(rest);
    } else if (word == "RUN") {
      current.run = rest;
    } else if (word == "EXPECT") {
      current.expect.push_back(rest);
    } else if (word == "EXPECT_ERR") {
      current.expect_err.push_back(rest);
    } else if (word == "EXPECT_NOT") {
      current.expect_not.push_back(rest);
    } else if (word == "GOLDEN") {
      current.golden = rest;
    } else if (word == "SCHEMAS") {
      std::istringstream kinds(rest);
      for (std::string kind; kinds >> kind;) current.schemas.push_back(kind);
    } else if (word == "SILENT") {
      current.silent = true;
    } else if (word == "EXIT") {
      current.exit_code = std::atoi(rest.c_str());
    } else {
      problem += file + ":" + std::to_string(number) + ": unknown word " + word + "\n";
    }
  }
  finish();
  return cases;
}

Outcome run_case(const Case& one, const std::string& binary, int seconds) {
  Outcome outcome;
  std::string folder = (fs::temp_directory_path() / "fleetadm-case-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return outcome;
  for (const auto& [name, content] : one.files) std::ofstream(fs::path(folder) / name, std::ios::binary) << content;

  std::vector<std::string> env = {"PATH=" + fs::path(binary).parent_path().string() + ":/usr/bin:/bin", "HOME=" + folder,
                                  "TMPDIR=" + folder, "LC_ALL=C.UTF-8"};
  for (const char* keep : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LD_LIBRARY_PATH"})
    if (const char* value = std::getenv(keep)) env.push_back(std::string(keep) + "=" + value);
  env.insert(env.end(), one.env.begin(), one.env.end());
  std::vector<char*> envp;
  for (std::string& entry : env) envp.push_back(entry.data());
  envp.push_back(nullptr);
  std::string shell = "/bin/sh", flag = "-c", command = one.run;
  std::array<char*, 4> argv = {shell.data(), flag.data(), command.data(), nullptr};

  std::array<int, 2> out{}, err{};
  if (::pipe2(out.data(), O_CLOEXEC) != 0 || ::pipe2(err.data(), O_CLOEXEC) != 0) return outcome;
  const pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, 0);
    ::dup2(out[1], 1);
    ::dup2(err[1], 2);
    if (::chdir(folder.c_str()) != 0) ::_exit(126);
    ::execve(shell.c_str(), argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(out[1]);
  ::close(err[1]);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  outcome.timed_out = !read_both({out[0], err[0]}, {&outcome.out, &outcome.err}, end);
  if (outcome.timed_out && child > 0) ::kill(-child, SIGKILL);
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ::close(out[0]);
  ::close(err[0]);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return outcome;
}

}  // namespace fleetadm::cli_cases
