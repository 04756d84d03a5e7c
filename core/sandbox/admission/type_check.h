// The static check of a ValidatingAdmissionPolicy against the kinds that it names (status.typeChecking).
#pragma once

#include "core/sandbox/model/kind.h"

namespace fleetadm::sandbox::admission {

/// A list of {fieldRef, warning}: what is wrong with expressions for one of the kinds, by kind. Rules with wildcards name none,
/// and at most ten kinds of a rule are looked at.
Json expression_warnings(const KindTable& kinds, const Json& policy);

}  // namespace fleetadm::sandbox::admission
