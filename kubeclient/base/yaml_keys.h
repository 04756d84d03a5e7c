// Keys that a YAML text gives more than once, which a parsed value no longer shows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fleetadm {

struct DuplicateKey {
  std::string key;
  int line = 1;  // of the second one, from 1
};

/// In the order of the text, of its first document, at most `most`. What does not parse ends the search.
std::vector<DuplicateKey> duplicate_yaml_keys(std::string_view text, std::size_t most = 100);

}  // namespace fleetadm
