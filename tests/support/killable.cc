#include "tests/support/killable.h"

#include <gtest/gtest.h>

namespace fleetadm::testkit {

void Killable::start(const Add& add, int die_after) {
  stop();
  writes_ = std::make_shared<std::atomic<int>>(0);
  auto gate = std::make_shared<kube::WriteGate>();
  gate->before = [writes = writes_, die_after](kube::Method, std::string_view) -> Status {
    if (die_after >= 0 && *writes >= die_after) return fail(Category::kUnavailable, "the process was killed");
    ++*writes;
    return {};
  };
  controller::Manager::Options options;
  options.threads = 2;
  manager_ = std::make_unique<controller::Manager>(options);
  add(*manager_, gate);
  thread_ = std::jthread([manager = manager_.get()](std::stop_token stop) {
    const Status ran = manager->run(std::move(stop));
    EXPECT_TRUE(ran.has_value()) << ran.error().message;
  });
}

void Killable::stop() {
  if (!manager_) return;
  thread_.request_stop();
  thread_.join();
  manager_.reset();
}

}  // namespace fleetadm::testkit
