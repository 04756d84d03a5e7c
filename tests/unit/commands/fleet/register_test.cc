// What register refuses before it asks anybody, and that it ends in a join.
#include <gtest/gtest.h>
#include <map>

#include "commands/fleet/fleet.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

const std::string kPinOfRegister = "sha256:" + std::string(64, 'a');

class RegisterTest : public testing::Test {
 protected:
  RegisterTest() { register_register(registry_); }
  Result<Report> enter(const std::string& address, const Flags& changes = {}) {
    std::map<std::string, std::string> flags{
        {"cluster-name", "c1"}, {"token", "abcdef.0123456789abcdef"}, {"discovery-token-ca-cert-hash", kPinOfRegister}};
    for (const auto& [name, value] : changes) flags[name] = value;
    std::erase_if(flags, [](const auto& flag) { return flag.second.empty(); });
    return testkit::run_command(registry_, "register", context_, Flags(flags.begin(), flags.end()), {address});
  }
  void refused(const std::string& address, const Flags& changes, const std::string& names) {
    const auto report = enter(address, changes);
    ASSERT_FALSE(report) << names;
    EXPECT_EQ(report.error().category, Category::kUsage) << report.error().message;
    EXPECT_NE(report.error().message.find(names), std::string::npos) << report.error().message;
    EXPECT_FALSE(report.error().hint.empty()) << report.error().message;
    EXPECT_EQ((report.error().message + report.error().hint).find("0123456789"), std::string::npos) << "no secret is told";
    EXPECT_TRUE(api_->calls().empty()) << "nobody was asked";
  }

  std::shared_ptr<testkit::FakeApi> api_ = testkit::FakeApi::make();
  testkit::FakeContext context_{api_->client()};
  Registry registry_;
};

TEST_F(RegisterTest, TheAddressIsAHostAndAPort) {
  for (const char* bad : {"hub", "hub:", "hub:0", "hub:65536", "hub:x", ":6443", "::1:6443", "[::1]", "hub_:6443",
                          "http://hub:6443", "https://user:pass@hub:6443", "hub:6443/x", "https://", "hub:6443\nx", ""})
    refused(bad, {}, "is not HOST:PORT");
}

TEST_F(RegisterTest, EachAddressIsDialled) {
  for (const char* good : {"127.0.0.1:1", "[::1]:1", "https://127.0.0.1:1", "https://127.0.0.1:1/prefix"}) {
    const auto report = enter(good);
    ASSERT_FALSE(report) << good;
    EXPECT_NE(report.error().category, Category::kUsage) << report.error().message;
    EXPECT_EQ(report.error().message.find("0123456789"), std::string::npos);
  }
  EXPECT_TRUE(api_->writes().empty());
}

TEST_F(RegisterTest, ThePinAndTheTokenAreComplete) {
  refused("hub:6443", {{"discovery-token-ca-cert-hash", ""}}, "missing required flag: --discovery-token-ca-cert-hash");
  refused("hub:6443", {{"discovery-token-ca-cert-hash", "sha256:00"}}, "is not a CA hash");
  refused("hub:6443", {{"token", ""}}, "the bootstrap token is missing");
  refused("hub:6443", {{"token", "abcdef0123456789abcdef"}}, "--token holds no bootstrap token");
  refused("hub:6443", {{"token-file", "-"}}, "--token cannot be combined");
  refused("hub:6443", {{"token", ""}, {"token-file", "-"}}, "--token-file holds no bootstrap token");
  context_.config.name = "admin@c1";
  refused("hub:6443", {{"cluster-name", ""}}, "the context's name \"admin@c1\"");
}

}  // namespace
}  // namespace fleetadm::commands
