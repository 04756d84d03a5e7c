// One state of one object: as the store keeps it, and as a journal does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::sandbox {

/// The text has no apiVersion and no kind: the endpoint that serves it adds its own.
struct Stored {
  std::string body;  // compact JSON, metadata.resourceVersion included
  std::int64_t revision = 0;
  std::string version;                                      // of a custom resource the version that the text is in: "v1beta1"
  std::vector<std::pair<std::string, std::string>> labels;  // sorted by key

  Json json() const;
};
using StoredPtr = std::shared_ptr<const Stored>;

/// `object` gets its resourceVersion, and loses apiVersion and kind. `version`: of a custom resource, else empty.
StoredPtr store_object(Json& object, std::int64_t revision, std::string version);

/// A journal has one text an object: the version stands in it where the object itself has none.
std::string journal_body(const Stored& stored);
/// Of such a text; kInvalid where it is no JSON.
Result<StoredPtr> stored_of(std::string text, std::int64_t revision);

}  // namespace fleetadm::sandbox
