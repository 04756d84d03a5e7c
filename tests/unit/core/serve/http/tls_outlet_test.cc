#include "core/serve/http/tls_outlet.h"

#include <array>
#include <cerrno>
#include <gtest/gtest.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace fleetadm::serve {
namespace {

class Outlet : public ::testing::Test {
 protected:
  Outlet() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0); }
  ~Outlet() override {
    ::close(ends_[0]);
    if (ends_[1] >= 0) ::close(ends_[1]);
  }
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;

  /// What has come at the other end.
  std::string came() const {
    std::string all;
    std::array<char, 4096> piece{};
    while (true) {
      const auto size = ::recv(ends_[1], piece.data(), piece.size(), MSG_DONTWAIT);
      if (size <= 0) return all;
      all.append(piece.data(), static_cast<std::size_t>(size));
    }
  }
  void hang_up() { ::close(std::exchange(ends_[1], -1)); }

  std::array<int, 2> ends_{};
};

TEST_F(Outlet, SendsRecordsOfOneWriteTogether) {
  TlsOutlet outlet(ends_[0]);
  outlet.gather();
  EXPECT_EQ(outlet.put("one "), 4);
  EXPECT_EQ(outlet.put("two"), 3);
  EXPECT_EQ(came(), "");
  EXPECT_EQ(outlet.flush(), TlsOutlet::Sent::kAll);
  EXPECT_EQ(came(), "one two");
}

TEST_F(Outlet, SendsOthersAtOnce) {
  TlsOutlet outlet(ends_[0]);
  EXPECT_EQ(outlet.put("alert"), 5);
  EXPECT_EQ(came(), "alert");
}

TEST_F(Outlet, KeepsTheOrderWhereTheSocketIsFull) {
  TlsOutlet outlet(ends_[0]);
  std::string sent;
  auto outcome = TlsOutlet::Sent::kAll;
  for (char letter = 'a'; outcome == TlsOutlet::Sent::kAll && sent.size() < (8U << 20U);
       letter = static_cast<char>('a' + (letter - 'a' + 1) % 26)) {
    outlet.gather();
    for (int i = 0; i < 10; ++i) {  // more than is held at once
      const std::string record(16 * 1024, letter);
      const auto size = outlet.put(record);
      if (size < 0) {
        EXPECT_EQ(errno, EAGAIN);
        break;
      }
      ASSERT_EQ(size, static_cast<std::ptrdiff_t>(record.size()));
      sent += record;
    }
    outcome = outlet.flush();
  }
  ASSERT_EQ(outcome, TlsOutlet::Sent::kSome);
  EXPECT_EQ(outlet.put("last"), 4) << "held behind the others";
  sent += "last";
  std::string all = came();
  while (outlet.flush() == TlsOutlet::Sent::kSome) all += came();
  all += came();
  EXPECT_EQ(all.size(), sent.size());
  EXPECT_TRUE(all == sent);
}

TEST_F(Outlet, FailsWhereTheOtherEndIsGone) {
  TlsOutlet outlet(ends_[0]);
  hang_up();
  EXPECT_EQ(outlet.put("at once"), -1);
  outlet.gather();
  EXPECT_EQ(outlet.put("later"), 5);
  EXPECT_EQ(outlet.flush(), TlsOutlet::Sent::kFailed);
}

}  // namespace
}  // namespace fleetadm::serve
