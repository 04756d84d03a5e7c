// What `kubectl explain` says of fields beyond their types: texts of those that every object has, and enumerated values.
#pragma once

#include <string_view>

namespace fleetadm::apimachinery {

/// Of a field of a message ("meta/v1.ObjectMeta"); `message` "": of an object's root (apiVersion, kind, metadata). Empty where
/// there is nothing to say.
std::string_view description_of(std::string_view message, std::string_view field);

/// The values that a field (or an item of it) may have, joined by "|"; empty where it may have any.
std::string_view values_of(std::string_view message, std::string_view field);

}  // namespace fleetadm::apimachinery
