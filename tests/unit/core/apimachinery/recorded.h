// What kube-apiserver 1.35.4 answered, kept in data/.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "kubeclient/base/json.h"
#include "tests/support/source_folder.h"

namespace fleetadm::apimachinery {

inline Json recorded(std::string_view name) {
  std::ifstream file(testkit::source_folder() + "/tests/unit/core/apimachinery/data/" + std::string(name));
  std::stringstream text;
  text << file.rdbuf();
  return parse_json(text.str()).value();
}

}  // namespace fleetadm::apimachinery
