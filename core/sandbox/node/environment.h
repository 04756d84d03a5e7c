// What a container's process is given: its variables, its command line, its files. Pure: objects come from a Lookup.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"
#include "kubeclient/base/result.h"

namespace fleetadm::sandbox {

/// The node's own facts that a pod may ask for.
struct NodeFacts {
  std::string name;
  std::string ip = "127.0.0.1";
  std::string api_host;  // KUBERNETES_SERVICE_HOST
  std::string api_port;  // KUBERNETES_SERVICE_PORT
};

struct TokenAsk {
  std::string ns;
  std::string service_account;
  std::string pod_name;
  std::string pod_uid;
  std::string audience;  // empty: the API server's
  std::int64_t seconds = 3600;
};

/// Objects and tokens of the pod's namespace. An absent object is an empty optional, a failed read an error.
struct Lookup {
  std::function<Result<std::optional<Json>>(std::string_view ns, std::string_view name)> secret;
  std::function<Result<std::optional<Json>>(std::string_view ns, std::string_view name)> config_map;
  std::function<Result<std::string>(const TokenAsk&)> token;
};

using Variables = std::map<std::string, std::string>;

/// Kubernetes' $(NAME): replaced where the name is known, kept where not; "$$" is one "$".
std::string expand(std::string_view text, const Variables& values);

/// The value of a downward API field (metadata.name, metadata.labels['x'], spec.nodeName, status.podIP, …). kUsage where the
/// path is none of them.
Result<std::string> field_of(const Json& pod, std::string_view path, const NodeFacts& node);

/// envFrom, then env in order, on top of KUBERNETES_SERVICE_*. kNotFound where a key that is not optional is missing.
Result<Variables> environment_of(const Json& pod, const Json& container, const NodeFacts& node, const Lookup& lookup);

/// Takes out what lets the loader or a library run code of a pod's choice in a process on this machine (LD_PRELOAD, OPENSSL_CONF,
/// …), and forbids credential plugins of kubeconfigs, which a pod's volume may bring.
void confine(Variables& variables);

/// The files of a volume by relative path. Volumes of other types than secret, configMap, projected and downwardAPI are empty.
Result<std::map<std::string, std::string>> files_of(const Json& pod, const Json& volume, const NodeFacts& node,
                                                    const Lookup& lookup);

/// `text` with each absolute path at or under a key of `folders` moved to its value: a process has no mount points of its own.
std::string relocate(std::string_view text, const std::map<std::string, std::string>& folders);

/// `text` with ":<port>" at its end replaced: pods of several nodes share one loopback address.
std::string renumber(std::string_view text, const std::map<int, int>& ports);

/// False for an image of a registry whose name ends with ".invalid", a domain that never exists (RFC 2606): pulling it fails.
bool can_be_pulled(std::string_view image);
/// The last path component of an image's name, without tag and digest: "quay.io/x/fleetadm:v1" is "fleetadm".
std::string image_base(std::string_view image);

}  // namespace fleetadm::sandbox
