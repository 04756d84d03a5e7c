// What a registry's refusal, or none of its answers, means to a person.
#pragma once

#include <string>

#include "kubeclient/base/result.h"
#include "kubeclient/transport/transport.h"

namespace fleetadm::image {

/// Of a status from 400: the registry's own words where it has any, bounded.
Error error_of_answer(const std::string& registry, const kube::Response& answer);
/// The transport's error with hints that fit a registry.
Error error_of_transport(Error error);
/// Whether the same request may succeed soon.
bool may_pass(const Error& error);

}  // namespace fleetadm::image
