#include "core/serve/request_path.h"

#include <algorithm>
#include <string>

#include "core/serve/request_info.h"

namespace fleetadm::serve {
namespace {

bool broken_escape(std::string_view path) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); };
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '%' && (i + 2 >= path.size() || !digit(path[i + 1]) || !digit(path[i + 2]))) return true;
  }
  return false;
}

bool unclear_segment(std::string_view segment) {
  const std::string text = percent_decode(segment, false);
  if (text.empty() || text == "." || text == "..") return true;
  return std::any_of(text.begin(), text.end(), [](char c) {
    return c == '/' || c == '\\' || c == '%' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
}

}  // namespace

bool ambiguous_path(std::string_view path) {
  if (!path.starts_with('/') || broken_escape(path)) return true;
  path.remove_prefix(1);
  while (!path.empty()) {
    const auto slash = path.find('/');
    if (unclear_segment(path.substr(0, slash))) return true;
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return false;
}

}  // namespace fleetadm::serve
