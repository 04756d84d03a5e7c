#include "core/sandbox/store/store.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "tests/support/temporary_folder.h"

namespace fleetadm::sandbox {
namespace {

const std::string kMaps = "/configmaps";

Json map_of(const std::string& value, const Json& labels = Json::object()) {
  return {{"metadata", {{"labels", labels}}}, {"data", {{"a", value}}}};
}

std::int64_t put(Store& store, const std::string& name, std::int64_t expected, const std::string& value,
                 const std::string& ns = "n") {
  const auto done = store.write({kMaps, ns, name, expected, map_of(value), false});
  EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().reason);
  return done ? (*done)->revision : 0;
}

std::int64_t drop(Store& store, const std::string& name, std::int64_t expected) {
  const auto done = store.write({kMaps, "n", name, expected, map_of("gone"), true});
  EXPECT_TRUE(done.has_value());
  return done ? (*done)->revision : 0;
}

std::unique_ptr<Store> in_memory(Store::Limits limits = {}) { return std::move(*Store::open(nullptr, limits)); }

TEST(Store, CountsOneRevisionForAllResources) {
  const auto store = in_memory();
  const auto first = put(*store, "a", 0, "1");
  const auto second = put(*store, "b", 0, "1");
  EXPECT_EQ(second, first + 1);
  EXPECT_EQ(store->revision(), second);
  EXPECT_EQ(str(store->get(kMaps, "n", "a")->json(), {"metadata", "resourceVersion"}), std::to_string(first));
}

TEST(Store, RefusesWhatIsNotInTheExpectedState) {
  const auto store = in_memory();
  const auto at = put(*store, "a", 0, "1");
  EXPECT_EQ(store->write({kMaps, "n", "a", 0, map_of("2"), false}).error().reason, "Exists");
  EXPECT_EQ(store->write({kMaps, "n", "a", at + 1, map_of("2"), false}).error().reason, "Changed");
  EXPECT_EQ(store->write({kMaps, "n", "x", 5, map_of("2"), false}).error().reason, "Missing");
  EXPECT_EQ(store->revision(), at);
}

TEST(Store, ListsThePast) {
  const auto store = in_memory();
  const auto a = put(*store, "a", 0, "1");
  const auto b = put(*store, "b", 0, "1");
  put(*store, "a", a, "2");
  drop(*store, "b", b);
  put(*store, "c", 0, "1");
  const auto past = store->list(kMaps, "n", b);
  ASSERT_TRUE(past.has_value());
  ASSERT_EQ(past->items.size(), 2U);
  EXPECT_EQ(str(past->items[0].object->json(), {"data", "a"}), "1");
  EXPECT_EQ(past->items[1].name, "b");
  const auto now = store->list(kMaps, "", 0);
  ASSERT_EQ(now->items.size(), 2U);
  EXPECT_EQ(now->items[1].name, "c");
}

TEST(Store, ForgetsOldEvents) {
  Store::Limits limits;
  limits.kept_events = 2;
  limits.most_events = 2;
  const auto store = in_memory(limits);
  auto at = put(*store, "a", 0, "1");
  const auto first = at;
  for (int i = 0; i < 5; ++i) at = put(*store, "a", at, "2");
  EXPECT_EQ(store->list(kMaps, "", first).error().category, Category::kGone);
  EXPECT_FALSE(store->watch(kMaps, "", first, [] {}).has_value());
  EXPECT_TRUE(store->watch(kMaps, "", at, [] {}).has_value());
}

TEST(Store, KeepsOldEventsWhileTheyAreFewAndSmall) {
  Store::Limits limits;
  limits.kept_for = std::chrono::seconds(0);
  limits.kept_events = 3;
  limits.kept_bytes = 4000;
  const auto store = in_memory(limits);
  std::vector<std::int64_t> small = {put(*store, "a", 0, "1")};
  for (int i = 0; i < 5; ++i) small.push_back(put(*store, "a", small.back(), "2"));
  EXPECT_TRUE(store->watch(kMaps, "", small[2], [] {}));
  EXPECT_FALSE(store->watch(kMaps, "", small[1], [] {})) << "three are kept";
  const auto large = store->write({"/secrets", "n", "b", 0, map_of(std::string(3000, 'x')), false});
  ASSERT_TRUE(large.has_value());
  const auto next = store->write({"/secrets", "n", "b", (*large)->revision, map_of(std::string(3000, 'y')), false});
  ASSERT_TRUE(next.has_value());
  EXPECT_TRUE(store->watch("/secrets", "", (*large)->revision, [] {}));
  ASSERT_TRUE(store->write({"/secrets", "n", "b", (*next)->revision, map_of("z"), false}).has_value());
  EXPECT_FALSE(store->watch("/secrets", "", (*large)->revision, [] {})) << "two past states are 6000 bytes";
  EXPECT_TRUE(store->watch(kMaps, "", small[2], [] {})) << "of another kind nothing is forgotten for that";
}

TEST(Store, ForgetsOldEventsOfKindsThatNobodyWritesToAnyMore) {
  Store::Limits limits;
  limits.kept_for = std::chrono::milliseconds(50);
  limits.kept_bytes = 100;
  const auto store = in_memory(limits);
  const auto first = put(*store, "a", 0, std::string(1000, 'x'));
  put(*store, "a", first, "2");
  EXPECT_TRUE(store->watch(kMaps, "", first, [] {})) << "it is young";
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (int i = 0; store->watch(kMaps, "", first, [] {}) && std::chrono::steady_clock::now() < until; ++i)
    ASSERT_TRUE(store->write({"/secrets", "n", std::to_string(i), 0, map_of("1"), false}).has_value());
  EXPECT_FALSE(store->watch(kMaps, "", first, [] {}));
}

TEST(Store, ForgetsEventsOfLargeObjectsEarlier) {
  const auto store = in_memory();
  const std::string large(1024 * 1024, 'x');
  ASSERT_TRUE(store->write({"/secrets", "n", "small", 0, map_of("1"), false}));
  const auto first = put(*store, "a", 0, large);
  auto at = first;
  for (int i = 0; i < 80; ++i) at = put(*store, "a", at, large);
  EXPECT_FALSE(store->list(kMaps, "n", first)) << "80 MiB would be kept";
  EXPECT_TRUE(store->list(kMaps, "n", at - 50)) << "the limit is used";
  EXPECT_TRUE(store->watch("/secrets", "n", 0, [] {})) << "the log of another kind is whole";
}

TEST(Store, CountsWhatOnlyTheLogHolds) {
  const auto store = in_memory();
  const std::string large(1024 * 1024, 'x');
  std::vector<std::int64_t> made;
  for (int i = 0; i < 80; ++i) made.push_back(put(*store, std::to_string(i), 0, large));
  EXPECT_TRUE(store->watch(kMaps, "n", made.front(), [] {})) << "these objects are there anyway";
  std::int64_t last = 0;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const auto gone = store->write({kMaps, "n", std::to_string(i), made[i], map_of(large), true});
    ASSERT_TRUE(gone.has_value());
    last = (*gone)->revision;
  }
  EXPECT_FALSE(store->watch(kMaps, "n", last - 40, [] {})) << "of an object that is gone the log holds the last two states";
  EXPECT_TRUE(store->watch(kMaps, "n", last - 20, [] {}));
}

TEST(Store, WakesAReaderOnceAndKeepsItsPlace) {
  const auto store = in_memory();
  const auto from = put(*store, "a", 0, "1");
  int woken = 0;
  const auto watch = std::move(*store->watch(kMaps, "n", from, [&] { ++woken; }));
  put(*store, "other", 0, "1", "elsewhere");
  EXPECT_EQ(woken, 0);
  const auto second = put(*store, "a", from, "2");
  drop(*store, "a", second);
  EXPECT_EQ(woken, 1);
  const auto events = watch->take(10);
  ASSERT_TRUE(events.has_value());
  ASSERT_EQ(events->size(), 2U);
  EXPECT_EQ((*events)[0]->type, Change::kModified);
  EXPECT_EQ((*events)[1]->type, Change::kDeleted);
  EXPECT_EQ(watch->revision(), store->revision());
  EXPECT_TRUE(watch->take(10)->empty());
}

TEST(Store, WakesAReaderOfOneObjectForThatAlone) {
  const auto store = in_memory();
  int in_one = 0;
  int in_all = 0;
  const auto one = std::move(*store->watch(kMaps, "n", "a", 0, [&] { ++in_one; }));
  const auto all = std::move(*store->watch(kMaps, "", "a", 0, [&] { ++in_all; }));
  put(*store, "b", 0, "1");
  EXPECT_EQ(in_one + in_all, 0);
  EXPECT_TRUE(one->take(10)->empty());
  EXPECT_EQ(one->revision(), store->revision()) << "a bookmark tells what was passed over";
  put(*store, "a", 0, "1", "elsewhere");
  EXPECT_EQ(in_one, 0);
  EXPECT_EQ(in_all, 1);
  put(*store, "a", 0, "1");
  put(*store, "b", 0, "1", "elsewhere");
  EXPECT_EQ(in_one, 1);
  EXPECT_EQ(one->take(10)->size(), 1U);
  EXPECT_EQ(all->take(10)->size(), 2U);
  EXPECT_TRUE(all->take(10)->empty());
}

TEST(Store, GivesAReaderNoMoreThanItHasRoomFor) {
  const auto store = in_memory();
  const auto watch = std::move(*store->watch(kMaps, "n", 0, [] {}));
  const std::string large(100 * 1024, 'x');
  for (int i = 0; i < 5; ++i) put(*store, std::to_string(i), 0, large);
  EXPECT_EQ(watch->take(10, 64UL * 1024)->size(), 1U) << "one is larger than the room, and comes all the same";
  EXPECT_EQ(watch->take(10, 150UL * 1024)->size(), 2U);
  EXPECT_EQ(watch->take(10)->size(), 2U);
  EXPECT_TRUE(watch->take(10)->empty());
}

TEST(Store, WatchOfAFutureRevisionSkipsUntilThere) {
  const auto store = in_memory();
  const auto at = put(*store, "a", 0, "1");
  const auto watch = std::move(*store->watch(kMaps, "", at + 1, [] {}));
  const auto second = put(*store, "a", at, "2");
  EXPECT_TRUE(watch->take(10)->empty());
  put(*store, "a", second, "3");
  const auto events = watch->take(10);
  ASSERT_EQ(events->size(), 1U);
  EXPECT_EQ(str((*events)[0]->now->json(), {"data", "a"}), "3");
}

TEST(Store, TellsASlowReader) {
  Store::Limits limits;
  limits.kept_events = 2;
  limits.most_events = 2;
  const auto store = in_memory(limits);
  auto at = put(*store, "a", 0, "1");
  const auto watch = std::move(*store->watch(kMaps, "", at, [] {}));
  for (int i = 0; i < 5; ++i) at = put(*store, "a", at, "2");
  EXPECT_EQ(watch->take(10).error().category, Category::kGone);
}

TEST(Store, KeepsObjectsAndTheRevisionInAFile) {
  const testkit::TemporaryFolder folder("store");
  const auto file = (folder.path() / "objects.db").string();
  std::int64_t last = 0;
  {
    const auto store = std::move(*Store::open(std::move(*open_sqlite_journal(file))));
    const auto a = put(*store, "a", 0, "1");
    put(*store, "b", 0, "2");
    last = drop(*store, "a", a);
  }
  const auto store = std::move(*Store::open(std::move(*open_sqlite_journal(file))));
  EXPECT_EQ(store->revision(), last);
  EXPECT_EQ(store->get(kMaps, "n", "a"), nullptr);
  ASSERT_NE(store->get(kMaps, "n", "b"), nullptr);
  EXPECT_EQ(str(store->get(kMaps, "n", "b")->json(), {"data", "a"}), "2");
  EXPECT_TRUE(store->watch(kMaps, "", last, [] {}).has_value());
  EXPECT_FALSE(store->watch(kMaps, "", last - 1, [] {}).has_value());
}

TEST(Store, KnowsTheLastRevisionWhicheverChangeItWas) {
  const testkit::TemporaryFolder folder("store");
  const auto file = (folder.path() / "objects.db").string();
  std::int64_t last = 0;
  const auto change = [&](const auto& what) {
    const auto store = std::move(*Store::open(std::move(*open_sqlite_journal(file))));
    EXPECT_EQ(store->revision(), last);
    last = what(*store);
  };
  std::int64_t a = 0;
  change([&](Store& store) { return a = put(store, "a", 0, "1"); });
  change([&](Store& store) { return put(store, "b", 0, "1"); });
  change([&](Store& store) { return drop(store, "a", a); });
  change([&](Store& store) { return a = put(store, "a", 0, "2"); });
  change([&](Store& store) { return put(store, "a", a, "3"); });
  change([&](Store& store) { return store.revision(); });
  EXPECT_EQ(last, 5);
}

TEST(Store, WritesTogetherWhatBelongsTogether) {
  const testkit::TemporaryFolder folder("store");
  const auto file = (folder.path() / "objects.db").string();
  {
    const auto store = std::move(*Store::open(std::move(*open_sqlite_journal(file))));
    const Status done = store->write_together([&] {
      const auto a = put(*store, "a", 0, "1");
      put(*store, "a", a, "2");
      const auto b = put(*store, "b", 0, "1");
      EXPECT_NE(store->get(kMaps, "n", "b"), nullptr);
      drop(*store, "b", b);
    });
    EXPECT_TRUE(done);
    put(*store, "c", 0, "1");
  }
  const auto store = std::move(*Store::open(std::move(*open_sqlite_journal(file))));
  EXPECT_EQ(store->revision(), 5);
  EXPECT_EQ(store->count(kMaps, "n"), 2U);
  EXPECT_EQ(str(store->get(kMaps, "n", "a")->json(), {"data", "a"}), "2");
}

TEST(Store, ShowsWhatItStored) {
  const auto store = in_memory();
  Write change{kMaps, "n", "a", 0, map_of("1"), false};
  change.object["kind"] = "ConfigMap";
  const auto done = store->write(change);
  ASSERT_TRUE(done);
  EXPECT_EQ(change.object, (*done)->json());
  EXPECT_EQ(resource_version_of(change.object), "1");
}

TEST(Store, SharesItsFileWithNobody) {
  const testkit::TemporaryFolder folder("store");
  const auto file = (folder.path() / "objects.db").string();
  const auto store = std::move(*Store::open(std::move(*open_sqlite_journal(file))));
  put(*store, "a", 0, "1");
  EXPECT_FALSE(open_sqlite_journal(file).has_value());
}

TEST(Store, ManyWritersLoseNothing) {
  const testkit::TemporaryFolder folder("store");
  const auto store = std::move(*Store::open(std::move(*open_sqlite_journal((folder.path() / "objects.db").string()))));
  std::atomic<int> created{0};
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        if (store->write({kMaps, "n", std::to_string(t) + "-" + std::to_string(i), 0, map_of("x"), false})) ++created;
        static_cast<void>(store->write({kMaps, "n", "contended", 0, map_of("x"), false}));
      }
    });
  }
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(created, 200);
  EXPECT_EQ(store->count(kMaps, "n"), 201U);
  EXPECT_EQ(store->revision(), 201);
}

}  // namespace
}  // namespace fleetadm::sandbox
