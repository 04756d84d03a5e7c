// Logs of containers: which part of the file, from which line on, and until when it is followed.
#include <fstream>
#include <gtest/gtest.h>

#include "core/sandbox/node/containers.h"
#include "core/sandbox/node/log_body.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::sandbox {
namespace {

class Logs : public ::testing::Test {
 protected:
  void append(std::string_view text) { std::ofstream(file_, std::ios::app | std::ios::binary) << text; }
  std::uint64_t tail(std::uint64_t begin, std::uint64_t end, std::uint64_t lines) {
    const auto start = start_of_tail(file_, begin, end, lines);
    EXPECT_TRUE(start.has_value());
    return start.value_or(UINT64_MAX);
  }
  /// All that a body says until it ends or waits.
  static std::string text_of(LogBody& body, serve::BodyStream::More& last, std::size_t most = 1000) {
    std::string text;
    do last = body.read(text, most);
    while (last == serve::BodyStream::More::kYes);
    return text;
  }
  std::string text_of(const LogPart& part, std::size_t most = 1000) {
    const auto body = LogBody::open(part);
    if (!body) return "<" + body.error().message + ">";
    serve::BodyStream::More last{};
    const std::string text = text_of(**body, last, most);
    EXPECT_EQ(last, serve::BodyStream::More::kEnd);
    return text;
  }
  LogPart part(std::uint64_t begin = 0) const {
    LogPart out;
    out.file = file_;
    out.begin = begin;
    return out;
  }

  testkit::TemporaryFolder folder_{"log"};
  std::filesystem::path file_ = folder_.path() / "x.log";
};

TEST_F(Logs, TailCountsLinesFromTheEnd) {
  append("one\ntwo\nthree\n");
  EXPECT_EQ(tail(0, 14, 0), 14U);
  EXPECT_EQ(tail(0, 14, 1), 8U);
  EXPECT_EQ(tail(0, 14, 2), 4U);
  EXPECT_EQ(tail(0, 14, 3), 0U);
  EXPECT_EQ(tail(0, 14, 9), 0U);
  EXPECT_EQ(tail(4, 14, 9), 4U);
  EXPECT_EQ(tail(0, 13, 1), 8U);  // a last line without its newline
  EXPECT_EQ(tail(0, 0, 1), 0U);
}

TEST_F(Logs, TailReachesOverBlocks) {
  const std::string line(1000, 'x');
  for (int i = 0; i < 300; ++i) append(line + "\n");
  EXPECT_EQ(tail(0, 300 * 1001, 250), 50 * 1001U);
  EXPECT_EQ(text_of([&] {
              LogPart last = part();
              last.tail_lines = 250;
              return last;
            }())
                .size(),
            250 * 1001U);
}

TEST_F(Logs, TakeAPartOfTheFile) {
  append("old\nnew\nlast\n");
  EXPECT_EQ(text_of(part()), "old\nnew\nlast\n");
  EXPECT_EQ(text_of(part(), 2), "old\nnew\nlast\n");
  LogPart middle = part(4);
  middle.end = 8;
  EXPECT_EQ(text_of(middle), "new\n");
  LogPart limited = part();
  limited.limit_bytes = 5;
  limited.tail_lines = 2;
  EXPECT_EQ(text_of(limited), "new\nl");
}

TEST_F(Logs, NoFileYetIsNoOutputYet) {
  EXPECT_EQ(text_of(part()), "");
  EXPECT_EQ(text_of(part(17)), "");
}

TEST_F(Logs, AnAnswerEndsThoughTheFileGrows) {
  append("one\n");
  const auto body = LogBody::open(part());
  ASSERT_TRUE(body);
  append("two\n");
  serve::BodyStream::More last{};
  EXPECT_EQ(text_of(**body, last), "one\n");
  EXPECT_EQ(last, serve::BodyStream::More::kEnd);
}

TEST_F(Logs, FollowingEndsWithTheContainer) {
  append("before\none\n");
  std::optional<std::uint64_t> end;
  LogPart followed = part(7);
  followed.end_of_followed = [&end] { return end; };
  const auto body = LogBody::open(followed);
  ASSERT_TRUE(body);
  serve::BodyStream::More last{};
  EXPECT_EQ(text_of(**body, last), "one\n");
  EXPECT_EQ(last, serve::BodyStream::More::kLater);
  append("two\n");
  EXPECT_EQ(text_of(**body, last), "two\n");
  EXPECT_EQ(last, serve::BodyStream::More::kLater);
  append("three\n");
  end = log_size(file_);
  append("of the next run\n");
  EXPECT_EQ(text_of(**body, last), "three\n");
  EXPECT_EQ(last, serve::BodyStream::More::kEnd);
}

TEST_F(Logs, RunsOfAContainerAreToldApart) {
  ContainerTable table;
  EXPECT_FALSE(table.find("ns/p", "u", "c"));
  append("first\n");
  table.started("ns/p", "u", "c", file_, 0);
  ASSERT_TRUE(table.find("ns/p", "u", "c"));
  EXPECT_FALSE(table.find("ns/p", "u", "c")->current.end);
  EXPECT_FALSE(table.find("ns/p", "u", "c")->previous);
  table.ended("ns/p", "other", "c");
  EXPECT_FALSE(table.find("ns/p", "u", "c")->current.end);
  table.ended("ns/p", "u", "c");
  EXPECT_EQ(table.find("ns/p", "u", "c")->current.end, 6U);
  append("second\n");
  table.started("ns/p", "u", "c", file_, 6);
  const auto runs = table.find("ns/p", "u", "c");
  ASSERT_TRUE(runs && runs->previous);
  EXPECT_EQ(*runs->previous, (ContainerRun{"u", file_, 0, 6}));
  EXPECT_EQ(runs->current, (ContainerRun{"u", file_, 6, std::nullopt}));
}

TEST_F(Logs, APodOfTheSameNameIsAnotherPod) {
  ContainerTable table;
  table.started("ns/p", "u1", "c", file_, 0);
  table.started("ns/p", "u2", "c", file_, 5);
  EXPECT_FALSE(table.find("ns/p", "u1", "c"));
  ASSERT_TRUE(table.find("ns/p", "u2", "c"));
  EXPECT_FALSE(table.find("ns/p", "u2", "c")->previous);
  table.started("ns/p2", "u3", "c", file_, 0);
  table.ended("ns/p", "u1");
  EXPECT_FALSE(table.find("ns/p", "u2", "c")->current.end);
  table.ended("ns/p", "u2");
  EXPECT_TRUE(table.find("ns/p", "u2", "c")->current.end);  // and its log can still be read
  EXPECT_FALSE(table.find("ns/p2", "u3", "c")->current.end);
}

TEST_F(Logs, WhatEndedIsForgottenWhereThereIsTooMuch) {
  ContainerTable table;
  table.started("ns/runs", "u", "c", file_, 0);
  for (std::size_t i = 1; i < kMaxContainers; ++i) {
    table.started("ns/p" + std::to_string(i), "u", "c", file_, 0);
    table.ended("ns/p" + std::to_string(i), "u", "c");
  }
  EXPECT_TRUE(table.find("ns/p1", "u", "c"));
  table.started("ns/last", "u", "c", file_, 0);
  EXPECT_FALSE(table.find("ns/p1", "u", "c"));
  EXPECT_TRUE(table.find("ns/runs", "u", "c"));
  EXPECT_TRUE(table.find("ns/last", "u", "c"));
}

}  // namespace
}  // namespace fleetadm::sandbox
