// How this binary was built: set by the build tree (cmake/build_facts.cc.in).
#pragma once

#include <string_view>

namespace fleetadm::commands {

struct BuildFacts {
  std::string_view commit;  // empty: not told
  std::string_view compiler;
  bool linked_statically = false;
  bool hardened = false;
  bool sandbox = false;
};

extern const BuildFacts kBuildFacts;

}  // namespace fleetadm::commands
