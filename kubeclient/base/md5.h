// MD5, where others make a name of it: it protects nothing.
#pragma once

#include <string>
#include <string_view>

namespace fleetadm {

/// In lower case; empty where the library refuses it.
std::string md5_hex(std::string_view data);

}  // namespace fleetadm
