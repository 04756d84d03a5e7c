// Properties over random cases, from fixed seeds (FLEETADM_SEED moves them): the first case that fails is made smaller step by
// step for as long as it still fails, and the smallest is printed.
#pragma once

#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kubeclient/base/json.h"

namespace fleetadm::testkit {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int below(int most) { return static_cast<int>(engine_() % static_cast<unsigned>(most)); }
  bool chance(int percent) { return below(100) < percent; }
  std::string one_of(std::initializer_list<const char*> words) { return words.begin()[below(static_cast<int>(words.size()))]; }
  std::mt19937& engine() { return engine_; }

 private:
  std::mt19937 engine_;
};

template <class Case>
struct Property {
  std::function<Case(Random&)> make;
  /// Cases a little smaller than this one, the boldest first.
  std::function<std::vector<Case>(const Case&)> smaller;
  std::function<std::string(const Case&)> describe;
  /// What is wrong; empty: the property holds.
  std::function<std::string(const Case&)> wrong;
  int attempts = 2000;  // at making it smaller
};

template <class Case>
Case shrink(const Property<Case>& property, Case failing) {
  int attempts = property.attempts;
  for (bool again = true; again;) {
    again = false;
    for (Case& candidate : property.smaller(failing)) {
      if (--attempts < 0) return failing;
      if (property.wrong(candidate).empty()) continue;
      failing = std::move(candidate);
      again = true;
      break;
    }
  }
  return failing;
}

template <class Case>
void holds_for_all(int rounds, const Property<Case>& property) {
  const char* given = std::getenv("FLEETADM_SEED");
  const unsigned first = given == nullptr ? 0 : static_cast<unsigned>(std::strtoul(given, nullptr, 10));
  for (unsigned seed = first; seed < first + static_cast<unsigned>(rounds); ++seed) {
    Random random(seed);
    const Case made = property.make(random);
    if (property.wrong(made).empty()) continue;
    const Case smallest = shrink(property, made);
    FAIL() << "seed " << seed << ": " << property.wrong(smallest) << "\nsmallest case:\n" << property.describe(smallest);
  }
}

/// The value with one member or element less, at any depth; members named in `keep` stay.
inline std::vector<Json> reductions(const Json& value, const std::vector<std::string>& keep = {}) {
  std::vector<Json> all;
  if (value.is_object()) {
    for (const auto& [name, member] : value.items()) {
      bool kept = false;
      for (const std::string& one : keep) kept = kept || one == name;
      if (!kept) {
        Json less = value;
        less.erase(name);
        all.push_back(std::move(less));
      }
      for (Json& smaller : reductions(member, keep)) {
        Json less = value;
        less[name] = std::move(smaller);
        all.push_back(std::move(less));
      }
    }
  }
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      Json less = value;
      less.erase(i);
      all.push_back(std::move(less));
      for (Json& smaller : reductions(value[i], keep)) {
        Json changed = value;
        changed[i] = std::move(smaller);
        all.push_back(std::move(changed));
      }
    }
  }
  return all;
}

/// The list with one of its elements less, and with half of them less.
template <class T>
std::vector<std::vector<T>> shorter(const std::vector<T>& list) {
  std::vector<std::vector<T>> all;
  if (list.size() > 3) {
    const auto middle = list.begin() + static_cast<std::ptrdiff_t>(list.size() / 2);
    all.emplace_back(list.begin(), middle);
    all.emplace_back(middle, list.end());
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::vector<T> less = list;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
    all.push_back(std::move(less));
  }
  return all;
}

}  // namespace fleetadm::testkit
