// Where the sources lie. The path is compiled into one file alone: everything else compiles the same in every clone, so that
// the compiler cache serves them all.
#pragma once

#include <string>

namespace fleetadm::testkit {

std::string source_folder();

}  // namespace fleetadm::testkit
