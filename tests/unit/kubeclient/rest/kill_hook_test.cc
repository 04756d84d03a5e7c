#include "kubeclient/rest/kill_hook.h"

#include <array>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/fake_api.h"

namespace fleetadm::kube {
namespace {

/// How a process ends that makes `writes` writes (through two gates) with FLEETADM_EXIT_AFTER_WRITES=limit.
int ends_with(const char* limit, int writes, bool fail_first = false) {
  ::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("FLEETADM_EXIT_AFTER_WRITES", limit, 1);
    const auto api = testkit::FakeApi::make();
    std::array<std::shared_ptr<WriteGate>, 2> gates{std::make_shared<WriteGate>(), std::make_shared<WriteGate>()};
    for (const auto& gate : gates) install_kill_hook(*gate);
    if (fail_first) api->refuse_next("create", "");
    for (int i = 0; i < writes; ++i) {
      const Json object{{"metadata", {{"name", "x" + std::to_string(i)}, {"namespace", "a"}}}};
      const auto client = api->client(gates[static_cast<std::size_t>(i) % 2]);
      static_cast<void>(client.create(resources::config_maps(), "a", object));
      static_cast<void>(client.get(resources::config_maps(), "a", name_of(object)));
    }
    ::_exit(static_cast<int>(api->all(resources::config_maps()).size()));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(KillHookTest, EndsTheProcessAfterTheKthAnsweredWrite) {
  EXPECT_EQ(ends_with("3", 2), 2);
  EXPECT_EQ(ends_with("3", 3), 137);
  EXPECT_EQ(ends_with("1", 3), 137);
  EXPECT_EQ(ends_with("2", 2, true), 1);  // a write that reached no server does not count
  for (const auto* none : {"", "0", "-1", "two", "2x"}) EXPECT_EQ(ends_with(none, 4), 4) << none;
}

}  // namespace
}  // namespace fleetadm::kube
