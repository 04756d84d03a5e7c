#include "kubeclient/base/plural.h"

namespace fleetadm {

std::string pluralize(std::uint64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + " " + std::string(noun);
  if (count == 1) return text;
  const bool sibilant =
      noun.ends_with("s") || noun.ends_with("x") || noun.ends_with("ch") || noun.ends_with("sh") || noun.ends_with("z");
  return text + (sibilant ? "es" : "s");
}

}  // namespace fleetadm
