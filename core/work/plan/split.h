// A file that is larger than a work may be becomes several works: NAME, NAME-part2, NAME-part3, …
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::work {

struct WorkPart {
  std::string name;
  Json manifests = Json::array();  // in the order of the files
  bool gives_away = false;         // an object leaves it for another part: to be written after the others
};

/// `manifests`: a list. `placed`: manifest_identity() → the part that has it now. An object stays in its part as long as there is
/// room, so that applying again moves nothing; new ones go into the first part with room. Parts without objects are left out; all
/// of `manifests` fit into `limit` bytes each. The parts are in the order of their numbers.
std::vector<WorkPart> split_manifests(const std::string& name, const Json& manifests,
                                      const std::map<std::string, std::string>& placed, std::size_t limit);

/// "web", "web-part2", …
std::string part_name(const std::string& name, std::size_t number);
/// The number of a part of this work; 0: it is none.
std::size_t part_number(const std::string& name, const std::string& part);

/// Where each object of these works (or sets) is now; of an object in several, the first.
std::map<std::string, std::string> placed_objects(const std::vector<Json>& works);

}  // namespace fleetadm::work
