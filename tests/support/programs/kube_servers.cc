// kube_servers: real API servers (and process nodes) from the command line, for ./dev demo and benchmarks.
//
//   kube_servers --folder F [--nodes BINARY] NAME[=CPU,MEMORY]... [-- COMMAND ARG...]
//
// Writes F/<NAME>.kubeconfig for each server; with --nodes each has a process node of that binary (capacity from =CPU,MEMORY).
// Then runs COMMAND and ends with its exit code, or, without one, serves until SIGTERM or SIGINT. Everything is stopped at the
// end.
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/sandbox_node.h"

namespace {

using namespace fleetadm;
using namespace fleetadm::testkit;
namespace fs = std::filesystem;

struct Wanted {
  std::string name;
  std::string cpu = "4";
  std::string memory = "8Gi";
};

struct Arguments {
  fs::path folder;
  std::string nodes;
  std::vector<Wanted> servers;
  std::vector<char*> command;
};

int usage() {
  std::fputs("usage: kube_servers --folder F [--nodes BINARY] NAME[=CPU,MEMORY]... [-- COMMAND ARG...]\n", stderr);
  return 64;
}

Wanted parse_server(std::string_view text) {
  Wanted wanted;
  const auto equals = text.find('=');
  wanted.name = text.substr(0, equals);
  if (equals == std::string_view::npos) return wanted;
  const std::string_view size = text.substr(equals + 1);
  const auto comma = size.find(',');
  wanted.cpu = size.substr(0, comma);
  if (comma != std::string_view::npos) wanted.memory = size.substr(comma + 1);
  return wanted;
}

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments result;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") {
      result.command.assign(argv + i + 1, argv + argc);
      break;
    }
    if ((word == "--folder" || word == "--nodes") && i + 1 < argc) {
      ++i;
      if (word == "--folder") result.folder = argv[i];
      if (word == "--nodes") result.nodes = argv[i];
    } else if (word.starts_with('-')) {
      return std::nullopt;
    } else {
      result.servers.push_back(parse_server(word));
    }
  }
  if (result.folder.empty() || result.servers.empty()) return std::nullopt;
  return result;
}

// The terminal's Ctrl-C reaches the command and us: it ends the command, and we then stop what we started.
int run_command(std::vector<char*> command, const sigset_t& ends) {
  command.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, command.front(), nullptr, &attributes, command.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    std::fprintf(stderr, "%s: %s\n", command.front(), std::strerror(error));
    return 1;
  }
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    const timespec pause{.tv_sec = 0, .tv_nsec = 50'000'000};
    if (sigtimedwait(&ends, nullptr, &pause) > 0) kill(pid, SIGTERM);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = parse(argc, argv);
  if (!arguments) return usage();
  sigset_t ends;
  sigemptyset(&ends);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, number);
  sigprocmask(SIG_BLOCK, &ends, nullptr);  // before any thread: they are waited for below

  std::error_code error;
  fs::create_directories(arguments->folder, error);
  std::vector<KubeServerOptions> options;
  for (const Wanted& wanted : arguments->servers) options.push_back({.name = wanted.name});
  auto servers = KubeServer::start_all(std::move(options));
  if (!servers) {
    std::fprintf(stderr, "%s\n%s\n", servers.error().message.c_str(), servers.error().hint.c_str());
    return 1;
  }
  std::vector<std::unique_ptr<SandboxNode>> nodes;
  for (std::size_t i = 0; i < servers->size(); ++i) {
    const KubeServer& server = *(*servers)[i];
    const Wanted& wanted = arguments->servers[i];
    if (!arguments->nodes.empty()) {
      auto node = SandboxNode::start(
          server, {.name = wanted.name + "-node", .cpu = wanted.cpu, .memory = wanted.memory, .binary = arguments->nodes});
      if (!node) {
        std::fprintf(stderr, "%s\n", node.error().message.c_str());
        return 1;
      }
      fs::remove(arguments->folder / (wanted.name + "-logs"), error);
      fs::create_directory_symlink((*node)->log_folder(), arguments->folder / (wanted.name + "-logs"), error);
      nodes.push_back(std::move(*node));
    }
    const fs::path file = arguments->folder / (wanted.name + ".kubeconfig");
    fs::remove(file, error);
    fs::copy_file(server.kubeconfig_file(), file, fs::copy_options::overwrite_existing, error);
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write, error);
    std::fprintf(stderr, "%s: %s\n", wanted.name.c_str(), server.url().c_str());
  }
  int code = 0;
  if (!arguments->command.empty()) {
    code = run_command(arguments->command, ends);
  } else {
    int number = 0;
    sigwait(&ends, &number);
  }
  for (auto& node : nodes) node->process().terminate();
  nodes.clear();
  return code;
}
