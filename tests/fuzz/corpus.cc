#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/driver.h"
#include "tests/support/source_folder.h"

namespace fleetadm::fuzz {

std::vector<std::pair<std::string, std::string>> corpus_of(const Target& target) {
  std::vector<std::pair<std::string, std::string>> inputs;
  const auto folder = std::filesystem::path(testkit::source_folder()) / "tests" / "corpora" / target.name;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
    if (!file.is_regular_file()) continue;
    std::ifstream in(file.path(), std::ios::binary);
    inputs.emplace_back(file.path().filename().string(), std::string(std::istreambuf_iterator<char>(in), {}));
  }
  std::sort(inputs.begin(), inputs.end());
  return inputs;
}

}  // namespace fleetadm::fuzz
