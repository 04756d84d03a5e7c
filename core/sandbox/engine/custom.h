// Custom resource definitions and what they define (docs/reference/kubernetes-api.md#custom-resource-definitions).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/apimachinery/structural.h"
#include "core/sandbox/engine/engine.h"

namespace fleetadm::sandbox {

namespace convert {
class Converter;
struct Place;
}  // namespace convert

/// Holds a definition that is being deleted until its objects are gone.
inline constexpr const char* kDefinitionCleanup = "customresourcecleanup.apiextensions.k8s.io";

/// One version of a custom resource.
struct CustomKind {
  std::string definition;                                 // the CRD's name
  std::shared_ptr<const Json> schema;                     // openAPIV3Schema; shared with every cluster that has the same
  std::shared_ptr<const apimachinery::Structural> shape;  // the same, compiled
  Json columns;                                           // additionalPrinterColumns
  Json scale;                                             // the scale subresource's paths; null where there is none
  bool has_status = false;
  bool terminating = false;
  std::string deprecation;      // warning text; empty where the version is not deprecated
  std::string storage_version;  // what objects are written in
  /// Of all versions of the definition; null where all of them read alike (one version, or one schema and no webhook).
  std::shared_ptr<const convert::Converter> converter;
};

inline const convert::Converter* converter_of(const Kind& kind) {
  return kind.custom == nullptr ? nullptr : kind.custom->converter.get();
}

/// The rows that a definition serves now (none before it is established).
std::vector<KindPtr> rows_of(const Json& definition, const convert::Place& place);

/// Defaults, validation and status of definitions. Their observer keeps the kind table in step.
Strategy definition_strategy();
/// Conditions NamesAccepted and Established for a definition that has just been written; true where something changed.
bool establish(Json& definition, const std::vector<Json>& others, Instant now);

}  // namespace fleetadm::sandbox
