#include "core/registration/agent/holds.h"

namespace fleetadm::registration::agent {
namespace {

Duration hold_of(const Json& cluster, std::string_view annotation, Duration usual) {
  const auto own = parse_duration(annotation_of(cluster, annotation));
  return own && *own >= Duration::zero() ? *own : usual;
}

}  // namespace

Holds holds_of(const Json& cluster, const Holds& usual) {
  return {hold_of(cluster, kFailureHoldAnnotation, usual.failure), hold_of(cluster, kSuccessHoldAnnotation, usual.success)};
}

}  // namespace fleetadm::registration::agent
