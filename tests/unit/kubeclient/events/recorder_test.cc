#include "kubeclient/events/recorder.h"

#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>
#include <vector>

#include "kubeclient/base/names.h"
#include "tests/support/fake_api.h"

namespace fleetadm::kube {
namespace {

using std::chrono::seconds;
using testkit::FakeApi;

const Json kPod = *parse_json(
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"a","uid":"u1","resourceVersion":"7"},"spec":{"secret":"no"}})");

class RecorderTest : public testing::Test {
 protected:
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(*parse_time("2026-11-21T20:00:00Z"));
  std::shared_ptr<FakeApi> api = FakeApi::make(clock);
  Recorder recorder{api->client(), "example.com/controller", "controller-0", clock};
};

TEST_F(RecorderTest, ADistinctHappeningIsOneEvent) {
  recorder.event(kPod, "a", "Warning", "Failed", "Start", "it failed");
  recorder.event(kPod, "a", "Normal", "Started", "", "it started");
  recorder.flush(seconds(5));
  const auto events = api->all(resources::events());
  ASSERT_EQ(events.size(), 2U);
  const Json& event = str(events[0], {"reason"}) == "Failed" ? events[0] : events[1];
  const Json& other = str(events[0], {"reason"}) == "Failed" ? events[1] : events[0];
  EXPECT_EQ(str(event, {"type"}), "Warning");
  EXPECT_EQ(str(event, {"action"}), "Start");
  EXPECT_EQ(str(event, {"note"}), "it failed");
  EXPECT_EQ(str(event, {"eventTime"}), "2026-11-21T20:00:00.000000Z");
  EXPECT_EQ(str(event, {"reportingController"}), "example.com/controller");
  EXPECT_EQ(str(event, {"reportingInstance"}), "controller-0");
  EXPECT_EQ(dump_json(object_at(event, {"regarding"})),
            R"({"apiVersion":"v1","kind":"Pod","name":"p","namespace":"a","resourceVersion":"7","uid":"u1"})");
  EXPECT_EQ(find(event, {"series"}), nullptr);
  EXPECT_EQ(str(other, {"action"}), "Started");  // the API wants one
}

TEST_F(RecorderTest, RepetitionsBecomeASeriesUntilTheyAreFarApart) {
  for (int i = 0; i < 3; ++i) {
    recorder.event(kPod, "a", "Warning", "Failed", "Start", "again");
    recorder.flush(seconds(5));
    clock->advance(seconds(60));
  }
  ASSERT_EQ(api->all(resources::events()).size(), 1U);
  const Json event = api->all(resources::events()).front();
  EXPECT_EQ(num(event, {"series", "count"}), 3);
  EXPECT_EQ(str(event, {"series", "lastObservedTime"}), "2026-11-21T20:02:00.000000Z");
  clock->advance(seconds(600));
  recorder.event(kPod, "a", "Warning", "Failed", "Start", "again");
  recorder.flush(seconds(5));
  EXPECT_EQ(api->all(resources::events()).size(), 2U);
}

TEST_F(RecorderTest, AnEventThatExpiredIsMadeAnew) {
  recorder.event(kPod, "a", "Normal", "Seen", "See", "note");
  recorder.flush(seconds(5));
  const auto name = name_of(api->all(resources::events()).front());
  ASSERT_TRUE(api->erase(resources::events(), "a", name));
  recorder.event(kPod, "a", "Normal", "Seen", "See", "note");
  recorder.flush(seconds(5));
  EXPECT_EQ(api->all(resources::events()).size(), 1U);
}

TEST_F(RecorderTest, FailuresAreSwallowedAndLongNotesCut) {
  api->fail_next("create", "events", 403, "Forbidden");
  recorder.event(kPod, "a", "Normal", "One", "Do", "note");
  std::string long_note(1023, 'x');
  long_note += "\xc3\xa4\xc3\xa4";
  recorder.event(kPod, "", "Normal", "Two", "Do", long_note);
  recorder.flush(seconds(5));
  const auto events = api->all(resources::events());
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(namespace_of(events.front()), "default");
  EXPECT_EQ(str(events.front(), {"note"}), std::string(1023, 'x'));
}

TEST_F(RecorderTest, NamesAreValidWhateverTheObjectIsCalled) {
  Json role = kPod;
  role["metadata"]["name"] = "system:node:X";
  recorder.event(role, "a", "Normal", "One", "Do", "note");
  recorder.event(role, "a", "Normal", "Two", "Do", "note");
  recorder.flush(seconds(5));
  const auto events = api->all(resources::events());
  ASSERT_EQ(events.size(), 2U);
  EXPECT_NE(name_of(events[0]), name_of(events[1]));
  for (const auto& event : events) EXPECT_TRUE(is_dns_subdomain(name_of(event))) << name_of(event);
}

TEST_F(RecorderTest, ManyAtOnceAreNeitherWaitedForNorSentAllAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  for (int i = 0; i < 2000; ++i) recorder.event(kPod, "a", "Normal", "N" + std::to_string(i), "Do", "note");
  EXPECT_LT(elapsed(), 10);
  recorder.flush(seconds(1));
  const std::size_t sent = api->all(resources::events()).size();
  EXPECT_GE(sent, 64U);
  EXPECT_LE(static_cast<double>(sent), 64 + 1 + 20 * elapsed());
}

/// MiB of address space.
long virtual_size() {
  std::ifstream in("/proc/self/statm");
  long pages = 0;
  in >> pages;
  return pages * ::sysconf(_SC_PAGESIZE) / (1024L * 1024L);
}

// As an agent of each of a sandbox's clusters does: a stack is 8 MiB.
TEST_F(RecorderTest, OnesThatHaveNothingMoreToTellKeepNoStack) {
  std::vector<Recorder> recorders;
  const long before = virtual_size();
  for (int i = 0; i < 50; ++i) {
    recorders.emplace_back(api->client(), "example.com/controller", "controller-" + std::to_string(i), clock);
    Json pod = kPod;
    pod["metadata"]["name"] = "p" + std::to_string(i);
    recorders.back().event(pod, "a", "Normal", "One", "Do", "note");
    recorders.back().flush(seconds(5));
  }
  EXPECT_EQ(api->all(resources::events()).size(), 50U);
  EXPECT_LT(virtual_size() - before, 300);
}

}  // namespace
}  // namespace fleetadm::kube
