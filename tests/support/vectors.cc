#include "tests/support/vectors.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <zlib.h>

#include "tests/support/source_folder.h"

namespace fleetadm::test {
namespace {
constexpr int kMaxLine = 64 << 20;

// One line without its newline; false at the end.
bool read_line(gzFile file, std::string& line) {
  line.clear();
  std::array<char, 65536> buffer{};
  while (gzgets(file, buffer.data(), static_cast<int>(buffer.size())) != nullptr) {
    line += buffer.data();
    if (line.ends_with('\n')) {
      line.pop_back();
      return true;
    }
    if (line.size() > kMaxLine) return false;
  }
  return !line.empty();
}
}  // namespace

std::optional<std::string> shared_folder() {
  std::filesystem::path folder = std::filesystem::path(testkit::source_folder()) / ".." / "shared";
  if (const char* given = std::getenv("FLEETADM_SHARED"); given != nullptr && *given != '\0') folder = given;
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) return std::nullopt;
  return folder.string();
}

bool in_ci() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string_view(ci) == "true";
}

Status for_each_vector(std::string_view name, const std::function<void(const Json&)>& line) {
  return for_each_vector(name, [&](const Json& value, const std::string&) { line(value); });
}

Status for_each_vector(std::string_view name, const std::function<void(const Json&, const std::string& text)>& line) {
  const auto folder = shared_folder();
  if (!folder) return fail(Category::kNotFound, "there is no folder of shared test data", "set FLEETADM_SHARED");
  const std::string path = *folder + "/vectors/" + std::string(name);
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) return fail(Category::kNotFound, "cannot open " + path);
  std::string text;
  while (read_line(file.get(), text)) {
    FLEETADM_TRY(const Json value, parse_json(text));
    line(value, text);
  }
  return {};
}

}  // namespace fleetadm::test
