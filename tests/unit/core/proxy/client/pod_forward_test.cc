#include "core/proxy/client/pod_forward.h"

#include <boost/asio/ip/tcp.hpp>
#include <cctype>
#include <gtest/gtest.h>
#include <optional>
#include <string>

#include "tests/support/echo_port.h"
#include "tests/support/fake_api.h"
#include "tests/support/stream_lab.h"

namespace fleetadm::proxy {
namespace {

class PodForwardTest : public testing::Test {
 protected:
  PodForwardTest() {
    lab.on_port([this](int port) { echo.emplace(port); });
    lab.add_pod("serving", "exec sleep 1000", {{"ports", Json::array({{{"containerPort", 80}}})}});
  }
  /// The hub's list of pods; what is forwarded to is the lab's.
  void list_pod(const std::string& name, const std::string& phase, bool ready) {
    const Json condition = {{"type", "Ready"}, {"status", ready ? "True" : "False"}};
    hub->put(kube::resources::pods(), {{"metadata", {{"name", name}, {"namespace", "default"}, {"labels", {{"app", "front"}}}}},
                                       {"status", {{"phase", phase}, {"conditions", Json::array({condition})}}}});
  }
  Result<std::unique_ptr<PodForward>> start(const std::string& selector = "app=front") {
    return PodForward::start(hub->client(), lab.config(), {"default", selector, 80});
  }
  static std::string say(int port, const std::string& text) {
    boost::asio::ip::tcp::iostream stream("127.0.0.1", std::to_string(port));
    stream.expires_after(std::chrono::seconds(20));
    stream << text << '\n' << std::flush;
    std::string heard;
    std::getline(stream, heard);
    return heard;
  }

  testkit::StreamLab lab;
  std::optional<testkit::EchoPort> echo;
  std::shared_ptr<testkit::FakeApi> hub = testkit::FakeApi::make();
};

TEST_F(PodForwardTest, LeadsToAPodThatIsReady) {
  list_pod("another", "Running", false);
  list_pod("serving", "Running", true);
  const auto forward = start();
  ASSERT_TRUE(forward) << forward.error().message;
  for (const char* text : {"one", "two"}) {
    std::string capitals = text;
    for (char& c : capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    EXPECT_EQ(say((*forward)->port(), text), capitals);
  }
}

TEST_F(PodForwardTest, WithoutAPodThereIsNone) {
  list_pod("serving", "Pending", false);
  auto forward = start();
  ASSERT_FALSE(forward);
  EXPECT_EQ(forward.error().message, "no pod of namespace default with labels app=front runs");
  list_pod("serving", "Running", true);
  EXPECT_FALSE(start("app=other"));
  EXPECT_TRUE(start());
}

}  // namespace
}  // namespace fleetadm::proxy
