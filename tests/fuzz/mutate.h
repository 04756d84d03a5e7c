// Random changes to an input: of its bytes, by the words of its language, by pieces of other inputs and, for JSON, of its nodes.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kubeclient/base/json.h"
#include "tests/fuzz/targets.h"

namespace fleetadm::fuzz {

class Mutator {
 public:
  Mutator(const Target& target, std::uint64_t seed) : target_(target), random_(seed) {}

  /// One to six changes; never longer than the target takes.
  std::string changed(const std::string& input, const std::string& other);
  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random_() % n); }
  bool one_in(std::size_t n) { return below(n) == 0; }

 private:
  void change_bytes(std::string& text, const std::string& other);
  /// False: the text is no JSON.
  bool change_nodes(std::string& text, const std::string& other);
  void change_node(Json& root, const Json& other);
  Json* any_node(Json& root);
  Json any_value(const Json& other);
  std::string any_word();

  const Target& target_;
  std::mt19937_64 random_;
};

}  // namespace fleetadm::fuzz
