#include "core/push/share.h"

#include <cstdint>

namespace fleetadm::push {
namespace {

// The same in all versions: replicas of two may run side by side during an upgrade.
std::uint64_t weight(std::string_view replica, std::string_view cluster) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  const auto add = [&](unsigned char byte) { hash = (hash ^ byte) * 1099511628211U; };
  for (const char c : replica) add(static_cast<unsigned char>(c));
  add(0);
  for (const char c : cluster) add(static_cast<unsigned char>(c));
  // Names differ in few bits: the finalizer of splitmix64 spreads them.
  hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebU;
  return hash ^ (hash >> 31U);
}

}  // namespace

std::string_view replica_of(std::string_view cluster, const std::vector<std::string>& replicas) {
  std::string_view best;
  std::uint64_t most = 0;
  for (const std::string& one : replicas) {
    const std::uint64_t its = weight(one, cluster);
    if (!best.empty() && (its < most || (its == most && one >= best))) continue;
    best = one;
    most = its;
  }
  return best;
}

}  // namespace fleetadm::push
