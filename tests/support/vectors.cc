#include "tests/support/vectors.h"

#include <array>
#include <memory>
#include <zlib.h>

#include "tests/support/source_folder.h"

namespace fleetadm::test {
namespace {
constexpr int kMaxLine = 64 << 20;

using File = std::unique_ptr<gzFile_s, int (*)(gzFile)>;

Result<File> open_data(const std::string& path) {
  File file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) return fail(Category::kNotFound, "cannot open " + path);
  return file;
}

std::string path_of(std::string_view name) { return testkit::source_folder() + "/tests/data/" + std::string(name); }

Status whole(const File& file, const std::string& path) {
  int code = Z_OK;
  gzerror(file.get(), &code);
  if (code != Z_OK) return fail(Category::kInternal, path + " is broken");
  return {};
}

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

Status for_each_vector(std::string_view name, const std::function<void(const Json&)>& line) {
  return for_each_vector(name, [&](const Json& value, const std::string&) { line(value); });
}

Status for_each_vector(std::string_view name, const std::function<void(const Json&, const std::string& text)>& line) {
  const std::string path = path_of(name);
  FLEETADM_TRY(const File file, open_data(path));
  std::string text;
  bool any = false;
  while (read_line(file.get(), text)) {
    FLEETADM_TRY(const Json value, parse_json(text));
    line(value, text);
    any = true;
  }
  FLEETADM_CHECK(whole(file, path));
  if (!any) return fail(Category::kInternal, path + " is empty");
  return {};
}

Result<Json> read_recorded(std::string_view name) {
  const std::string path = path_of(name);
  FLEETADM_TRY(const File file, open_data(path));
  std::string text;
  for (std::string line; read_line(file.get(), line); text += '\n') text += line;
  FLEETADM_CHECK(whole(file, path));
  return parse_json(text);
}

}  // namespace fleetadm::test
