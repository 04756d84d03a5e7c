#include "core/install/helm_release.h"

namespace fleetadm::install {

std::string helm_release_of(const Json& object) { return annotation_of(object, "meta.helm.sh/release-name"); }

}  // namespace fleetadm::install
