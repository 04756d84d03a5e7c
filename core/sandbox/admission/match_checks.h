// What a policy or binding says of the requests that it is for, checked before it is stored, in the server's words.
#pragma once

#include <string>
#include <vector>

#include "core/sandbox/model/error.h"

namespace fleetadm::sandbox::admission {

using Causes = std::vector<Cause>;

/// What a qualified name has to be.
inline constexpr const char* kQualifiedName =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

/// "spec.variables[3]".
std::string item(const std::string& field, std::size_t index);
/// A member that is one of some words; `needed`: it may not be left out.
void check_one_of(const Json& holder, const char* name, const std::string& field, const std::vector<std::string>& allowed,
                  bool needed, Causes& out);
/// A label selector, which may not be left out.
void check_selector(const Json& holder, const char* name, const std::string& field, Causes& out);
/// matchConstraints of a policy, matchResources of a binding.
void check_match(const Json& match, const std::string& at, Causes& out);

}  // namespace fleetadm::sandbox::admission
