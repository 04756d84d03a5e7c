// What the hub's caches keep of objects for add-ons: what a rule reads, or a writer compares.
#pragma once

#include "core/addon/rules/object_reader.h"

namespace fleetadm::addon {

// Each drops from an object what nobody reads.
void keep_of_cluster(Json& cluster);
void keep_of_work(Json& work);
/// One that has its certificate is looked at no more.
void keep_of_request(Json& csr);
/// Of an add-on that is looked at with all others of its declaration.
void keep_of_many(Json& addon);

}  // namespace fleetadm::addon
