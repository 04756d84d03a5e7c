#include "tests/cel/oracle.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/support/equipment.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::testkit {

Result<std::vector<Json>> ask_oracle(const std::vector<Json>& questions) {
  const auto built = equipment("", "tests/cel/build.sh", {"oracle"}, "");
  if (!built) return fail(built.error().wrap("no reference evaluator of CEL"));
  const TemporaryFolder folder;
  const std::string in = (folder.path() / "questions").string();
  const std::string out = (folder.path() / "answers").string();
  {
    std::ofstream file(in);
    // Not dump_json: as Kubernetes' encoder it writes 2.0 as 2, which is an int to the reader.
    for (const Json& question : questions) file << question.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  }
  // As upstream's toolchain has it: a host has one colon.
  const std::string command = "GODEBUG=urlstrictcolons=1 '" + *built + "/oracle' <'" + in + "' >'" + out + "'";
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
