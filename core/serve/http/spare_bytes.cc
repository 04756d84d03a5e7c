#include "core/serve/http/spare_bytes.h"

#include <array>
#include <utility>

namespace fleetadm::serve {
namespace {

/// What is written, and what is gathered meanwhile.
std::array<std::string, 2>& spare() {
  static thread_local std::array<std::string, 2> bytes;
  return bytes;
}

}  // namespace

std::string take_spare_bytes() {
  std::string taken;
  for (std::string& each : spare()) {
    if (each.capacity() >= kSpareRoom) {
      taken.swap(each);
      break;
    }
  }
  taken.reserve(kSpareRoom);
  return taken;
}

void keep_spare_bytes(std::string bytes) {
  if (bytes.capacity() < kSpareRoom || bytes.capacity() > 2 * kSpareRoom) return;
  bytes.clear();
  for (std::string& each : spare()) {
    if (each.capacity() < kSpareRoom) return each.swap(bytes);
  }
}

}  // namespace fleetadm::serve
