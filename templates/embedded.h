// What the build embeds (cmake/embed_files.cmake): all files, sorted by path.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace fleetadm::templates {

struct Embedded {
  std::string_view path;
  std::string_view deflated;  // raw: no header, no checksum
  std::size_t size;           // of the text
};

extern const std::span<const Embedded> kEmbedded;

}  // namespace fleetadm::templates
