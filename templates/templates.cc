#include "templates/templates.h"

#include <mutex>
#include <utility>
#include <zlib.h>

#include "kubeclient/base/yaml.h"
#include "templates/embedded.h"

namespace fleetadm::templates {
namespace {

constexpr int kWindowBits = -15;  // raw

std::string inflated(const Embedded& file) {
  std::string out(file.size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, kWindowBits) != Z_OK) return {};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.deflated.data()));  // zlib reads its input only
  stream.avail_in = static_cast<uInt>(file.deflated.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.total_out == out.size();
  inflateEnd(&stream);
  return done ? out : std::string();
}

/// Inflated when it is first asked for, and kept: callers hold views of it.
std::string_view text_of(const Embedded& file) {
  static std::mutex mutex;
  static auto& texts = *new std::map<std::string_view, std::string>;  // threads may read them while the process ends
  const std::lock_guard lock(mutex);
  const auto [at, added] = texts.try_emplace(file.path);
  if (added) at->second = inflated(file);
  return at->second;
}

Status substitute(Json& node, const std::map<std::string, Json>& values) {
  if (node.is_structured()) {
    for (auto& child : node) FLEETADM_CHECK(substitute(child, values));
    return {};
  }
  if (!node.is_string()) return {};
  const std::string source = node.get_ref<const std::string&>();
  std::string out;
  std::size_t at = 0;
  while (true) {
    const std::size_t open = source.find("${", at);
    const std::size_t close = open == std::string::npos ? open : source.find('}', open);
    if (close == std::string::npos) break;
    const std::string name = source.substr(open + 2, close - open - 2);
    const auto value = values.find(name);
    if (value == values.end()) return fail(Category::kInternal, "the template names ${" + name + "}, which has no value");
    if (open == 0 && close + 1 == source.size()) {
      node = value->second;
      return {};
    }
    if (!value->second.is_string()) return fail(Category::kInternal, "${" + name + "} is not text and stands inside a text");
    out += source.substr(at, open - at) + value->second.get_ref<const std::string&>();
    at = close + 1;
  }
  if (at != 0) node = out + source.substr(at);
  return {};
}

}  // namespace

std::vector<std::string_view> list(std::string_view folder) {
  std::vector<std::string_view> names;
  for (const Embedded& file : kEmbedded) {
    if (file.path.starts_with(folder) && file.path.ends_with(".yaml")) names.push_back(file.path);
  }
  return names;
}

std::string_view text(std::string_view path) {
  for (const Embedded& file : kEmbedded) {
    if (file.path == path) return text_of(file);
  }
  return {};
}

std::string_view api_types() { return text("sandbox/types.facts"); }

Result<std::vector<Json>> render(std::string_view path, const std::map<std::string, Json>& values) {
  const std::string_view source = text(path);
  if (source.empty()) return fail(Category::kInternal, "no embedded template " + std::string(path));
  FLEETADM_TRY(auto documents, parse_yaml_documents(source));
  std::vector<Json> objects;
  for (auto& document : documents) {
    FLEETADM_CHECK(substitute(document.value, values));
    objects.push_back(std::move(document.value));
  }
  return objects;
}

}  // namespace fleetadm::templates
