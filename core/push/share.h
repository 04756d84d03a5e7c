// Which replica of the hub dials which member. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fleetadm::push {

/// By rendezvous hashing: all replicas that know of each other answer the same, and a replica that comes or goes moves no member
/// but those that it gets or had. Empty where there is none.
std::string_view replica_of(std::string_view cluster, const std::vector<std::string>& replicas);

}  // namespace fleetadm::push
