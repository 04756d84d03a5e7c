// Paths that servers could read in different ways. Who authorizes a request and lets another server answer it refuses them: what
// was allowed must be what is done.
#pragma once

#include <string_view>

namespace fleetadm::serve {

/// Of a path as sent: it does not begin with a slash, has empty, "." or ".." segments, a broken or doubled escape, an escaped
/// slash or percent sign, a backslash, or control characters, escaped or not. A slash at the end is none of that.
bool ambiguous_path(std::string_view path);

}  // namespace fleetadm::serve
