// Objects of built-in kinds in Kubernetes' protobuf (docs/reference/kubernetes-api.md#protobuf), by the embedded facts: the
// same bytes as a kube-apiserver writes. The other direction is protobuf.h.
#pragma once

#include <string>
#include <string_view>

#include "core/apimachinery/type.h"
#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::apimachinery {

/// True where objects of the kind have a protobuf form.
bool has_protobuf(std::string_view api_version, std::string_view kind);

/// `k8s\0` + runtime.Unknown of an object with apiVersion and kind; of lists, too. kUnsupported: a kind that has no protobuf
/// form; kInvalid: a value of another type than the facts say.
Result<std::string> encode_protobuf(const Json& object);

/// One message without envelope.
Result<std::string> encode_message(const Json& object, const StructType& type);

/// One event of a watch as `;stream=watch` has it: four bytes of length, and a WatchEvent around the object's envelope.
std::string watch_frame(std::string_view type, std::string_view envelope);

}  // namespace fleetadm::apimachinery
