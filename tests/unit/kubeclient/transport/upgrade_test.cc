// Upgrades: whom they trust, who they say they are, and what a server may answer.
#include "kubeclient/transport/upgrade.h"

#include <gtest/gtest.h>
#include <mutex>

#include "core/serve/http/server.h"
#include "core/serve/http/upgrade.h"

namespace fleetadm::kube {
namespace {

using namespace std::chrono_literals;

/// Says back what it hears; "end" ends it.
class Parrot final : public serve::UpgradedStream {
 public:
  void begin(const serve::WatchDescriptor&) override {}
  bool take(std::string_view bytes) override {
    text_ += bytes;
    over_ = text_.find("end") != std::string::npos;
    return !over_;
  }
  bool takes() const override { return true; }
  More read(std::string& into, std::size_t most) override {
    const auto size = std::min(most, text_.size());
    into += text_.substr(0, size);
    text_.erase(0, size);
    return over_ && text_.empty() ? More::kEnd : size > 0 ? More::kYes : More::kLater;
  }
  void on_ready(std::function<void()>) override {}

 private:
  std::string text_;
  bool over_ = false;
};

/// A token that is stale until it is refreshed.
class RotatingToken final : public CredentialSource {
 public:
  Result<Credentials> current() override { return Credentials{.token = fresh_ ? "fresh" : "stale"}; }
  bool refresh() override { return !std::exchange(fresh_, true); }

 private:
  bool fresh_ = false;
};

class UpgradeTest : public testing::Test {
 protected:
  UpgradeTest() {
    ca_ = *pki::make_ca("upgrade", std::chrono::hours(1));
    pki::LeafOptions leaf;
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.dns_names = {"api.example"};
    leaf.server = true;
    serve::ListenOptions options;
    options.certificate = *pki::issue(ca_, leaf);
    options.client_ca = ca_.certificate;
    listener_ = std::move(
        *serve::HttpListener::start(runtime_, options, [this](const serve::HttpRequest& request) { return answer(request); }));
    config_.server = "https://127.0.0.1:" + std::to_string(listener_->port());
    config_.ca_data = ca_.certificate;
    config_.name = "c1";
    request_.path = "/parrot";
  }
  ~UpgradeTest() override {
    listener_.reset();
    runtime_.stop();
  }
  serve::HttpResponse answer(const serve::HttpRequest& request) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(request);
    if (request.header("authorization") == "Bearer stale") return serve::answer_text(401, "stale");
    if (request.path == "/no") return serve::answer_text(403, "not you");
    serve::HttpResponse out;
    out.status = 101;
    out.headers = {{"connection", "Upgrade"}, {"upgrade", request.path == "/other" ? "other" : "Parrot"}};
    out.upgrade = std::make_shared<Parrot>();
    return out;
  }
  serve::HttpRequest asked(std::size_t at = 0) {
    const std::lock_guard lock(mutex_);
    return asked_.at(at);
  }
  std::size_t times() {
    const std::lock_guard lock(mutex_);
    return asked_.size();
  }

  pki::KeyPair ca_;
  serve::HttpRuntime runtime_{1};
  std::unique_ptr<serve::HttpListener> listener_;
  RestConfig config_;
  Request request_;
  std::mutex mutex_;
  std::vector<serve::HttpRequest> asked_;
};

TEST_F(UpgradeTest, CarriesBytesBothWays) {
  auto answer = upgrade_connection(config_, request_, "parrot");
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_TRUE(answer->connection);
  EXPECT_EQ(answer->response.status, 101);
  auto& connection = *answer->connection;
  std::string heard;
  EXPECT_FALSE(*connection.receive(heard, 0s));
  ASSERT_EQ(*connection.send("hello", 10s), 5U);
  ASSERT_TRUE(*connection.receive(heard, 10s));
  EXPECT_EQ(heard, "hello");
  ASSERT_EQ(*connection.send("end", 10s), 3U);
  Result<bool> more = true;
  while (more && *more) more = connection.receive(heard, 10s);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().category, Category::kUnavailable);
  EXPECT_EQ(heard, "helloend");
}

TEST_F(UpgradeTest, SaysWhoItIsAsOtherRequestsDo) {
  pki::LeafOptions leaf;
  leaf.subject.common_name = "alice";
  leaf.client = true;
  const auto alice = *pki::issue(ca_, leaf);
  config_.credentials = static_credentials({.client_certificate = alice.certificate, .client_key = alice.key, .token = "secret"});
  config_.impersonate_user = "bob";
  config_.impersonate_groups = {"g1", "g2"};
  request_.query = {{"command", "a b&c"}};
  request_.headers["X-More"] = "yes";
  ASSERT_TRUE(upgrade_connection(config_, request_, "parrot"));
  const auto got = asked();
  EXPECT_EQ(got.peer->common_name, "alice");
  EXPECT_EQ(got.header("authorization"), "Bearer secret");
  EXPECT_EQ(got.header("impersonate-user"), "bob");
  EXPECT_EQ(got.all("impersonate-group"), (std::vector<std::string>{"g1", "g2"}));
  EXPECT_EQ(got.header("x-more"), "yes");
  EXPECT_EQ(got.header("upgrade"), "parrot");
  EXPECT_EQ(got.query, "command=a%20b%26c");
  EXPECT_EQ(got.method, "GET");
}

TEST_F(UpgradeTest, TrustsTheKubeconfigsAuthorityAndNameOnly) {
  auto foreign = config_;
  foreign.ca_data = pki::make_ca("foreign", std::chrono::hours(1))->certificate;
  const auto untrusted = upgrade_connection(foreign, request_, "parrot");
  ASSERT_FALSE(untrusted);
  EXPECT_EQ(untrusted.error().category, Category::kTls);
  EXPECT_EQ(untrusted.error().cluster, "c1");
  auto renamed = config_;
  renamed.tls_server_name = "other.example";
  const auto misnamed = upgrade_connection(renamed, request_, "parrot");
  ASSERT_FALSE(misnamed);
  EXPECT_EQ(misnamed.error().category, Category::kTls);
  renamed.tls_server_name = "api.example";
  EXPECT_TRUE(upgrade_connection(renamed, request_, "parrot"));
  auto insecure = config_;
  insecure.insecure = true;
  EXPECT_FALSE(upgrade_connection(insecure, request_, "parrot"));
  EXPECT_EQ(times(), 1U);
}

TEST_F(UpgradeTest, AsksOnceMoreWithAFreshToken) {
  config_.credentials = std::make_shared<RotatingToken>();
  const auto answer = upgrade_connection(config_, request_, "parrot");
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->connection);
  EXPECT_EQ(times(), 2U);
  EXPECT_EQ(asked(1).header("authorization"), "Bearer fresh");
}

TEST_F(UpgradeTest, GivesARefusalWithItsBody) {
  request_.path = "/no";
  const auto answer = upgrade_connection(config_, request_, "parrot");
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->connection);
  EXPECT_EQ(answer->response.status, 403);
  EXPECT_EQ(answer->response.body, "not you");
}

TEST_F(UpgradeTest, RefusesWhatItDidNotAskFor) {
  request_.path = "/other";
  const auto other = upgrade_connection(config_, request_, "parrot");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().category, Category::kInvalid);
  request_.path = "/parrot\r\nx: y";
  EXPECT_EQ(upgrade_connection(config_, request_, "parrot").error().category, Category::kUsage);
  request_.path = "/parrot";
  request_.headers["X-More"] = "a\r\nb: c";
  EXPECT_EQ(upgrade_connection(config_, request_, "parrot").error().category, Category::kUsage);
}

TEST_F(UpgradeTest, WaitsNoLongerThanItMay) {
  listener_->set_network(serve::HttpListener::Network::kSilent);
  request_.timeout = 300ms;
  const auto late = upgrade_connection(config_, request_, "parrot");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().category, Category::kTimeout);
}

}  // namespace
}  // namespace fleetadm::kube
