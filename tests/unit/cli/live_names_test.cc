#include "cli/live_names.h"

#include <array>
#include <gtest/gtest.h>
#include <poll.h>
#include <thread>
#include <unistd.h>

namespace fleetadm::cli {
namespace {

using commands::Complete;
using Answered = std::vector<LiveName>;

const Instant kNow = *parse_time("2026-03-04T10:00:00Z");
const Json kMetadata{{"creationTimestamp", "2026-03-01T10:00:00Z"}, {"name", "web"}};

Json table(const std::vector<const char*>& columns, Json rows) {
  Json out{{"kind", "Table"}, {"columnDefinitions", Json::array()}, {"rows", std::move(rows)}};
  for (const char* name : columns) out["columnDefinitions"].push_back({{"name", name}});
  return out;
}

TEST(LiveNamesTest, ClustersAreDescribedByTheServersColumns) {
  const Json answer = table({"Name", "Hub Accepted", "Managed Cluster URLs", "Joined", "Available", "Age"},
                            {{{"cells", {"c1", "true", "", "True", "True", "3d"}}},
                             {{"cells", {"c2", "true", "", "True", "Unknown", "5m"}}},
                             {{"cells", {"c3", false, "", "", "", "9s"}}},
                             {{"cells", {"c4", true, "", nullptr, nullptr, "9s"}}},
                             {{"cells", {"c5", true, "", "True", "False", "9s"}}}});
  EXPECT_EQ(names_of_answer(Complete::kClusters, answer, kNow), (Answered{{"c1", "available, 3d"},
                                                                          {"c2", "unreachable, 5m"},
                                                                          {"c3", "not accepted, 9s"},
                                                                          {"c4", "not joined, 9s"},
                                                                          {"c5", "not available, 9s"}}));
}

TEST(LiveNamesTest, OtherKindsHaveTheirOwnWords) {
  const Json object{{"metadata", kMetadata}};
  const auto one = [&](Complete kind, const std::vector<const char*>& columns, Json cells) {
    return names_of_answer(kind, table(columns, {{{"cells", std::move(cells)}, {"object", object}}}), kNow);
  };
  EXPECT_EQ(one(Complete::kPlacements, {"Name", "SelectedClusters"}, {"web", 3}), (Answered{{"web", "3 clusters, 3d"}}));
  EXPECT_EQ(one(Complete::kPlacements, {"Name", "SelectedClusters"}, {"web", 1}), (Answered{{"web", "1 cluster, 3d"}}));
  EXPECT_EQ(one(Complete::kPlacements, {"Name", "SelectedClusters"}, {"web", nullptr}), (Answered{{"web", "3d"}}));
  EXPECT_EQ(one(Complete::kRollouts, {"Name", "Found", "Applied"}, {"web", "True", "False"}),
            (Answered{{"web", "in progress, 3d"}}));
  EXPECT_EQ(one(Complete::kRollouts, {"Name", "Found", "Applied"}, {"web", "False", ""}),
            (Answered{{"web", "no placement, 3d"}}));
  EXPECT_EQ(one(Complete::kRollouts, {"Name", "Found", "Applied"}, {"web", "True", "True"}), (Answered{{"web", "applied, 3d"}}));
  EXPECT_EQ(one(Complete::kAddons, {"Name", "DISPLAY NAME"}, {"web", "Web"}), (Answered{{"web", "Web, 3d"}}));
  EXPECT_EQ(one(Complete::kClusterSets, {"Name", "Empty", "Age"}, {"web", "True", "3d"}), (Answered{{"web", "empty, 3d"}}));
  EXPECT_EQ(one(Complete::kNamespaces, {"Name", "Status", "Age"}, {"web", "Active", "3d"}), (Answered{{"web", "3d"}}));
}

TEST(LiveNamesTest, AWorkOfSeveralClustersIsOneName) {
  Json rows = Json::array();
  for (const char* ns : {"c1", "c2"}) {
    rows.push_back({{"cells", {"web"}}, {"object", {{"metadata", kMetadata}}}});
    rows.back()["object"]["metadata"]["namespace"] = ns;
  }
  rows.push_back({{"cells", {"db"}}, {"object", {{"metadata", kMetadata}}}});
  rows.back()["object"]["metadata"]["name"] = "db";
  rows.back()["object"]["metadata"]["namespace"] = "c2";
  EXPECT_EQ(names_of_answer(Complete::kWorks, table({"Name", "Age"}, rows), kNow),
            (Answered{{"db", "on c2, 3d"}, {"web", "on 2 clusters, 3d"}}));
}

TEST(LiveNamesTest, AServerWithoutTablesAnswersWithObjects) {
  Json metadata = kMetadata;
  metadata["deletionTimestamp"] = "2026-03-04T10:00:00Z";
  const Json list{{"kind", "List"}, {"items", {{{"metadata", kMetadata}}, {{"metadata", metadata}}}}};
  EXPECT_EQ(names_of_answer(Complete::kClusters, list, kNow), (Answered{{"web", "3d"}, {"web", "deleting, 3d"}}));
  EXPECT_EQ(names_of_answer(Complete::kClusters, Json("nonsense"), kNow), Answered{});
}

TEST(LiveNamesTest, ForeignTextStaysOnItsLine) {
  const Json answer = table({"Name", "DISPLAY NAME"}, {{{"cells", {"a\tb", "x\n:files\x1b[31m"}}}});
  const Answered names = names_of_answer(Complete::kAddons, answer, kNow);
  ASSERT_EQ(names.size(), 1U);
  for (const std::string& text : {names.front().name, names.front().description})
    EXPECT_EQ(text.find_first_of("\t\n\x1b"), std::string::npos) << text;
}

TEST(LiveNamesTest, ContextsTellWhichIsCurrent) {
  const Json config{{"current-context", "hub"},
                    {"contexts",
                     {{{"name", "hub"}, {"context", {{"cluster", "one"}, {"namespace", "apps"}}}},
                      {{"name", "spoke"}, {"context", {{"cluster", "two"}}}},
                      {{"name", "bare"}}}}};
  EXPECT_EQ(names_of_contexts(config),
            (Answered{{"hub", "current, cluster one, namespace apps"}, {"spoke", "cluster two"}, {"bare", ""}}));
}

TEST(LiveNamesTest, WhatTakesLongerThanTheLimitIsNoAnswer) {
  EXPECT_EQ(answer_within(std::chrono::seconds(30), [] { return std::string(100000, 'x'); }), std::string(100000, 'x'));
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(answer_within(std::chrono::milliseconds(50),
                          [] {
                            std::this_thread::sleep_for(std::chrono::minutes(1));
                            return std::string("late");
                          }),
            "");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
}

// A credential plugin is in a process group of its own.
TEST(LiveNamesTest, WhatWasStartedForAnAnswerEndsWithIt) {
  std::array<int, 2> held{};
  ASSERT_EQ(::pipe(held.data()), 0);
  EXPECT_EQ(answer_within(std::chrono::milliseconds(300),
                          [&] {
                            if (::fork() == 0) {
                              ::setpgid(0, 0);
                              ::close(held[0]);
                              ::execlp("sleep", "sleep", "600", nullptr);
                              ::_exit(1);
                            }
                            ::pause();
                            return std::string("late");
                          }),
            "");
  ::close(held[1]);
  pollfd end{held[0], POLLIN, 0};
  EXPECT_EQ(::poll(&end, 1, 20'000), 1) << "something still holds the pipe";
  ::close(held[0]);
}

}  // namespace
}  // namespace fleetadm::cli
