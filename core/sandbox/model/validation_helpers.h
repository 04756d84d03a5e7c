// Small words that checks of objects are written with.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/sandbox/model/error.h"

namespace fleetadm::sandbox {

using FieldErrors = std::vector<Cause>;
inline constexpr std::int64_t kLastPort = 65535;

inline std::string at_index(const std::string& list, std::size_t index) { return list + "[" + std::to_string(index) + "]"; }

/// Each problem as one of a value.
inline void say(const std::string& field, const std::string& value, const std::vector<std::string>& problems, FieldErrors& out) {
  for (const auto& problem : problems) out.push_back(bad_value(field, value, problem));
}

/// One of some words; nothing is said of a value that is left out.
inline void one_of(const Json& holder, const std::string& path, const char* member, const std::vector<std::string>& allowed,
                   FieldErrors& out) {
  const auto value = str(holder, {member});
  if (!value.empty() && std::find(allowed.begin(), allowed.end(), value) == allowed.end())
    out.push_back(unsupported(path + member, value, allowed));
}

inline void check_port(const std::string& field, std::int64_t port, FieldErrors& out) {
  if (port < 1 || port > kLastPort) out.push_back(bad_value(field, port, "must be between 1 and 65535, inclusive"));
}

/// A LabelSelector; `of`: for what an empty one is invalid, empty where it selects everything.
void check_label_selector(const Json& selector, const std::string& path, const std::string& of, FieldErrors& out);

}  // namespace fleetadm::sandbox
