// Where a listener binds, and whose decision that is.
#include <gtest/gtest.h>

#include "core/serve/http/server.h"
#include "tests/support/raw_client.h"

namespace fleetadm::serve {
namespace {

class ListenTest : public testing::Test {
 protected:
  ListenTest() {
    ca_ = *pki::make_ca("listen", std::chrono::hours(1));
    pki::LeafOptions leaf;
    leaf.ip_addresses = {"127.0.0.1"};
    leaf.server = true;
    options_.certificate = *pki::issue(ca_, leaf);
  }
  auto start() {
    return HttpListener::start(runtime_, options_, [](const HttpRequest& request) { return answer_text(200, request.path); });
  }

  pki::KeyPair ca_;
  HttpRuntime runtime_{1};
  ListenOptions options_;
};

TEST_F(ListenTest, BindsWhatItsCallerSays) {
  options_.address = "0.0.0.0";
  const auto listener = start();
  ASSERT_TRUE(listener) << listener.error().message;
  pki::LeafOptions leaf;
  leaf.client = true;
  testkit::RawClient client((*listener)->port(), ca_.certificate, *pki::issue(ca_, leaf));
  std::string head;
  std::string rest;
  EXPECT_EQ(testkit::send_upgrade(client, "GET /here HTTP/1.1\r\nhost: 127.0.0.1\r\n", head, rest), 200);
}

TEST_F(ListenTest, RefusesOtherAddressesForLoopbackOnlyCallers) {
  options_.loopback_only = true;
  for (const char* address : {"0.0.0.0", "::", "192.0.2.1", "::ffff:192.0.2.1"}) {
    options_.address = address;
    const auto listener = start();
    ASSERT_FALSE(listener) << address;
    EXPECT_EQ(listener.error().category, Category::kUsage);
    EXPECT_NE(listener.error().message.find("not a loopback address"), std::string::npos);
  }
  options_.address = "127.0.0.2";
  EXPECT_TRUE(start());
}

TEST_F(ListenTest, RefusesWhatIsNoAddress) {
  for (const char* address : {"", "localhost", "127.0.0", "127.0.0.1:80"}) {
    options_.address = address;
    const auto listener = start();
    ASSERT_FALSE(listener) << address;
    EXPECT_EQ(listener.error().category, Category::kUsage);
  }
}

}  // namespace
}  // namespace fleetadm::serve
