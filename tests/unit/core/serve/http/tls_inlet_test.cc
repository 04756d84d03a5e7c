#include "core/serve/http/tls_inlet.h"

#include <array>
#include <cerrno>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace fleetadm::serve {
namespace {

class Inlet : public ::testing::Test {
 protected:
  Inlet() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0); }
  ~Inlet() override {
    ::close(ends_[0]);
    hang_up();
  }
  Inlet(const Inlet&) = delete;
  Inlet& operator=(const Inlet&) = delete;

  void comes(std::string_view bytes) const {
    ASSERT_EQ(::send(ends_[1], bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  void hang_up() {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }
  /// "again" and "end" are what they say.
  static std::string get(TlsInlet& inlet, std::size_t most) {
    std::string into(most, '\0');
    const auto got = inlet.get(into);
    if (got < 0) return errno == EAGAIN ? "again" : "error";
    if (got == 0) return "end";
    into.resize(static_cast<std::size_t>(got));
    return into;
  }
  bool is_read() const {
    std::array<char, 1> one{};
    return ::recv(ends_[0], one.data(), one.size(), MSG_PEEK | MSG_DONTWAIT) < 0;
  }

  std::array<int, 2> ends_{};
};

TEST_F(Inlet, ReadsManyRecordsWithOneCall) {
  TlsInlet inlet(ends_[0]);
  comes("head1body1head2body2");
  EXPECT_EQ(get(inlet, 5), "head1");
  EXPECT_TRUE(is_read());
  EXPECT_EQ(get(inlet, 5), "body1");
  EXPECT_EQ(get(inlet, 5), "head2");
  EXPECT_EQ(get(inlet, 100), "body2");
}

TEST_F(Inlet, SaysOnceThatNothingIsLeftAndThenAsks) {
  TlsInlet inlet(ends_[0]);
  comes("one");
  EXPECT_EQ(get(inlet, 3), "one");
  comes("two");
  EXPECT_EQ(get(inlet, 3), "again");
  EXPECT_EQ(get(inlet, 3), "two");
  EXPECT_EQ(get(inlet, 3), "again");
  EXPECT_EQ(get(inlet, 3), "again");
}

TEST_F(Inlet, GivesWhatWasReadBeforeTheEnd) {
  TlsInlet inlet(ends_[0]);
  comes("last");
  hang_up();
  EXPECT_EQ(get(inlet, 2), "la");
  EXPECT_EQ(get(inlet, 2), "st");
  EXPECT_EQ(get(inlet, 2), "again");
  EXPECT_EQ(get(inlet, 2), "end");
}

TEST_F(Inlet, KeepsApartWhatConnectionsHaveReadAhead) {
  std::array<int, 2> others{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, others.data()), 0);
  TlsInlet one(ends_[0]);
  TlsInlet other(others[0]);
  comes("first of one, rest of one");
  ASSERT_EQ(::send(others[1], "first of other, rest of other", 29, 0), 29);
  EXPECT_EQ(get(one, 12), "first of one");
  EXPECT_EQ(get(other, 14), "first of other");
  EXPECT_EQ(get(one, 100), ", rest of one");
  EXPECT_EQ(get(other, 100), ", rest of other");
  for (const int end : others) ::close(end);
}

TEST_F(Inlet, GivesAllOfMuchInItsOrder) {
  TlsInlet inlet(ends_[0]);
  std::string sent;
  std::string got;
  for (int i = 0; i < 100; ++i) {
    const std::string piece(5000 + static_cast<std::size_t>(i), static_cast<char>('a' + i % 26));
    comes(piece);
    sent += piece;
    for (auto some = get(inlet, 1200); some != "again"; some = get(inlet, 1200)) got += some;
  }
  for (auto some = get(inlet, 1200); some != "again"; some = get(inlet, 1200)) got += some;
  EXPECT_TRUE(got == sent);
}

}  // namespace
}  // namespace fleetadm::serve
