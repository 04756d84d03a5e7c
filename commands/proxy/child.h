// A program that takes this one's place for a while: its terminal, its input and output, its signals and its exit code.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kubeclient/base/owned_fd.h"
#include "kubeclient/base/result.h"

namespace fleetadm::commands {

/// A file without a name that holds a secret: it has mode 0600, a program that is started can read it at path(), and it is gone
/// with the last process that has it open, however that ends.
class SecretFile {
 public:
  static Result<SecretFile> with(std::string_view content);
  std::string path() const;

 private:
  explicit SecretFile(OwnedFd file) : file_(std::move(file)) {}
  OwnedFd file_;
};

struct Child {
  std::string program;  // an absolute path
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // over our own
};

/// Runs it in the foreground. Interrupts of the terminal are for the child alone; SIGTERM and SIGHUP to this process are handed
/// on. The answer is its exit code, or 128 + n where signal n ended it. One at a time.
Result<int> run_in_foreground(const Child& child);

}  // namespace fleetadm::commands
