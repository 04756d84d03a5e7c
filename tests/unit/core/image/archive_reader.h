// Reads archives with tar(1), which is not ours.
#pragma once

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace fleetadm::image {

inline std::string output_of(const std::string& command) {
  std::string out;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) out.append(buffer.data(), count);
  const int status = ::pclose(pipe);
  return status == 0 ? out : out + "[failed]";
}

inline std::string content_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// `tar -tv` of an archive, without what depends on the time zone.
inline std::string listing_of(const std::string& archive) {
  const testkit::TemporaryFolder folder("tar");
  return output_of("TZ=UTC tar -tvf " + folder.write("a.tar", archive));
}

}  // namespace fleetadm::image
