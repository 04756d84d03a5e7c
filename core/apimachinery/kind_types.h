// The fields of a kind as CEL's checker knows them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/apimachinery/structural.h"
#include "core/cel/library.h"

namespace fleetadm::apimachinery {

struct DeclaredTypes {
  cel::Type self;
  std::vector<cel::Struct> structs;
};

/// Of a built-in kind (find_kind()). Names of its types begin with `name`.
DeclaredTypes declare_kind(const TypeNode& root, const std::string& name);
/// Of a custom resource, with the whole of ObjectMeta.
DeclaredTypes declare_kind(const Structural& schema, const std::string& name);

}  // namespace fleetadm::apimachinery
