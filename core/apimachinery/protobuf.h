// Kubernetes' protobuf bodies (docs/reference/kubernetes-api.md#protobuf), decoded by the embedded facts into JSON.
#pragma once

#include <string>
#include <string_view>

#include "core/apimachinery/type.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::apimachinery {

/// A body with this many values, or nested this deep, is refused.
inline constexpr std::size_t kMaxProtobufValues = 500'000;
inline constexpr int kMaxProtobufDepth = 100;

/// True where a body begins with the envelope's magic bytes.
bool is_protobuf(std::string_view body);

/// Decodes `k8s\0` + runtime.Unknown. Where the envelope names no apiVersion or kind the given ones are taken (and, as for JSON,
/// are in the answer). Unknown fields are skipped. Zero values of fields with omitempty are left out, as decode_builtin() would.
/// kInvalid (400): malformed, too deep, too many values; kUnsupported (415): a kind that is not built in.
Result<Json> decode_protobuf(std::string_view body, std::string_view default_api_version, std::string_view default_kind);

/// One message without envelope.
Result<Json> decode_message(std::string_view bytes, const StructType& type);

}  // namespace fleetadm::apimachinery
