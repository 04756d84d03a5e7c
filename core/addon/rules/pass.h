// What one pass of an add-on rule wants: objects as they should be. Controllers write the difference, simulations answer it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/addon/rules/object_reader.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::addon {

struct ObjectRef {
  GroupResource type;
  std::string ns;
  std::string name;

  auto operator<=>(const ObjectRef&) const = default;
};

struct Pass {
  /// Complete, with their status, in the order in which they are to be written. What is not there yet is created; of what is
  /// there, metadata and spec are written where they differ, then the status where it differs. An object under deletion whose
  /// last finalizer went is listed without finalizers.
  std::vector<Json> changed;
  /// Deleted after the writes.
  std::vector<ObjectRef> deleted;
  /// The pass is repeated with a growing delay; what is in `changed` is written all the same.
  std::vector<Error> errors;
  std::optional<Duration> requeue_after;
};

}  // namespace fleetadm::addon
