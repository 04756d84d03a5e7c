#include "core/apimachinery/managed_fields.h"

#include <gtest/gtest.h>
#include <set>

#include "core/apimachinery/decode.h"
#include "core/apimachinery/structural.h"
#include "tests/unit/core/apimachinery/recorded.h"

namespace fleetadm::apimachinery {
namespace {

/// What is to be compared: the record has no times, and most of it happened in one second, which decides the entries' order.
Json without_times(Json object) {
  if (object.contains("metadata") && object["metadata"].contains("managedFields")) {
    Json& entries = object["metadata"]["managedFields"];
    for (Json& entry : entries) entry.erase("time");
    std::sort(entries.begin(), entries.end(), [](const Json& a, const Json& b) { return dump_json(a) < dump_json(b); });
    object["metadata"].erase("generation");
  }
  return object;
}

// Sequences of writes, each with what kube-apiserver 1.35.4 made of them (recorded).
TEST(ManagedFields, WritesLeaveWhatTheyLeaveOnARealServer) {
  const auto schema = Structural::compile(object_at(recorded("structural"), {"schema"}), "schema").value();
  const Json sequences = recorded("apply");
  ASSERT_GE(sequences.size(), 4U);
  for (const Json& sequence : sequences) {
    const bool custom = str(sequence, {"kind"}) == "Thing";
    const TypeNode& type = custom ? schema->type() : *find_kind("v1", "ConfigMap");
    const auto finish = [&](Json object) {
      std::vector<std::string> unknown;
      if (custom) {
        EXPECT_TRUE(schema->prune(object, unknown));
        schema->default_values(object);
      } else {
        EXPECT_TRUE(decode_builtin(object, type, unknown));
      }
      return object;
    };
    std::optional<Json> live;
    int second = 0;
    for (const Json& step : list_at(sequence, {"steps"})) {
      const std::string what = str(sequence, {"title"}) + " #" + std::to_string(second);
      const Writer writer{
          str(step, {"manager"}), custom ? "rec.example.com/v1" : "v1", "", {"status"}, Instant(std::chrono::seconds(second++))};
      const Json& body = object_at(step, {"body"});
      const std::string op = str(step, {"op"});
      Json result;
      if (op == "apply") {
        auto applied = apply_intent(live ? &*live : nullptr, Json::object(), body, type, writer, flag(step, {"force"}));
        if (num(step, {"code"}) >= 300) {
          ASSERT_FALSE(applied) << what;
          EXPECT_EQ(applied.error().code, num(step, {"code"})) << what << applied.error().message;
          EXPECT_EQ(applied.error().message, str(step, {"message"})) << what;
          std::set<std::string> causes;
          for (const Json& cause : list_at(applied.error().details, {"causes"}))
            causes.insert(str(cause, {"field"}) + str(cause, {"message"}) + str(cause, {"reason"}));
          std::set<std::string> wanted;
          for (const Json& cause : list_at(step, {"causes"}))
            wanted.insert(str(cause, {"field"}) + str(cause, {"message"}) + str(cause, {"reason"}));
          EXPECT_EQ(causes, wanted) << what;
          continue;
        }
        ASSERT_TRUE(applied) << what << ": " << applied.error().message;
        result = finish(*applied);
      } else {
        if (num(step, {"code"}) >= 300) continue;
        Json updated = body;
        if (op == "merge") {
          updated = *live;
          updated.merge_patch(body);
        }
        if (op == "put") {
          // The record has lost its times: those of the live object stand for them.
          const Json* fields = find(updated, {"metadata", "managedFields"});
          if (fields != nullptr && fields->size() > 1)
            at_or_make(updated, {"metadata", "managedFields"}) = list_at(*live, {"metadata", "managedFields"});
        }
        result = track_update(live ? &*live : nullptr, Json::object(), finish(updated), type, writer);
      }
      EXPECT_EQ(dump_json(without_times(result)), dump_json(without_times(object_at(step, {"result"})))) << what;
      live = result;
    }
  }
}

TEST(ManagedFields, ApplyingTheSameAgainChangesNothing) {
  const TypeNode& type = *find_kind("v1", "ConfigMap");
  const Json intent = parse_json(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}})").value();
  const Json first =
      apply_intent(nullptr, Json::object(), intent, type, {"m", "v1", "", {}, Instant(std::chrono::seconds(1))}, false).value();
  const Json second =
      apply_intent(&first, Json::object(), intent, type, {"m", "v1", "", {}, Instant(std::chrono::seconds(9))}, false).value();
  EXPECT_EQ(first, second);
  EXPECT_EQ(apply_intent(&first, Json::object(), first, type, {"m", "v1", "", {}, {}}, false).error().code, 400);
}

TEST(ManagedFields, OnlyTheTimesOfManagersMayDiffer) {
  const auto object = [](const std::string& managers, const std::string& more = {}) {
    return parse_json(R"({"kind":"ConfigMap","metadata":{"managedFields":)" + managers + R"(,"name":"a"})" + more + "}").value();
  };
  const Json first = object(R"([{"manager":"m","time":"1"},{"manager":"n"}])");
  EXPECT_TRUE(same_but_times(first, first));
  EXPECT_TRUE(same_but_times(first, object(R"([{"manager":"m","time":"2"},{"manager":"n"}])")));
  EXPECT_TRUE(same_but_times(first, object(R"([{"manager":"m"},{"manager":"n","time":"2"}])"))) << "where there is none";
  EXPECT_FALSE(same_but_times(first, object(R"([{"manager":"o","time":"1"},{"manager":"n"}])")));
  EXPECT_FALSE(same_but_times(first, object(R"([{"manager":"m","time":"1","zone":"z"},{"manager":"n"}])")));
  EXPECT_FALSE(same_but_times(first, object(R"([{"manager":"m","time":"1"}])"))) << "a manager less";
  EXPECT_FALSE(same_but_times(first, object("null")));
  EXPECT_FALSE(same_but_times(first, object(R"([{"manager":"m","time":"1"},{"manager":"n"}])", R"(,"time":"1")")));
  EXPECT_FALSE(same_but_times(object("[]", R"(,"time":"1")"), object("[]", R"(,"time":"2")"))) << "the object's own";
  EXPECT_FALSE(same_but_times(first, Json()));
}

TEST(ManagedFields, ManyUpdatersAreFolded) {
  const TypeNode& type = *find_kind("v1", "ConfigMap");
  Json live = parse_json(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{}})").value();
  live = track_update(nullptr, Json::object(), live, type, {"m", "v1", "", {}, Instant(std::chrono::seconds(0))});
  for (int i = 0; i < 30; ++i) {
    Json updated = live;
    updated["data"]["k" + std::to_string(i)] = "v";
    live = track_update(&live, Json::object(), updated, type,
                        {"m" + std::to_string(i), "v1", "", {}, Instant(std::chrono::seconds(i + 1))});
  }
  const Json& entries = list_at(live, {"metadata", "managedFields"});
  EXPECT_EQ(entries.size(), kMaxUpdateManagers);
  EXPECT_EQ(std::count_if(entries.begin(), entries.end(),
                          [](const Json& entry) { return str(entry, {"manager"}) == "ancient-changes"; }),
            1);
}

}  // namespace
}  // namespace fleetadm::apimachinery
