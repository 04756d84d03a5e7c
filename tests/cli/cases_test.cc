// Runs every case of tests/cli/*.case against the built binary; one test a case.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iostream>
#include <set>
#include <sstream>

#include "tests/cli/case.h"
#include "tests/cli/schemas.h"
#include "tests/support/source_folder.h"

namespace fleetadm::cli_cases {
namespace {

namespace fs = std::filesystem;
constexpr int kSeconds = 180;  // none comes near it alone: sanitizers, and machines that compile beside it

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class CaseTest : public ::testing::Test {
 public:
  CaseTest(Case one, std::string binary) : case_(std::move(one)), binary_(std::move(binary)) {}

  void TestBody() override {
    const Outcome outcome = run_case(case_, binary_, kSeconds);
    SCOPED_TRACE(case_.source + "\n$ " + case_.run + "\n--- stdout\n" + outcome.out + "--- stderr\n" + outcome.err);
    EXPECT_FALSE(outcome.timed_out) << "still running after " << kSeconds << " s";
    EXPECT_EQ(outcome.exit_code, case_.exit_code);
    for (const std::string& text : case_.expect) EXPECT_NE(outcome.out.find(text), std::string::npos) << "stdout lacks: " << text;
    for (const std::string& text : case_.expect_err)
      EXPECT_NE(outcome.err.find(text), std::string::npos) << "stderr lacks: " << text;
    for (const std::string& text : case_.expect_not)
      EXPECT_EQ((outcome.out + outcome.err).find(text), std::string::npos) << "must not be printed: " << text;
    if (case_.silent) {
      EXPECT_EQ(outcome.out, "");
    }
    if (!case_.schemas.empty()) {
      EXPECT_EQ(schema_problems(outcome.out + "\n" + outcome.err, case_.schemas), "");
    }
    if (case_.golden.empty()) return;
    const fs::path golden = fs::path(fleetadm::testkit::source_folder()) / "tests/cli/golden" / case_.golden;
    if (std::getenv("FLEETADM_UPDATE_GOLDEN") != nullptr) std::ofstream(golden, std::ios::binary) << outcome.out;
    EXPECT_EQ(outcome.out, read_file(golden)) << golden;
  }

 private:
  Case case_;
  std::string binary_;
};

// False where the files are not as they should be.
bool register_cases() {
  const char* binary = std::getenv("FLEETADM_BINARY");
  if (binary == nullptr || !fs::exists(binary)) {
    std::cerr << "FLEETADM_BINARY must name the built fleetadm\n";
    return false;
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(fleetadm::testkit::source_folder()) / "tests/cli"))
    if (entry.path().extension() == ".case") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::set<std::string> names;
  std::set<std::string> untested = schema_kinds();
  std::string problem;
  for (const fs::path& file : files) {
    for (const Case& one : parse_cases(read_file(file), file.filename().string(), problem)) {
      for (const std::string& kind : one.schemas) untested.erase(kind);
      if (!names.insert(one.name).second) problem += one.source + ": the name " + one.name + " is taken\n";
      ::testing::RegisterTest("Cli", one.name.c_str(), nullptr, nullptr, file.c_str(), 1,
                              [one, path = std::string(binary)]() -> ::testing::Test* { return new CaseTest(one, path); });
    }
  }
  for (const std::string& kind : untested) problem += "no case has SCHEMAS " + kind + "\n";
  std::cerr << problem;
  return problem.empty() && !names.empty();
}

}  // namespace
}  // namespace fleetadm::cli_cases

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!fleetadm::cli_cases::register_cases()) return 1;
  return RUN_ALL_TESTS();
}
