#include "kubeclient/base/cached_object.h"

#include <utility>

namespace fleetadm::kube {

CachedObject::CachedObject(std::string key, const Json& object)
    : key_(std::move(key)), resource_version_(resource_version_of(object)), uid_(uid_of(object)) {
  if (fleetadm::find(object, {"metadata", "managedFields"}) != nullptr) {
    Json lean = object;
    erase_at(lean, {"metadata", "managedFields"});
    text_ = dump_json(lean);
  } else {
    text_ = dump_json(object);
  }
  text_.shrink_to_fit();
}

Json CachedObject::decode() const {
  // The text is our own dump of a parsed object: it parses.
  auto object = parse_json(text_);
  return object ? std::move(*object) : Json::object();
}

}  // namespace fleetadm::kube
