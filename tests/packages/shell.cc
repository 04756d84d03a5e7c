#include "tests/packages/shell.h"

#include <array>
#include <cstdio>
#include <sys/wait.h>

#include "tests/support/source_folder.h"

namespace fleetadm::packages_suite {

testkit::Ran shell(const testkit::TemporaryFolder& folder, const std::string& line) {
  const std::string err = (folder.path() / "stderr").string();
  const std::string file = folder.write("line.sh", "cd '" + folder.path().string() + "'\n" + line + "\n");
  const std::string command = "timeout 120 sh -e '" + file + "' 2>'" + err + "' </dev/null";
  testkit::Ran ran;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) ran.out.append(buffer.data(), count);
  const int status = ::pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ran.err = testkit::read_file(err);
  return ran;
}

std::string script(const std::string& path) { return "'" + testkit::source_folder() + "/" + path + "'"; }

}  // namespace fleetadm::packages_suite
