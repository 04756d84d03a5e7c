// Values as the reference evaluator writes them (render.go): with their types, maps sorted.
#pragma once

#include <string>

#include "core/cel/value.h"

namespace fleetadm::testkit {

std::string render(const cel::Value& value);

}  // namespace fleetadm::testkit
