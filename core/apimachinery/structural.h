// A CRD's openAPIV3Schema, compiled (docs/reference/kubernetes-api.md#custom-resource-definitions): is it structural, what is
// pruned and defaulted, what is invalid. A compiled schema is immutable and may be used by many threads at once; it owns the
// TypeNodes that type() hands out.
//
// The order of a request: decode → prune → default_values → (admission) → validate.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/apimachinery/causes.h"
#include "core/apimachinery/type.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::apimachinery {

/// Schemas with more nodes than this are refused.
inline constexpr std::size_t kMaxSchemaNodes = 20'000;

struct SchemaNode;

class Structural {
 public:
  /// Compiles `schema` (the value of openAPIV3Schema). `field` is where it stands in the CRD, for the causes: a CRD whose
  /// versions all have one schema says "spec.validation.openAPIV3Schema", others "spec.versions[0].schema.openAPIV3Schema".
  /// Everything that a CRD is refused for (422) is in the causes.
  static tl::expected<std::shared_ptr<const Structural>, Causes> compile(const Json& schema, const std::string& field);

  /// The shape for server-side apply; apiVersion, kind and metadata are part of it.
  const TypeNode& type() const;

  /// Decodes metadata (and that of embedded resources) as ObjectMeta and drops what the schema does not declare; the paths of
  /// what was dropped are appended. kInvalid (400): metadata of a wrong type.
  Status prune(Json& object, std::vector<std::string>& unknown) const;
  /// Drops nulls that are not nullable, and fills in defaults wherever the parent exists.
  void default_values(Json& object) const;
  /// What is wrong with an object; `old` is the stored one on updates, else nullptr: unchanged values are then not blamed, and
  /// transition rules run. With `only_status` the schema of status alone (and all rules) are checked, as on the subresource.
  Causes validate(const Json& object, const Json* old, bool only_status = false) const;

  const SchemaNode& root() const { return *root_; }

  Structural(const Structural&) = delete;
  ~Structural();

 private:
  Structural();
  std::unique_ptr<SchemaNode> root_;
  bool has_rules_ = false;
};

/// Whether a schema is structural is asked of every schema; this says only why not, as the NonStructuralSchema condition and the
/// refusal list it.
Causes structural_violations(const Json& schema, const std::string& field);

}  // namespace fleetadm::apimachinery
