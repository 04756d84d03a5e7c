#include "tests/cel/generator.h"

#include <algorithm>
#include <array>

#include "tests/cel/grammar.h"

namespace fleetadm::testkit {
namespace {

constexpr std::array<std::string_view, 12> kResults = {"bool", "bool", "int", "string",   "double",   "strings",
                                                       "ints", "map",  "dyn", "quantity", "duration", "uint"};

bool is_terminal(std::string_view pattern) {
  const std::size_t open = pattern.find('{');
  return open == std::string_view::npos || open + 1 == pattern.size() || pattern[open + 1] < 'a' || pattern[open + 1] > 'z';
}

}  // namespace

CelGenerator::CelGenerator(std::uint64_t seed) : random_(seed) {}

// Not a distribution of the library: those differ between implementations.
std::size_t CelGenerator::below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

std::string CelGenerator::expression(bool selector) {
  selector_ = selector;
  scope_.clear();
  std::string text = of_type(kResults[below(kResults.size())], 1 + static_cast<int>(below(4)));
  return one_in(40) ? broken(std::move(text)) : text;
}

std::string CelGenerator::of_type(std::string_view type, int depth) {
  if (one_in(150)) type = kResults[below(kResults.size())];  // the wrong type
  std::vector<std::string_view> choices;
  for (const auto& [name, of] : scope_) {
    if (of == type) choices.insert(choices.end(), 4, name);
  }
  for (const auto& productions : {cel_productions(), odd_cel_inputs()}) {
    for (const CelProduction& one : productions) {
      if (one.type != type) continue;
      if (one.in == CelProduction::In::kSelector && !selector_) continue;
      if (one.in == CelProduction::In::kCondition && selector_) continue;
      if (depth <= 0 && !is_terminal(one.pattern)) continue;
      choices.push_back(one.pattern);
    }
  }
  // A type without terminals goes on for one more step; each of them has one that leads to texts.
  if (choices.empty()) return of_type(type, 1);
  return expand(choices[below(choices.size())], depth - 1);
}

std::string CelGenerator::expand(std::string_view pattern, int depth) {
  std::string out;
  while (!pattern.empty()) {
    const std::size_t open = pattern.find('{');
    if (open == std::string_view::npos) return out + std::string(pattern);
    out += pattern.substr(0, open);
    pattern.remove_prefix(open);
    const std::size_t close = pattern.find('}');
    const std::string_view inside = close == std::string_view::npos ? std::string_view() : pattern.substr(1, close - 1);
    const bool hole = !inside.empty() && std::all_of(inside.begin(), inside.end(),
                                                     [](char c) { return (c >= 'a' && c <= 'z') || c == '|' || c == ':'; });
    if (!hole) {
      out += '{';
      pattern.remove_prefix(1);
      continue;
    }
    const std::size_t bar = inside.find('|');
    if (bar == std::string_view::npos) {
      out += of_type(inside, depth);
    } else {
      const std::string_view variable = inside.substr(bar + 1);
      const std::size_t colon = variable.find(':');
      scope_.emplace_back(variable.substr(0, colon), variable.substr(colon + 1));
      out += of_type(inside.substr(0, bar), depth);
      scope_.pop_back();
    }
    pattern.remove_prefix(close + 1);
  }
  return out;
}

// A character lost, doubled or replaced.
std::string CelGenerator::broken(std::string text) {
  static constexpr std::string_view kNoise = "()[]{}.,:?'\"\\+-*/%!&|=<>a0_ \n";
  const std::size_t at = below(text.size());
  switch (below(3)) {
    case 0: text.erase(at, 1); break;
    case 1: text.insert(at, 1, text[at]); break;
    default: text[at] = kNoise[below(kNoise.size())];
  }
  return text;
}

}  // namespace fleetadm::testkit
