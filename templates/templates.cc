#include "templates/templates.h"

#include <array>
#include <utility>

#include "kubeclient/base/yaml.h"

namespace fleetadm::templates {

// The generated source (cmake/embed_files.cmake): sorted by path.
extern const std::size_t kEmbeddedCount;
extern const std::pair<std::string_view, std::string_view>* const kEmbeddedBegin;
extern const std::string_view kApiTypes;

namespace {

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
  for (std::size_t i = 0; i < kEmbeddedCount; ++i) {
    if (kEmbeddedBegin[i].first.starts_with(folder)) names.push_back(kEmbeddedBegin[i].first);
  }
  return names;
}

std::string_view text(std::string_view path) {
  for (std::size_t i = 0; i < kEmbeddedCount; ++i) {
    if (kEmbeddedBegin[i].first == path) return kEmbeddedBegin[i].second;
  }
  return {};
}

std::string_view api_types() { return kApiTypes; }

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
