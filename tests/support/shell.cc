#include "tests/support/shell.h"

#include <array>
#include <cstdio>
#include <sys/wait.h>

#include "tests/support/temporary_folder.h"

namespace fleetadm::testkit {

Ran run_shell(const std::string& line, const std::string& err_file) {
  Ran ran;
  std::FILE* pipe = ::popen((line + " 2>'" + err_file + "' </dev/null").c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) ran.out.append(buffer.data(), count);
  const int status = ::pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ran.err = read_file(err_file);
  return ran;
}

}  // namespace fleetadm::testkit
