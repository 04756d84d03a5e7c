// The image of a fleetadm binary: the binary, what it needs to run, and nothing else.
#pragma once

#include <string>
#include <vector>

#include "core/image/image.h"

namespace fleetadm::image {

struct ProgramFiles {
  std::string binary;                       // its content
  std::string architecture;                 // that it is for
  std::vector<std::string> libraries = {};  // paths on this machine, as the loader opened them, the loader among them
  std::string ca_certificates = {};         // PEM; empty: the image trusts no public CA
};

/// What the loader has opened for this process; empty where it is linked statically.
std::vector<std::string> loaded_libraries();

Result<PlatformImage> make_program_image(ProgramFiles files);

}  // namespace fleetadm::image
