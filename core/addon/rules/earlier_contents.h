// Earlier contents of a configuration that was edited in place, kept in an annotation of the object itself, so that an undo can
// put them back. Upstream's controllers do not look at it, and no hash covers it. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "kubeclient/base/json.h"

namespace fleetadm::addon {

inline constexpr std::string_view kEarlierAnnotation = "fleetadm.io/earlier-contents";
/// At most so many, and so many bytes of them, are kept: the oldest go first.
inline constexpr std::size_t kEarlierLimit = 5;
inline constexpr std::size_t kEarlierBytes = 96 << 10;

/// What a hash covers of an object: all but its names, its metadata and its status.
Json contents_of(const Json& object);
/// Gives the object other contents.
void set_contents(Json& object, const Json& contents);

/// Keeps the contents of `before` in `object`, unless they are its own.
void keep_contents(Json& object, const Json& before);
/// The contents with this hash, which the object has or once had; nullopt: they are not kept.
std::optional<Json> contents_with(const Json& object, std::string_view hash);

}  // namespace fleetadm::addon
