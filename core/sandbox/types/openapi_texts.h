// What `kubectl explain` says of the fields that every object has.
#pragma once

#include <string_view>

namespace fleetadm::sandbox::types {

/// Of a field of a message ("meta/v1.ObjectMeta"); `message` "": of an object's root (apiVersion, kind, metadata). Empty where
/// there is nothing to say.
std::string_view description_of(std::string_view message, std::string_view field);

}  // namespace fleetadm::sandbox::types
