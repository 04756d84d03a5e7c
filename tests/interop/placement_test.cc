// Upstream's placement controller and ours, each on the same input on the same server, leave identical PlacementDecisions,
// counts, groups and conditions. The input is a sample of the recorded scheduling cases, as objects on a real API server; those
// whose predicates ask CEL are a sample of their own.
#include <gtest/gtest.h>
#include <map>

#include "core/placement/engine/decode.h"
#include "tests/support/placement_lab.h"
#include "tests/support/vectors.h"

namespace fleetadm::testkit {
namespace {

constexpr std::size_t kSample = 110;
constexpr std::size_t kMaxObjects = 45;
constexpr auto kQuiet = std::chrono::milliseconds(400);
constexpr auto kPatience = std::chrono::seconds(15);

struct Input {
  std::string id;
  std::string ns;
  std::string name;
  bool asks_cel = false;
  std::vector<Json> objects;  // without the placement
  Json placement;
};

// Cases that a server can hold and whose outcome does not hang on the clock or on a crash of upstream's.
std::optional<Input> usable(const Json& line) {
  if (flag(line, {"expect", "skipped"}) || flag(line, {"expect", "failed"})) return std::nullopt;
  Input input{str(line, {"id"}), {}, {}, false, {}, {}};
  const auto key = kube::split_key(str(line, {"placement"}));
  input.ns = key.ns;
  input.name = key.name;
  if (list_at(line, {"objects"}).size() > kMaxObjects) return std::nullopt;
  for (const Json& object : list_at(line, {"objects"})) {
    if (!str(object, {"metadata", "deletionTimestamp"}).empty()) return std::nullopt;
    if (str(object, {"kind"}) != "Placement") {
      input.objects.push_back(object);
    } else if (namespace_of(object) == input.ns && name_of(object) == input.name) {
      input.placement = object;
    }
  }
  input.asks_cel = dump_json(input.placement).find("celExpressions") != std::string::npos;
  if (num(input.placement, {"spec", "numberOfClusters"}) < 0) return std::nullopt;
  for (const Json& one : list_at(input.placement, {"spec", "prioritizerPolicy", "configurations"})) {
    // Who is chosen is chosen no more, and so for ever: there is no outcome, neither theirs nor ours.
    if (str(one, {"scoreCoordinate", "builtIn"}) == "Steady" && num(one, {"weight"}) < 0) return std::nullopt;
  }
  input.placement.erase("status");
  return input;
}

// A compiler's words are its own: of a condition that carries them, the fact is compared.
Json without_compiler_words(Json outcome) {
  constexpr std::string_view kFact = "Predicate:compilation failed";
  Json conditions = list_at(outcome, {"status", "conditions"});
  for (Json& one : conditions) {
    if (str(one, {"message"}).starts_with(kFact)) one["message"] = kFact;
  }
  outcome["status"]["conditions"] = std::move(conditions);
  return outcome;
}

class PlacementInterop : public ::testing::Test {
 protected:
  void SetUp() override {
    FLEETADM_NEEDS_KUBE_SERVERS();
    if (!upstream_placement()) GTEST_SKIP() << "FLEETADM_PEERS names no folder with upstream's placement controller";
  }

  // Loads one input, the placement last, and waits for the scheduler's outcome; nullopt: the server refuses an object.
  static Result<std::optional<Json>> play(PlacementLab& lab, const Input& input) {
    FLEETADM_CHECK(lab.clear());
    for (const Json& object : input.objects) {
      if (const Status put = lab.put(object); !put) return std::optional<Json>();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(250));  // the scheduler's caches see everything before the placement
    if (const Status put = lab.put(input.placement); !put) return std::optional<Json>();
    FLEETADM_TRY(Json outcome, lab.settled(input.ns, input.name, kPatience, kQuiet));
    return std::optional<Json>(without_compiler_words(std::move(outcome)));
  }

  // Every `stride`th of the recorded cases that ask CEL, or that do not, over the whole file (neighbours were made alike), under
  // upstream's controller and then under ours.
  static void compare(bool asks_cel, int stride);
};

void PlacementInterop::compare(bool asks_cel, int stride) {
  std::vector<Input> inputs;
  int seen = 0;
  const Status read = fleetadm::test::for_each_vector("placement.jsonl.gz", [&](const Json& line) {
    auto input = usable(line);
    if (!input || input->asks_cel != asks_cel || ++seen % stride != 0 || inputs.size() == 2 * kSample) return;
    inputs.push_back(std::move(*input));
  });
  ASSERT_TRUE(read) << read.error().message;
  auto started = PlacementLab::start();
  ASSERT_TRUE(started) << started.error().message;
  PlacementLab& lab = **started;

  std::map<std::string, Json> theirs;
  ASSERT_TRUE(lab.run(PlacementLab::Scheduler::kUpstream));
  for (const Input& input : inputs) {
    if (theirs.size() == kSample) break;
    const auto outcome = play(lab, input);
    ASSERT_TRUE(outcome) << input.id << ": " << outcome.error().message << "\n" << lab.log();
    if (*outcome) theirs.emplace(input.id, **outcome);
  }
  lab.stop();
  ASSERT_GE(theirs.size(), 100U) << "too few recorded cases are accepted by a server";

  ASSERT_TRUE(lab.run(PlacementLab::Scheduler::kOurs));
  int different = 0;
  int misconfigured = 0;
  for (const Input& input : inputs) {
    const auto expected = theirs.find(input.id);
    if (expected == theirs.end()) continue;
    const auto outcome = play(lab, input);
    ASSERT_TRUE(outcome && *outcome) << input.id << ": " << (outcome ? "refused" : outcome.error().message);
    for (const Json& one : list_at(expected->second, {"status", "conditions"}))
      misconfigured += str(one, {"reason"}) == "Misconfigured" ? 1 : 0;
    if (**outcome == expected->second) continue;
    if (++different <= 5) {
      ADD_FAILURE() << input.id << "\nupstream: " << dump_json(expected->second) << "\nours:     " << dump_json(**outcome)
                    << "\nplacement: " << dump_json(input.placement);
    }
  }
  std::cout << theirs.size() << " recorded cases " << (asks_cel ? "with" : "without") << " CEL on a real server, "
            << misconfigured << " of them misconfigured, " << different << " different\n";
  EXPECT_EQ(different, 0);
}

TEST_F(PlacementInterop, TheSameInputLeavesTheSameDecisionsAndConditions) { compare(false, 7); }

TEST_F(PlacementInterop, TheSamePredicatesInCelLeaveTheSameDecisionsAndConditions) { compare(true, 5); }

}  // namespace
}  // namespace fleetadm::testkit
