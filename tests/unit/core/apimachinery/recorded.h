// What kube-apiserver 1.35.4 answered (tests/data).
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/json.h"
#include "tests/support/vectors.h"

namespace fleetadm::apimachinery {

/// tests/data/kubernetes-<name>.json.gz; throws, and so fails the test, where it is missing or broken.
inline Json recorded(std::string_view name) {
  return test::read_recorded("kubernetes-" + std::string(name) + ".json.gz").value();
}

}  // namespace fleetadm::apimachinery
