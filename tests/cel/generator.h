// Random CEL expressions from a typed grammar, the same for the same seed. Most check and evaluate; some are of a wrong type or
// broken text on purpose.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fleetadm::testkit {

class CelGenerator {
 public:
  explicit CelGenerator(std::uint64_t seed);

  /// `selector`: for the environment of cluster selectors, else of condition rules.
  std::string expression(bool selector);

 private:
  using Scope = std::vector<std::pair<std::string, std::string>>;  // name, type

  std::string of_type(std::string_view type, int depth);
  std::string expand(std::string_view pattern, int depth);
  std::string broken(std::string text);
  std::size_t below(std::size_t n);
  bool one_in(std::size_t n) { return below(n) == 0; }

  std::mt19937_64 random_;
  Scope scope_;
  bool selector_ = false;
};

}  // namespace fleetadm::testkit
