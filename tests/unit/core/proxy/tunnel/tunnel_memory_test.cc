// What idle tunnels take on a gateway, and that it comes back when they leave. A sanitizer's memory is not the program's.
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <sys/wait.h>
#include <unistd.h>

#include "core/controller/memory.h"
#include "tests/support/sanitizers.h"
#include "tests/unit/core/proxy/tunnel/tunnel_lab.h"

namespace fleetadm::proxy {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kIdleTunnels = 1000;
constexpr std::size_t kMostKept = 8 * 1024;     // pages with what asio keeps of a descriptor for the next one
constexpr std::size_t kMostOfEach = 24 * 1024;  // 8 KiB of it are OpenSSL's structure, 3 KiB nghttp2's session

/// Of this process, in bytes: what it wrote, without the pages of its program.
std::size_t resident() {
  std::ifstream file("/proc/self/status");
  std::string word;
  std::size_t kilobytes = 0;
  while (file >> word && word != "RssAnon:") continue;
  file >> kilobytes;
  return kilobytes * 1024;
}

class TunnelMemory : public TunnelTest {};

/// The agents are a process of their own, so that only the gateway's memory is counted.
TEST_F(TunnelMemory, AThousandIdleTunnelsAreSmallAndGiveItBackWhenTheyLeave) {
  FLEETADM_NEEDS_NO_SANITIZER();
  controller::keep_memory_small();  // as programs do: glibc would keep more at a heap's end with each large block that is freed
  std::array<int, 2> pipe{};
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
  start_gateway();
  const std::string endpoint = server_->endpoint();
  std::vector<pki::KeyPair> certificates;
  for (std::size_t i = 0; i < kIdleTunnels; ++i) certificates.push_back(pki_.agent("c" + std::to_string(i)));
  // One first: what all of them share is there then.
  const auto first = agent(pki_.agent("first"));
  ASSERT_TRUE(connected("first"));
  controller::give_memory_back();
  const std::size_t before = resident();
  const pid_t agents = ::fork();
  ASSERT_GE(agents, 0);
  if (agents == 0) {  // a runtime of its own: the parent's thread is not here
    auto* runtime = new serve::HttpRuntime(0);
    auto* all = new std::vector<std::unique_ptr<TunnelClients>>();
    for (const auto& certificate : certificates) {
      TunnelClientOptions options;
      options.certificate = [certificate]() -> Result<pki::KeyPair> { return certificate; };
      options.handle = [](const auto&, const auto& reply) { reply(serve::answer_text(200, "x")); };
      all->push_back(std::make_unique<TunnelClients>(*runtime, std::move(options)));
      static_cast<void>(all->back()->set_gateways({endpoint}, pki_.gateway_ca()));
    }
    char byte = 0;
    ::close(pipe[1]);
    if (::read(pipe[0], &byte, 1) < 0) ::_exit(1);
    ::_exit(0);
  }
  ::close(pipe[0]);
  ASSERT_TRUE(comes_true([this] { return registry_->size() == kIdleTunnels + 1; }, 120s)) << registry_->size();
  std::this_thread::sleep_for(6s);  // pings have been answered by then
  EXPECT_EQ(registry_->size(), kIdleTunnels + 1);
  controller::give_memory_back();  // as programs do: what only the handshakes needed
  const std::size_t with = resident();
  const std::size_t each = (with - std::min(with, before)) / kIdleTunnels;
  ::close(pipe[1]);
  ::waitpid(agents, nullptr, 0);
  ASSERT_TRUE(comes_true([this] { return registry_->size() == 1; }));
  controller::give_memory_back();
  const std::size_t after = resident();
  std::printf("an idle tunnel: %zu bytes; kept when all had left: %zu bytes of each\n", each,
              (after - std::min(after, before)) / kIdleTunnels);
  EXPECT_LE(each, kMostOfEach);
  EXPECT_LE(after, before + kIdleTunnels * kMostKept);
}

}  // namespace
}  // namespace fleetadm::proxy
