// Pushing to a registry: what is sent and in which order, to whom credentials go, and what each failure leaves behind.
#include "core/image/registry/push.h"

#include <atomic>
#include <gtest/gtest.h>
#include <memory>

#include "core/image/program_image.h"
#include "kubeclient/base/encoding.h"
#include "tests/unit/core/image/registry/registry_double.h"

namespace fleetadm::image {
namespace {

using testkit::TlsRequest;
using testkit::TlsServer;

const std::string kRefusal = R"({"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]})";

class PushTest : public ::testing::Test {
 protected:
  static pki::KeyPair serving() {
    static const pki::KeyPair leaf =
        *pki::issue(authority(), {.subject = {"registry", {}, {}}, .ip_addresses = {"127.0.0.1"}, .server = true});
    return leaf;
  }
  static const pki::KeyPair& authority() {
    static const pki::KeyPair ca = *pki::make_ca("test-ca", std::chrono::hours(24));
    return ca;
  }
  static Image image_of(const std::vector<std::string>& architectures) {
    std::vector<PlatformImage> images;
    for (const std::string& one : architectures) images.push_back(*make_program_image({"binary for " + one, one, {}, {}}));
    return make_image(std::move(images));
  }

  RegistryOptions options() const {
    RegistryOptions out;
    out.ca_data = authority().certificate;
    out.first_delay = std::chrono::milliseconds(1);
    out.longest_delay = std::chrono::milliseconds(2);
    out.tries = 4;
    return out;
  }
  Result<PushResult> push(const Image& image, const RegistryOptions& how, bool dry_run = false) {
    FLEETADM_TRY(const Reference reference, parse_reference(registry_.host() + "/team/app:v1"));
    FLEETADM_TRY(RegistryClient client, RegistryClient::make(reference, how));
    return push_image(client, image, {reference.tag, dry_run, {}});
  }

  /// Lets in who sends this header and asks others to log in.
  void guard(const std::string& challenge, const std::string& wanted) {
    registry_.intercept([=](const TlsRequest& request) -> std::optional<std::string> {
      const auto sent = request.headers.find("authorization");
      if (sent != request.headers.end() && sent->second == wanted) return std::nullopt;
      return TlsServer::response(401, kRefusal, "WWW-Authenticate: " + challenge + "\r\n");
    });
  }

  const Image image_ = image_of({"amd64"});
  RegistryDouble registry_{serving()};
};

TEST_F(PushTest, TheNameIsWrittenLastAndASecondPushSendsNothing) {
  const auto pushed = push(image_, options());
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_EQ(pushed->blobs_sent, 3);  // two layers and the configuration
  EXPECT_TRUE(pushed->tag_moved);
  EXPECT_EQ(registry_.blobs().size(), 3U);
  EXPECT_EQ(registry_.manifests()["v1"], image_.top().content);
  const std::vector<Asked> asked = registry_.asked();
  std::size_t last_blob = 0;
  std::size_t manifest = 0;
  for (std::size_t at = 0; at < asked.size(); ++at) {
    if (asked[at].line.starts_with("PUT /v2/team/app/blobs/")) last_blob = at;
    if (asked[at].line == "PUT /v2/team/app/manifests/v1") manifest = at;
  }
  EXPECT_GT(manifest, last_blob);

  registry_.forget();
  const auto again = push(image_, options());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->blobs_sent, 0);
  EXPECT_EQ(again->blobs_present, 3);
  EXPECT_FALSE(again->tag_moved);
  for (const Asked& one : registry_.asked()) EXPECT_TRUE(one.line.starts_with("HEAD ")) << one.line;
}

TEST_F(PushTest, ADryRunOnlyLooks) {
  const auto pushed = push(image_of({"amd64", "arm64"}), options(), true);
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_EQ(pushed->blobs_sent, 5);  // the lower layer is the same
  for (const Asked& one : registry_.asked()) EXPECT_TRUE(one.line.starts_with("HEAD ")) << one.line;
}

TEST_F(PushTest, PlatformsAreThereBeforeTheirIndex) {
  const Image both = image_of({"amd64", "arm64"});
  const auto pushed = push(both, options());
  ASSERT_TRUE(pushed) << pushed.error().message;
  const std::vector<Asked> manifests = registry_.asked("PUT /v2/team/app/manifests/");
  ASSERT_EQ(manifests.size(), 3U);
  EXPECT_EQ(manifests[0].body, both.platforms[0].manifest.content);
  EXPECT_EQ(manifests[1].body, both.platforms[1].manifest.content);
  EXPECT_EQ(manifests[2].line, "PUT /v2/team/app/manifests/v1");
  EXPECT_EQ(manifests[2].body, both.index->content);
}

TEST_F(PushTest, APasswordIsSentWhereItIsAskedFor) {
  guard("Basic realm=\"r\"", "Basic " + base64_encode("me:secret"));
  RegistryOptions how = options();
  how.login = {"me", "secret", {}};
  const auto pushed = push(image_, how);
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_EQ(registry_.asked().front().authorization, "");

  how.login.password = "other-secret";
  const auto wrong = push(image_, how);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().category, Category::kAuth);
  EXPECT_NE(wrong.error().message.find("refused the user name or the password"), std::string::npos) << wrong.error().message;
  EXPECT_EQ((wrong.error().message + wrong.error().hint).find("other-secret"), std::string::npos);

  how.login = {};
  const auto none = push(image_, how);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("wants a login, and none is known"), std::string::npos) << none.error().message;
}

TEST_F(PushTest, ATokenIsFetchedFromTheServiceThatTheRegistryNames) {
  RegistryDouble tokens(serving());
  tokens.intercept([](const TlsRequest& request) -> std::optional<std::string> {
    const auto sent = request.headers.find("authorization");
    const bool known = sent != request.headers.end() && sent->second == "Basic " + base64_encode("me:secret");
    return known ? TlsServer::response(200, R"({"token":"abc"})") : TlsServer::response(401, "");
  });
  guard("Bearer realm=\"" + tokens.url() + "/token?x=1\",service=\"reg, istry\",scope=\"repository:team/app:pull\"",
        "Bearer abc");
  RegistryOptions how = options();
  how.login = {"me", "secret", {}};
  const auto pushed = push(image_, how);
  ASSERT_TRUE(pushed) << pushed.error().message;
  ASSERT_EQ(tokens.asked().size(), 1U);
  EXPECT_EQ(tokens.asked().front().line,
            "GET /token?x=1&service=reg%2C%20istry&scope=repository%3Ateam%2Fapp%3Apull%2Cpush&account=me");
  for (const Asked& one : registry_.asked()) EXPECT_EQ(one.authorization.find("Basic"), std::string::npos) << one.line;

  how.login.password = "wrong";
  const auto refused = push(image_, how);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("refused the user name or the password"), std::string::npos) << refused.error().message;
}

TEST_F(PushTest, AnIdentityTokenIsExchanged) {
  RegistryDouble tokens(serving());
  tokens.intercept([](const TlsRequest& request) -> std::optional<std::string> {
    const bool right = request.method == "POST" && request.body.find("grant_type=refresh_token") == 0 &&
                       request.body.ends_with("&refresh_token=id%2Ftoken");
    return right ? TlsServer::response(200, R"({"access_token":"abc"})") : TlsServer::response(400, "");
  });
  guard("Bearer realm=\"" + tokens.url() + "/token\",service=\"registry\"", "Bearer abc");
  RegistryOptions how = options();
  how.login = {{}, {}, "id/token"};
  const auto pushed = push(image_, how);
  EXPECT_TRUE(pushed) << pushed.error().message;
}

TEST_F(PushTest, AnotherHostSeesNoCredentials) {
  RegistryDouble storage(serving());
  const std::string wanted = "Basic " + base64_encode("me:secret");
  registry_.intercept([&](const TlsRequest& request) -> std::optional<std::string> {
    const auto sent = request.headers.find("authorization");
    if (sent == request.headers.end() || sent->second != wanted)
      return TlsServer::response(401, kRefusal, "WWW-Authenticate: Basic realm=\"r\"\r\n");
    if (request.method == "POST")
      return TlsServer::response(202, "", "Location: " + storage.url() + "/upload/blobs/uploads/session?state=a%2Fb\r\n");
    if (request.method == "HEAD" && request.target.find("/blobs/") != std::string::npos)
      return TlsServer::response(307, "", "Location: " + storage.url() + request.target + "\r\n");
    return std::nullopt;
  });
  RegistryOptions how = options();
  how.login = {"me", "secret", {}};
  const auto pushed = push(image_, how);
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_EQ(storage.blobs().size(), 3U);
  EXPECT_EQ(storage.asked("HEAD").size(), 3U);
  for (const Asked& one : storage.asked()) EXPECT_EQ(one.authorization, "") << one.line;
}

TEST_F(PushTest, NothingIsSentToAnAddressWithoutTls) {
  registry_.intercept([](const TlsRequest& request) -> std::optional<std::string> {
    if (request.method != "POST") return std::nullopt;
    return TlsServer::response(202, "", "Location: http://127.0.0.1:1/v2/upload\r\n");
  });
  const auto pushed = push(image_, options());
  ASSERT_FALSE(pushed);
  EXPECT_EQ(pushed.error().category, Category::kTls);
  EXPECT_TRUE(registry_.manifests().empty());
}

TEST_F(PushTest, AnUnknownAuthorityIsRefused) {
  RegistryOptions how = options();
  how.ca_data = pki::make_ca("another", std::chrono::hours(1))->certificate;
  const auto pushed = push(image_, how);
  ASSERT_FALSE(pushed);
  EXPECT_EQ(pushed.error().category, Category::kTls);
  EXPECT_NE(pushed.error().hint.find("--ca-file"), std::string::npos);
  EXPECT_TRUE(registry_.asked().empty());
}

TEST_F(PushTest, WhatMayPassIsTriedAgain) {
  auto failures = std::make_shared<std::atomic<int>>(0);
  registry_.intercept([failures](const TlsRequest& request) -> std::optional<std::string> {
    if (request.method == "HEAD") return std::nullopt;
    const int number = failures->fetch_add(1);
    if (number >= 5) return std::nullopt;
    return number % 2 == 0 ? TlsServer::response(503, "") : std::string();  // or a cut
  });
  int told = 0;
  RegistryOptions how = options();
  how.tries = 8;
  how.on_retry = [&](const Error&, Duration) { ++told; };
  const auto pushed = push(image_, how);
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_GE(told, 3);
  EXPECT_EQ(registry_.blobs().size(), 3U);
}

TEST_F(PushTest, ABlobWhoseAnswersAreLostIsLookedFor) {
  // The upload of one blob arrives each time, and each answer is lost.
  const std::string hex = image_.platforms[0].config.digest.substr(7);
  auto arrived = std::make_shared<std::atomic<bool>>(false);
  registry_.intercept([=](const TlsRequest& request) -> std::optional<std::string> {
    if (request.target.find(hex) == std::string::npos) return std::nullopt;
    if (request.method == "HEAD") return TlsServer::response(*arrived ? 200 : 404, "");
    *arrived = true;
    return std::string();
  });
  const auto pushed = push(image_, options());
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_TRUE(*arrived);
  EXPECT_EQ(registry_.blobs().size(), 2U);
  EXPECT_TRUE(registry_.manifests().contains("v1"));
}

TEST_F(PushTest, AnUploadThatIsLostIsBegunAnew) {
  auto lost = std::make_shared<std::atomic<int>>(0);
  registry_.intercept([lost](const TlsRequest& request) -> std::optional<std::string> {
    if (request.method != "PUT" || lost->fetch_add(1) > 0) return std::nullopt;
    return TlsServer::response(404, R"({"errors":[{"code":"BLOB_UPLOAD_UNKNOWN","message":"blob upload unknown to registry"}]})");
  });
  const auto pushed = push(image_, options());
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_EQ(registry_.asked("POST").size(), 4U);
}

TEST_F(PushTest, AFullRegistryPublishesNothing) {
  for (const int status : {500, 507}) {
    registry_.forget();
    registry_.intercept([status](const TlsRequest& request) -> std::optional<std::string> {
      if (request.method != "PUT") return std::nullopt;
      return TlsServer::response(
          status, R"({"errors":[{"code":"UNKNOWN","message":"unknown error","detail":{"Err":"no space left on device"}}]})");
    });
    const auto pushed = push(image_, options());
    ASSERT_FALSE(pushed) << status;
    EXPECT_EQ(pushed.error().category, Category::kUnavailable);
    EXPECT_NE(pushed.error().message.find("no space left on device"), std::string::npos) << pushed.error().message;
    EXPECT_EQ(registry_.asked("PUT").size(), status == 500 ? 4U : 1U);
    EXPECT_TRUE(registry_.manifests().empty());
  }
}

TEST_F(PushTest, ATagThatSomeoneElseMovesIsTold) {
  registry_.intercept([](const TlsRequest& request) -> std::optional<std::string> {
    if (request.method != "HEAD" || !request.target.ends_with("/manifests/v1")) return std::nullopt;
    return TlsServer::response(200, "", "Docker-Content-Digest: sha256:" + std::string(64, 'b') + "\r\n");
  });
  const auto pushed = push(image_, options());
  ASSERT_FALSE(pushed);
  EXPECT_EQ(pushed.error().category, Category::kConflict);
}

TEST(RegistryClientTest, WithoutTlsOnlyThisMachineIsAsked) {
  RegistryOptions how;
  how.plain_http = true;
  EXPECT_TRUE(RegistryClient::make(*parse_reference("127.0.0.1:5000/a"), how));
  EXPECT_TRUE(RegistryClient::make(*parse_reference("localhost:5000/a"), how));
  const auto far = RegistryClient::make(*parse_reference("registry.example.com/a"), how);
  ASSERT_FALSE(far);
  EXPECT_EQ(far.error().category, Category::kTls);
}

}  // namespace
}  // namespace fleetadm::image
