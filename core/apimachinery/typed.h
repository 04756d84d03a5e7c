// Values with their types: which fields they have, what differs, how an intent is merged in, what is taken out. The algebra
// under server-side apply (docs/reference/kubernetes-api.md#server-side-apply). What a type does not say is deduced: objects
// are granular, lists atomic.
#pragma once

#include <string>
#include <vector>

#include "core/apimachinery/field_set.h"
#include "core/apimachinery/type.h"

namespace fleetadm::apimachinery {

/// Why a value does not fit its type: ".spec.foo: field not declared in schema". Empty where it fits.
std::vector<std::string> type_errors(const Json& value, const TypeNode& type);

/// The fields of a value.
FieldSet fields_of(const Json& value, const TypeNode& type);

struct Difference {
  FieldSet added, modified, removed;
  bool empty() const { return added.empty() && modified.empty() && removed.empty(); }
};
Difference compare(const Json& before, const Json& after, const TypeNode& type);

/// `live` with `intent` merged in: its scalars and atomic values win, its elements of sets and list maps come in its order.
Json merge_intent(const Json& live, const Json& intent, const TypeNode& type);

/// Removes from `value` what is in `last` and not in `owned`; whole elements and containers where nobody owns anything of them.
void prune_fields(Json& value, const TypeNode& type, const FieldSet& last, const FieldSet& owned);

}  // namespace fleetadm::apimachinery
