// What an executable file is for.
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm::image {

struct Executable {
  std::string architecture;  // "amd64", "arm64", as platforms of images name them
  std::string interpreter;   // the loader that it needs, "/lib64/ld-linux-x86-64.so.2"; empty: it is linked statically
};

/// Of a Linux executable for a processor family that fleetadm is built for. kInvalid for anything else.
Result<Executable> read_executable(std::string_view file);

/// That of this program: "amd64" or "arm64".
std::string own_architecture();

}  // namespace fleetadm::image
