#include "core/sandbox/node/tar_names.h"

#include <algorithm>
#include <string_view>

#include "kubeclient/base/ascii.h"

namespace fleetadm::sandbox {
namespace {

bool is_plain_path(std::string_view path) {
  return path.size() > 1 && path.front() == '/' && std::all_of(path.begin(), path.end(), [](char c) {
           return is_alnum(c) || std::string_view("/._+-").find(c) != std::string_view::npos;
         });
}

/// As an extended regular expression; without backslashes, which tar takes for quotes.
std::string as_expression(std::string_view path) {
  std::string text;
  for (const char c : path) text += c == '.' || c == '+' ? std::string{'[', c, ']'} : std::string{c};
  return text;
}

}  // namespace

std::string tar_options(const std::map<std::string, std::string>& folders) {
  std::string options;
  for (const auto& [path, here] : folders) {
    if (!is_plain_path(path) || !is_plain_path(here)) continue;
    const std::string from = "^/?" + as_expression(std::string_view(here).substr(1));
    const std::string to = path.substr(1);
    for (const char* end : {"/", "$"}) {
      options +=
          std::string(options.empty() ? "" : " ") + "--transform=s," + from + end + "," + to + (*end == '/' ? "/" : "") + ",x";
    }
  }
  return options;
}

}  // namespace fleetadm::sandbox
