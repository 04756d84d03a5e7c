#include "core/addon/rules/config_hash.h"

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/go_json.h"

namespace fleetadm::addon {

std::string config_spec_hash(const Json& object) {
  Json content = Json::object();
  for (const auto& [key, member] : object.items()) {
    if (key != "apiVersion" && key != "kind" && key != "metadata" && key != "status") content[key] = member;
  }
  return sha256_hex(dump_go_json(content));
}

}  // namespace fleetadm::addon
