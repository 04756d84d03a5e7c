// logs, exec and proxy port-forward through something like a gateway, on a sandbox API server with pods.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#include <thread>

#include "commands/proxy/proxy.h"
#include "core/api/gateway.h"
#include "core/api/kinds.h"
#include "core/proxy/client/forwarding.h"
#include "kubeclient/base/owned_fd.h"
#include "tests/support/echo_port.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"
#include "tests/support/gateway_lab.h"
#include "tests/support/stream_lab.h"

namespace fleetadm::commands {
namespace {

class MemberStreams : public testing::Test {
 protected:
  MemberStreams() {
    register_proxy(registry);
    hub->put(kube::resources::config_maps(),
             {{"metadata", {{"name", std::string(api::kGatewayConfigMap)}, {"namespace", std::string(api::kHubNamespace)}}},
              {"data", {{"server", gateway.server()}, {"ca.crt", gateway.ca()}}}});
    hub->put(api::managed_clusters(), {{"metadata", {{"name", "c1"}}}});
    context.config.credentials = kube::static_credentials({.token = "of-the-hub"});
    context.connect = [](const kube::RestConfig& to) { return kube::Client::connect(to); };
  }
  Result<Report> run(const std::string& path, std::vector<std::pair<std::string, std::string>> flags,
                     const std::vector<std::string>& args) {
    flags.emplace_back("cluster", "c1");
    return testkit::run_command(registry, path, context, flags, args);
  }

  testkit::StreamLab lab;
  testkit::GatewayLab gateway{lab.config()};
  std::shared_ptr<testkit::FakeApi> hub = testkit::FakeApi::make();
  Registry registry;
  testkit::FakeContext context{hub->client()};
};

TEST_F(MemberStreams, ExecGivesOutputErrorsAndTheExitCode) {
  lab.add_pod("p", "exec sleep 1000");
  const auto report = run("exec", {}, {"pod/p", "sh", "-c", "echo out; sleep 0.1; echo err >&2; exit 7"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(context.screen.output, "out\n");
  EXPECT_EQ(context.screen.errors, "err\n");
  EXPECT_EQ(report->exit_code, 7);
  EXPECT_EQ(gateway.seen().back().path, "/clusters/c1/proxy/api/v1/namespaces/default/pods/p/exec");
  EXPECT_EQ(gateway.seen().back().authorization, "Bearer of-the-hub");
}

TEST_F(MemberStreams, ExecHandsOnTheInputToItsEnd) {
  lab.add_pod("p", "exec sleep 1000");
  context.screen.input = std::string(200'000, 'x');
  const auto report = run("exec", {{"stdin", "true"}}, {"p", "wc", "-c"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_NE(context.screen.output.find("200000"), std::string::npos) << context.screen.output;
  EXPECT_EQ(report->exit_code, 0);
}

TEST_F(MemberStreams, ExecSaysWhatIsRefused) {
  const auto report = run("exec", {}, {"nobody", "true"});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().category, Category::kNotFound) << report.error().message;
  context.globals.dry_run = kube::DryRun::kServer;
  EXPECT_EQ(run("exec", {}, {"p", "true"}).error().category, Category::kUsage);
}

TEST_F(MemberStreams, LogsAreRefusedInTheServersWords) {
  const auto report = run("logs", {{"tail", "5"}}, {"nobody"});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().category, Category::kNotFound) << report.error().message;
  EXPECT_EQ(report.error().cluster, "c1");
  EXPECT_NE(report.error().message.find("nobody"), std::string::npos) << report.error().message;
}

TEST_F(MemberStreams, LogsArePrintedAsTheyAre) {
  lab.add_pod("p", "printf 'one\\ntwo\\n'; exec sleep 1000");
  std::string heard;
  for (int i = 0; i < 100 && heard.empty(); ++i) {
    context.screen.output.clear();
    const auto report = run("logs", {}, {"p"});
    ASSERT_TRUE(report) << report.error().message;
    heard = context.screen.output;
    if (heard.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(heard, "one\ntwo\n");
}

std::string say_to(int port, const std::string& text) {
  OwnedFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return "refused";
  std::jthread writer([&] {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t count = ::send(socket.get(), text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (count <= 0) return;
      at += static_cast<std::size_t>(count);
    }
    ::shutdown(socket.get(), SHUT_WR);
  });
  std::string heard;
  char buffer[65536];
  for (ssize_t count = 0; (count = ::recv(socket.get(), buffer, sizeof buffer, 0)) > 0;)
    heard.append(buffer, static_cast<std::size_t>(count));
  return heard;
}

TEST_F(MemberStreams, PortForwardCarriesManyConnectionsAndEndsWhenTold) {
  std::optional<testkit::EchoPort> echo;
  lab.on_port([&](int port) { echo.emplace(port); });
  lab.add_pod("p", "exec sleep 1000", {{"ports", Json::array({{{"containerPort", 80}}})}});
  ASSERT_TRUE(echo);
  std::jthread talker;
  std::vector<std::string> heard(4);
  const std::string much(300'000, 'a');
  context.on_emit = [&] {
    const std::string line = context.emitted.back().lines.front();
    const std::string begin = "forwarding 127.0.0.1:";
    ASSERT_TRUE(line.starts_with(begin)) << line;
    const int port = std::stoi(line.substr(begin.size()));
    talker = std::jthread([&, port] {
      {
        std::vector<std::jthread> talkers;
        for (std::string& one : heard) talkers.emplace_back([&one, &much, port] { one = say_to(port, much); });
      }
      context.stopper.request_stop();
    });
  };
  const auto report = run("proxy port-forward", {}, {"p", ":80"});
  if (talker.joinable()) talker.join();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->exit_code, 2);
  for (const std::string& one : heard) EXPECT_EQ(one, std::string(300'000, 'A'));
}

TEST(ForwardedPorts, AreReadAsKubectlReadsThem) {
  const auto ports = [](const std::string& text) {
    const auto port = proxy::parse_forwarded_port(text);
    return port ? std::to_string(port->local) + ">" + std::to_string(port->remote) : "no";
  };
  EXPECT_EQ(ports("80"), "80>80");
  EXPECT_EQ(ports("8080:80"), "8080>80");
  EXPECT_EQ(ports(":80"), "0>80");
  for (const char* text : {"", ":", "0", "80:", "a", "80:0", "65536", "1:2:3", "-1", "8080:http"})
    EXPECT_EQ(ports(text), "no") << text;
}

}  // namespace
}  // namespace fleetadm::commands
