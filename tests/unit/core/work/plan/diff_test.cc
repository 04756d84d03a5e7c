// Differences for people: which fields, whose they are, and what is never shown.
#include "core/work/plan/diff.h"

#include <gtest/gtest.h>

#include "core/work/plan/preview.h"
#include "tests/unit/core/work/fleet.h"

namespace fleetadm::work {
namespace {

using testing::parsed;

/// A work of one manifest with a strategy, against a live object.
ObjectChange drift(const std::string& manifest, const std::string& live, const std::string& strategy = "Update") {
  const Json work = testing::work_of("w", "[" + manifest + "]");
  ManifestOptions options;
  options.strategy.type = strategy == "CreateOnly" ? StrategyType::kCreateOnly
                          : strategy == "ReadOnly" ? StrategyType::kReadOnly
                                                   : StrategyType::kUpdate;
  const std::vector<Manifest> manifests = decode_manifests(work, guessed_resource);
  return drift_of(manifests.front(), options, live.empty() ? std::nullopt : std::optional<Json>(parsed(live)));
}

std::string told(const ObjectChange& change) {
  std::string text(word_of(change.state));
  for (const FieldChange& field : change.fields) {
    text += "; " + field.path + " " + dump_json(field.before) + " -> " + dump_json(field.after);
    if (!field.manager.empty()) text += " by " + field.manager;
  }
  return text + (change.note.empty() ? "" : "; " + change.note);
}

constexpr const char* kMap = R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}, "data": )";

std::string map_with(const std::string& data, const std::string& managed = "[]") {
  return R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n", "resourceVersion": "7",
    "managedFields": )" +
         managed + R"(}, "data": )" + data + "}";
}

TEST(WorkDiffs, OfAnObjectThatIsAsItShouldBeOrMissing) {
  EXPECT_EQ(told(drift(kMap + std::string(R"({"v": "1"}})"), map_with(R"({"v": "1"})"))), "same");
  EXPECT_EQ(told(drift(kMap + std::string(R"({"v": "1"}})"), "")), "missing");
  EXPECT_EQ(told(drift(kMap + std::string(R"({"v": "1"}})"), map_with(R"({"v": "2"})"), "ReadOnly")), "same");
  EXPECT_EQ(told(drift(kMap + std::string(R"({"v": "1"}})"), "", "ReadOnly")), "missing; ReadOnly: the agent does not create it");
  EXPECT_EQ(told(drift(kMap + std::string(R"({"v": "1"}})"), map_with(R"({"v": "2"})"), "CreateOnly")),
            R"(changed; data.v "2" -> "1"; CreateOnly: the agent leaves it as it is)");
}

TEST(WorkDiffs, NameWhoHoldsTheFieldAndNotWhoHeldIt) {
  // What a server leaves of the agent's entry when somebody else has written the only key.
  const std::string managed = R"([
    {"manager": "work-agent", "operation": "Update", "fieldsV1": {"f:data": {}, "f:metadata": {}}},
    {"manager": "mallory", "operation": "Update", "fieldsV1": {"f:data": {"f:v": {}}}}])";
  EXPECT_EQ(told(drift(kMap + std::string(R"({"v": "1"}})"), map_with(R"({"v": "2"})", managed))),
            R"(changed; data.v "2" -> "1" by mallory)");
  // An atomic value is held as a whole.
  const std::string atomic = R"([{"manager": "work-agent", "operation": "Update", "fieldsV1": {"f:data": {}}}])";
  EXPECT_EQ(told(drift(kMap + std::string(R"({"v": "1"}})"), map_with(R"({"v": "2"})", atomic))),
            R"(changed; data.v "2" -> "1" by work-agent)");
}

TEST(WorkDiffs, MatchElementsByName) {
  const Json before = parsed(R"({"list": [{"name": "b", "x": 1}, {"name": "a", "x": 2}]})");
  const Json after = parsed(R"({"list": [{"name": "a", "x": 2}, {"name": "b", "x": 3}]})");
  const std::vector<FieldChange> changes = field_changes(before, after);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].path, "list[name=b].x");
}

TEST(WorkDiffs, OfSecretsTellNoValueAndNoTypeThatTheServerFillsIn) {
  const std::string manifest =
      R"({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"}, "stringData": {"a": "sesame"}})";
  const auto live = [](const std::string& value, const std::string& type) {
    return R"({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"}, "type": ")" + type +
           R"(", "data": {"a": ")" + value + "\"}}";
  };
  EXPECT_EQ(told(drift(manifest, live("c2VzYW1l", "Opaque"))), "same");
  const std::string changed = told(drift(manifest, live("b3Blbg==", "Opaque")));
  EXPECT_TRUE(changed.starts_with("changed; data.a")) << changed;
  for (const char* secret : {"sesame", "c2VzYW1l", "b3Blbg=="}) EXPECT_EQ(changed.find(secret), std::string::npos) << changed;
}

TEST(WorkDiffs, OfManifestsTellWhatComesAndGoes) {
  const Json before = parsed("[" + (kMap + std::string(R"({"v": "1"}})")) + "]");
  const Json after = parsed(R"([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "n"}}])");
  const std::vector<ObjectChange> changes = manifest_changes(before, after);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].state, ObjectState::kAdded);
  EXPECT_EQ(changes[1].state, ObjectState::kRemoved);
  EXPECT_EQ(changes[1].object, "v1 ConfigMap n/a");
  EXPECT_TRUE(manifest_changes(before, before).empty());
}

}  // namespace
}  // namespace fleetadm::work
