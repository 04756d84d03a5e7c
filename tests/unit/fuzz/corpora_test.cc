// Every kept input through its target, once: what a fuzzer found or needed does not come back.
#include <gtest/gtest.h>
#include <map>

#include "tests/fuzz/driver.h"

namespace fleetadm::fuzz {
namespace {

TEST(Corpora, EveryKeptInputKeepsItsPromises) {
  for (const Target& target : targets()) {
    const auto inputs = corpus_of(target);
    EXPECT_GE(inputs.size(), 20U) << "tests/corpora/" << target.name;
    for (const auto& [name, input] : inputs) {
      const auto shape = target.run(input);
      EXPECT_TRUE(shape) << target.name << "/" << name << ": " << (shape ? "" : shape.error().message);
    }
  }
}

TEST(Corpora, EveryKeptInputHasAnOutcomeOfItsOwn) {
  for (const Target& target : targets()) {
    std::map<std::string, std::string> shapes;  // by outcome, the inputs that have it
    const auto inputs = corpus_of(target);
    for (const auto& [name, input] : inputs) {
      if (const auto shape = target.run(input)) shapes[*shape] += " " + name;
    }
    std::string all;
    for (const auto& [shape, names] : shapes) all += shape + ":" + names + "\n";
    EXPECT_GE(shapes.size() * 10, inputs.size() * 9) << target.name << ": many inputs say the same\n" << all;
  }
}

}  // namespace
}  // namespace fleetadm::fuzz
