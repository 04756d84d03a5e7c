#include "core/work/rules/names.h"

#include "kubeclient/base/encoding.h"

namespace fleetadm::work {

std::string hub_hash(std::string_view hub_server) { return sha256_hex(hub_server); }

std::string applied_name(std::string_view hash, std::string_view work) {
  std::string name(hash);
  name += '-';
  name += work;
  return name;
}

}  // namespace fleetadm::work
