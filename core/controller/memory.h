// Programs of controllers run for months, some on clusters that are small: what only their start and their bursts needed goes
// back to the system.
#pragma once

namespace fleetadm::controller {

/// Few allocation arenas, and large blocks that are unmapped when they are freed. Before threads start.
void keep_memory_small();

/// Returns free heap pages, and unmaps unwritten pages of program and libraries: what is needed again comes back from the page
/// cache. Costs some hundred page faults; call it seldom. Where the C library is not glibc, nothing happens.
void give_memory_back();

}  // namespace fleetadm::controller
