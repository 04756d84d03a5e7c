#include "tests/packages/shell.h"

#include "tests/support/shell.h"
#include "tests/support/source_folder.h"

namespace fleetadm::packages_suite {

testkit::Ran shell(const testkit::TemporaryFolder& folder, const std::string& line) {
  const std::string file = folder.write("line.sh", "cd '" + folder.path().string() + "'\n" + line + "\n");
  return testkit::run_shell("timeout 120 sh -e '" + file + "'", (folder.path() / "stderr").string());
}

std::string script(const std::string& path) { return "'" + testkit::source_folder() + "/" + path + "'"; }

}  // namespace fleetadm::packages_suite
