#include "core/image/registry/login.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "core/image/registry/challenge.h"
#include "core/image/registry/url.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::image {
namespace {

class LoginTest : public ::testing::Test {
 protected:
  Result<Login> login(const std::string& config, const std::string& registry) {
    return find_login(registry, {folder_.write("config.json", config), true, folder_.path().string(), {}});
  }
  /// docker-credential-NAME, which notes what it was asked and answers with `script`.
  void helper(const std::string& name, const std::string& script) {
    const std::string path = folder_.write("docker-credential-" + name,
                                           "#!/bin/sh\ncat >" + (folder_.path() / "asked").string() + "\n" + script + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  testkit::TemporaryFolder folder_{"login"};
};

TEST_F(LoginTest, OfTheFileUnderAnySpellingOfTheRegistry) {
  const std::string auth = "{\"auth\":\"" + base64_encode("me:pass:word") + "\"}";
  for (const char* key :
       {"r.example.com:5000", "https://r.example.com:5000", "https://r.example.com:5000/v1/", "http://r.example.com:5000/v2/"}) {
    const auto found =
        login("{\"auths\":{\"r.example.com\":{},\"" + std::string(key) + "\":" + auth + "}}", "r.example.com:5000");
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->username, "me") << key;
    EXPECT_EQ(found->password, "pass:word") << key;
  }
  const auto hub = login("{\"auths\":{\"https://index.docker.io/v1/\":" + auth + "}}", "docker.io");
  ASSERT_TRUE(hub);
  EXPECT_EQ(hub->username, "me");
}

TEST_F(LoginTest, OfNobodyElse) {
  const std::string config = "{\"auths\":{\"r.example.com\":{\"auth\":\"" + base64_encode("me:x") + "\"}}}";
  for (const char* other : {"r.example.com:5000", "xr.example.com", "r.example.com.evil", "example.com"}) {
    const auto found = login(config, other);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->empty()) << other;
  }
}

TEST_F(LoginTest, AHelperIsAskedOnItsStandardInput) {
  helper("test", R"(echo '{"ServerURL":"r","Username":"me","Secret":"s3cret"}')");
  const auto found = login(R"({"credHelpers":{"r.example.com":"test"},"credsStore":"none"})", "r.example.com");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->username, "me");
  EXPECT_EQ(found->password, "s3cret");
  std::string asked;
  std::getline(std::ifstream(folder_.path() / "asked"), asked);
  EXPECT_EQ(asked, "r.example.com");
}

TEST_F(LoginTest, AHelperMayHaveATokenOrNothing) {
  helper("test", R"(echo '{"Username":"<token>","Secret":"id"}')");
  const auto token = login(R"({"auths":{"r.example.com":{}},"credsStore":"test"})", "r.example.com");
  ASSERT_TRUE(token) << token.error().message;
  EXPECT_EQ(token->identity_token, "id");
  EXPECT_TRUE(token->password.empty());
  helper("test", "echo credentials not found in native keychain; exit 1");
  const auto nothing = login(R"({"credsStore":"test"})", "r.example.com");
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_TRUE(nothing->empty());
}

TEST_F(LoginTest, AHelperThatFailsOrCannotBeOneIsAnError) {
  helper("test", "echo s3cret; exit 7");
  const auto failed = login(R"({"credsStore":"test"})", "r.example.com");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().category, Category::kAuth);
  EXPECT_EQ((failed.error().message + failed.error().hint).find("s3cret"), std::string::npos);
  EXPECT_EQ(login(R"({"credsStore":"missing"})", "r.example.com").error().category, Category::kNotFound);
  EXPECT_EQ(login(R"({"credsStore":"../evil"})", "r.example.com").error().category, Category::kUsage);
}

TEST_F(LoginTest, AFileThatIsNoneIsAnErrorWithoutItsContent) {
  const auto broken = login(R"({"auths": s3cret)", "r.example.com");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().message.find("s3cret"), std::string::npos);
  EXPECT_EQ(login(R"({"auths":{"r.example.com":{"auth":"%%%"}}})", "r.example.com").error().category, Category::kUsage);
  EXPECT_FALSE(find_login("r", {"/nonexistent/config.json", true, "", {}}));
  const auto none = find_login("r", {"/nonexistent/config.json", false, "", {}});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
}

TEST(ChallengeTest, AreReadFromOneHeaderOrSeveralJoined) {
  const auto challenges = parse_challenges(R"(Basic realm="a \"b\"", Bearer realm = "https://t/x?y=1,2" , service=reg,scope="")");
  ASSERT_EQ(challenges.size(), 2U);
  EXPECT_EQ(challenges[0].scheme, "basic");
  EXPECT_EQ(challenges[0].values.at("realm"), "a \"b\"");
  EXPECT_EQ(challenges[1].scheme, "bearer");
  EXPECT_EQ(challenges[1].values.at("realm"), "https://t/x?y=1,2");
  EXPECT_EQ(challenges[1].values.at("service"), "reg");
  EXPECT_EQ(challenges[1].values.at("scope"), "");
  for (const char* odd : {"", ",,", "Bearer", "Bearer realm=\"open", "=", "realm=x", "\"", "Bearer \x01"})
    EXPECT_LE(parse_challenges(odd).size(), 1U) << odd;
}

TEST(UrlTest, LocationsAreResolved) {
  const Url base{"https://r:443", "/v2/a/blobs/uploads/?x=1"};
  const auto resolved = [&](const char* location) {
    const auto url = resolve_url(base, location);
    return url ? url->origin + url->target : "refused";
  };
  EXPECT_EQ(resolved("/v2/x?y#z"), "https://r:443/v2/x?y");
  EXPECT_EQ(resolved("session"), "https://r:443/v2/a/blobs/uploads/session");
  EXPECT_EQ(resolved("?y=2"), "https://r:443/v2/a/blobs/uploads/?y=2");
  EXPECT_EQ(resolved("//Other:8443/p"), "https://other:8443/p");
  EXPECT_EQ(resolved("HTTPS://Other/p?u=http://x"), "https://other:443/p?u=http://x");
  EXPECT_EQ(resolved("https://[::1]/"), "https://[::1]:443/");
  EXPECT_EQ(resolved("http://other"), "http://other:80/");
  for (const char* wrong :
       {"", "https://user:pass@r/", "ftp://r/", "https:///x", "/a b", "/a\r\nb", "file:///etc/passwd", "https:/x", "///x"})
    EXPECT_EQ(resolved(wrong), "refused") << wrong;
  EXPECT_EQ(with_parameter("/a", "b", "c:d"), "/a?b=c%3Ad");
  EXPECT_EQ(with_parameter("/a?x=1", "b", "c"), "/a?x=1&b=c");
}

}  // namespace
}  // namespace fleetadm::image
