// Objects of built-in kinds as Go's decoder reads and its encoder writes them: types are checked, unknown fields dropped, zero
// values left out where the field has omitempty and written where it has not, quantities and times made canonical. And the
// duplicate keys of a text, which a parsed value no longer shows (docs/reference/kubernetes-api.md#field-validation).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/apimachinery/type.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::apimachinery {

/// No more strict-decoding complaints than this are listed.
inline constexpr std::size_t kMaxFieldComplaints = 100;

/// Decodes `object` in place by the type of its kind. Paths of fields that the type does not declare are appended to `unknown`
/// ("spec.foo", "spec.containers[0].bar") and the fields dropped. kInvalid (400): a value of a wrong type; the message is the
/// decoder's ("json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32").
Status decode_builtin(Json& object, const TypeNode& type, std::vector<std::string>& unknown);
/// What an object of a built-in kind without content looks like: what creates are compared with (managed_fields.h). {} for kinds
/// that are not built in.
Json empty_builtin(std::string_view api_version, std::string_view kind);
/// The same for a part: `path` is where it stands.
Status decode_part(Json& value, const TypeNode& type, const std::string& path, std::vector<std::string>& unknown);

/// Paths of the keys that a JSON text gives more than once, in the order of the text. The text is one that parse_json() takes.
std::vector<std::string> duplicate_fields(std::string_view json_text);

/// `unknown field "spec.foo"` and `duplicate field "spec.foo"`, duplicates first.
std::vector<std::string> field_complaints(const std::vector<std::string>& unknown, const std::vector<std::string>& duplicates);
/// The same in the order of the text, as a real server lists them.
std::vector<std::string> complaints_in_order(std::string_view json_text, const std::vector<std::string>& unknown);
/// What fieldValidation=Strict answers (400): `Deployment in version "v1" cannot be handled as a Deployment: strict decoding
/// error: …`.
std::string strict_message(std::string_view kind, std::string_view version, const std::vector<std::string>& complaints);

}  // namespace fleetadm::apimachinery
