// The small parts of exec and port-forward: programs by name, names in archives, ports that a process listens on.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/sandbox/node/listening.h"
#include "core/sandbox/node/process_end.h"
#include "core/sandbox/node/tar_names.h"
#include "core/serve/streams/nonblocking.h"
#include "kubeclient/base/owned_fd.h"

namespace fleetadm::sandbox {
namespace {

TEST(FindProgram, TakesPathsAsTheyAreAndNamesByThePath) {
  const std::vector<std::string> environment = {"PATHS=/nowhere", "PATH=/nowhere:/bin:/usr/bin", "HOME=/"};
  EXPECT_EQ(find_program("./here", environment), "./here");
  EXPECT_EQ(find_program("/no/such", environment), "/no/such");
  EXPECT_EQ(find_program("sh", environment), "/bin/sh");
  EXPECT_EQ(find_program("no-such-program", environment), "");
  EXPECT_EQ(find_program("sh", {"HOME=/"}), "");
  EXPECT_EQ(find_program("bin", {"PATH=/"}), "");  // a folder
}

TEST(TarOptions, NameMountsAsTheContainerDoes) {
  EXPECT_EQ(tar_options({}), "");
  EXPECT_EQ(tar_options({{"/data", "/tmp/a.b/data"}}),
            "--transform=s,^/?tmp/a[.]b/data/,data/,x --transform=s,^/?tmp/a[.]b/data$,data,x");
  EXPECT_EQ(tar_options({{"/da,ta", "/tmp/x"}, {"/data", "/tmp/a b"}, {"/", "/tmp/x"}}), "");
}

TEST(Listening, ReadsTheKernelsTable) {
  const char* const table =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 111 1 0 100 0 0 10 0\n"
      "   1: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 222 1 0 100 0 0 10 0\n"
      "   2: 0100007F:1F90 0100007F:C000 01 00000000:00000000 00:00000000 00000000  1000        0 333 1 0 100 0 0 10 0\n"
      "   3: 0200000A:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 444 1 0 100 0 0 10 0\n"
      "   4: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 555 1 0 100 0 0 10 0\n"
      "nonsense\n";
  EXPECT_EQ(listening_inodes(table, 8080), (std::vector<unsigned long long>{111, 222}));
  EXPECT_EQ(listening_inodes(table, 80), std::vector<unsigned long long>{555});
  EXPECT_TRUE(listening_inodes(table, 81).empty());
  EXPECT_TRUE(listening_inodes("", 80).empty());
}

TEST(Listening, SeesAProcessesOwnSockets) {
  const OwnedFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const int port = ntohs(address.sin_port);
  EXPECT_FALSE(process_listens(::getpid(), port));
  ASSERT_EQ(::listen(socket.get(), 1), 0);
  EXPECT_TRUE(process_listens(::getpid(), port));
  EXPECT_FALSE(process_listens(::getppid(), port));
}

TEST(OwnedFds, DoNotWait) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, 0), 0);
  OwnedFd reading(ends[0]);
  OwnedFd writing(ends[1]);
  ASSERT_TRUE(serve::set_nonblocking(reading.get()) && serve::set_nonblocking(writing.get()));
  std::string got;
  EXPECT_EQ(serve::read_some(reading.get(), got, 100), serve::FdResult::kLater);
  std::size_t taken = 0;
  EXPECT_EQ(serve::write_some(writing.get(), "hello", taken), serve::FdResult::kSome);
  EXPECT_EQ(taken, 5U);
  EXPECT_EQ(serve::read_some(reading.get(), got, 3), serve::FdResult::kSome);
  EXPECT_EQ(got, "hel");
  const std::string much(1024 * 1024, 'x');
  EXPECT_EQ(serve::write_some(writing.get(), much, taken), serve::FdResult::kSome);
  EXPECT_LT(taken, much.size());
  EXPECT_EQ(serve::write_some(writing.get(), much, taken), serve::FdResult::kLater);
  reading.close();
  EXPECT_EQ(serve::write_some(writing.get(), "to nobody", taken), serve::FdResult::kGone);  // and no SIGPIPE
  OwnedFd moved = std::move(writing);
  EXPECT_FALSE(writing);  // NOLINT: moved from, and empty
  EXPECT_TRUE(moved);
}

}  // namespace
}  // namespace fleetadm::sandbox
