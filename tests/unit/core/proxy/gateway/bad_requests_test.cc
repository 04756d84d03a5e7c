// Requests that nobody could read in one way alone: refused by the front before anything of them goes on, and with the reason.
#include <gtest/gtest.h>
#include <thread>

#include "kubeclient/base/json.h"
#include "tests/support/raw_client.h"
#include "tests/unit/core/proxy/gateway/gateway_lab.h"

namespace fleetadm::proxy {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

class BadRequests : public GatewayLab {
 protected:
  BadRequests() { start(); }

  /// All that comes back for these bytes, until the gateway closes or there is an answer.
  std::string answer_to(const std::string& bytes) const {
    testkit::RawClient client(listener_->port(), serving_ca_.certificate, jane_);
    std::string heard;
    static_cast<void>(client.send(bytes));  // it may be answered, and closed, before all is sent
    while (client.receive(heard, 2s)) {
    }
    return heard;
  }
  /// Refused, in one answer that says why, though a second request stands behind the first.
  void expect_refused(const std::string& head, int status, const std::string& why) const {
    const std::string hidden = "GET /clusters/c1/proxy/hidden HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    const std::string heard = answer_to(head + hidden);
    EXPECT_TRUE(heard.starts_with("HTTP/1.1 " + std::to_string(status) + " ")) << head.substr(0, 200) << "\n" << heard;
    EXPECT_NE(heard.find(why), std::string::npos) << head.substr(0, 200) << "\n" << heard;
  }
};

TEST_F(BadRequests, HeadsThatCanBeReadInTwoWays) {
  const std::string line = "POST /clusters/c1/proxy/api/v1/pods HTTP/1.1\r\n";
  const std::string host = line + "Host: x\r\n";
  expect_refused(host + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "beside a Content-Length");
  expect_refused(host + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400, "Content-Length");
  expect_refused(host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400, "Content-Length");
  for (const char* length : {"-1", "+1", "0x1", "1,2", "1 2", "99999999999999999999", "", "a"})
    expect_refused(host + "Content-Length: " + length + "\r\n\r\n", 400, "Content-Length");
  expect_refused(host + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, "Transfer-Encoding");
  expect_refused(host + "Transfer-Encoding: xchunked\r\n\r\n", 501, "Transfer-Encoding");
  expect_refused(host + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "Transfer-Encoding");
  expect_refused(line + "\r\n", 400, "no Host header");
  expect_refused(host + "Host: y\r\n\r\n", 400, "more than one Host header");
  expect_refused(host + "X: a\r\n b\r\n\r\n", 400, "goes on in the next line");
  expect_refused(host + "X: a\r\n\tTransfer-Encoding: chunked\r\n\r\n", 400, "goes on in the next line");
  expect_refused(host + "X: a\rb\r\n\r\n", 400, "malformed");
  expect_refused(host + "X: a\nTransfer-Encoding: chunked\r\n\r\n", 400, "malformed");
  expect_refused(host + "X: a\0b\r\n\r\n"s, 400, "malformed");
  expect_refused(host + "X\0Y: a\r\n\r\n"s, 400, "malformed");
  expect_refused(host + "X : a\r\n\r\n", 400, "malformed");
  expect_refused(host + ": a\r\n\r\n", 400, "malformed");
  expect_refused(host + "no colon\r\n\r\n", 400, "malformed");
  expect_refused("GET /clusters/c1/proxy/a b HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed");
  expect_refused("GET /clusters/c1/proxy/a\rb HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed");
  expect_refused("GET /clusters/c1/proxy/a\0b HTTP/1.1\r\nHost: x\r\n\r\n"s, 400, "malformed");
  expect_refused("GET /clusters/c1/proxy/a HTTP/2.0\r\nHost: x\r\n\r\n", 400, "malformed");
  expect_refused("G@T /clusters/c1/proxy/a HTTP/1.1\r\nHost: x\r\n\r\n", 400, "malformed");
  expect_refused("\x16\x03\x01 not HTTP\r\n\r\n", 400, "malformed");
  EXPECT_TRUE(hop_->requests().empty());
}

TEST_F(BadRequests, HeadsThatAreTooLarge) {
  const std::string host = "GET /clusters/c1/proxy/version HTTP/1.1\r\nHost: x\r\n";
  const std::string large(70 * 1024, 'x');
  expect_refused(host + "X: " + large + "\r\n\r\n", 431, "larger than 65536 bytes");
  expect_refused(host + large + ": x\r\n\r\n", 431, "larger than 65536 bytes");
  expect_refused("GET /clusters/c1/proxy/" + large + " HTTP/1.1\r\nHost: x\r\n\r\n", 431, "larger than 65536 bytes");
  std::string many = host;
  for (int i = 0; i < 10'000; ++i) many += "x" + std::to_string(i) + ": y\r\n";
  expect_refused(many + "\r\n", 431, "larger than 65536 bytes");
  LabRequest request{.http2 = true};
  for (int i = 0; i < 3000; ++i) request.headers.push_back("x" + std::to_string(i) + ": y");
  const auto answer = ask_as_jane(request);
  EXPECT_EQ(answer.status, 431) << answer.body;
  EXPECT_NE(answer.body.find("larger than 65536 bytes"), std::string::npos) << answer.body;
  EXPECT_TRUE(hop_->requests().empty());
  // A name of 8 KiB is legal, and no harm.
  EXPECT_EQ(ask_as_jane({.headers = {std::string(8192, 'n') + ": x"}}).status, 200);
}

TEST_F(BadRequests, TargetsThatCanBeReadInTwoWays) {
  const auto refused = [&](const std::string& target, int status, const std::string& why) {
    const std::string heard = answer_to("GET " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(heard.starts_with("HTTP/1.1 " + std::to_string(status) + " ")) << target << "\n" << heard;
    const auto body = parse_json(heard.substr(std::min(heard.size(), heard.find("\r\n\r\n") + 4)));
    ASSERT_TRUE(body) << heard;
    EXPECT_EQ(str(*body, {"kind"}), "Status") << heard;
    EXPECT_NE(str(*body, {"message"}).find(why), std::string::npos) << target << "\n" << heard;
  };
  refused("https://c1/clusters/c1/proxy/version", 400, "no path");
  refused("c1:443", 400, "no path");
  refused("*", 400, "no path");
  refused("/clusters/c1/proxy/../../c2/proxy/version", 400, "\"..\"");
  refused("/clusters/c1/proxy/%2e%2e/%2e%2e/c2/proxy/version", 400, "\"..\"");
  refused("/clusters/c1/proxy/.%2E/x", 400, "\"..\"");
  refused("/clusters/c1/proxy/a/./b", 400, "\".\"");
  refused("/clusters/c1/proxy/a%2f..%2fb", 400, "\"..\"");
  refused("//clusters/c1/proxy/version", 400, "empty segment");
  refused("/clusters//c1/proxy/version", 400, "empty segment");
  refused("/clusters/c1/proxy//version", 400, "empty segment");
  refused("/clusters/c1/proxy/%00", 400, "NUL");
  refused("/clusters/c1/proxy/%zz", 400, "escape");
  refused("/clusters/c1/proxy/%", 400, "escape");
  refused("/clusters/c1/proxy/a#b", 400, "fragment");
  refused("/clusters/c1%2Fproxy/version", 404, "names no cluster");
  refused("/clusters/c1%2F..%2Fc2/proxy/version", 400, "\"..\"");
  refused("/clusters/a%2Fb/proxy/version", 400, "cluster name");
  refused("/a%2Fb/version", 400, "cluster name");
  refused("/clusters/C1/proxy/version", 400, "cluster name");
  refused("/clusters/" + std::string(8192, 'c') + "/proxy/version", 400, "cluster name");
  refused("/" + std::string(8192, 'c') + "/version", 400, "cluster name");
  EXPECT_TRUE(hop_->requests().empty());
}

TEST_F(BadRequests, ABodyWhoseEndIsNotClearIsNotTakenForWhole) {
  const std::string host = "POST /clusters/c1/proxy/api/v1/pods HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* body : {"zz\r\nab\r\n0\r\n\r\n", "-1\r\nab\r\n0\r\n\r\n", "2\r\nabc\r\n0\r\n\r\n", "ffffffffffffffffff\r\nab",
                           "2\nab\n0\n\n", "2;x=\r\n\r\nab"}) {
    answer_to(host + body);
  }
  EXPECT_TRUE(hop_->requests().empty()) << "the member has been sent the body as if it were whole: " << hop_->last().body;
  for (int i = 0; i < 500 && front_->running() > 0; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(front_->running(), 0U);
}

TEST_F(BadRequests, UpgradesThatAreNoneGoOnAsRequestsOrNotAtAll) {
  for (const char* protocol : {"h2c", "TLS/1.2", "websocket, h2c", "SPDY/2", "", "HTTP/2.0"}) {
    ask_as_jane({.headers = {"Connection: Upgrade, HTTP2-Settings", "Upgrade: "s + protocol,
                             "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA"}});
    EXPECT_EQ(hop_->last().header("upgrade"), "") << protocol;
    EXPECT_EQ(hop_->last().header("connection"), "") << protocol;
    EXPECT_EQ(hop_->last().header("http2-settings"), "") << protocol;
  }
  // An answer that says that it has switched, and has not.
  hop_->answer_with([](const auto&) {
    serve::HttpResponse out;
    out.status = 101;
    out.headers = {{"connection", "Upgrade"}, {"upgrade", "SPDY/3.1"}};
    return out;
  });
  const auto lied = ask_as_jane({.headers = {"Connection: Upgrade", "Upgrade: SPDY/3.1"}});
  EXPECT_EQ(lied.status, 502) << lied.head << lied.body;
}

TEST_F(BadRequests, CredentialsThatAreNone) {
  for (const std::string& value : {"Bearer"s, "Bearer "s, "Bearer a b"s, "Bearer \x80\xff"s, "Bearer a,b"s, "Basic amFuZTp4"s,
                                   "bearer\ta"s, "Negotiate x"s, "Bearer " + std::string(40'000, 'x')}) {
    EXPECT_EQ(ask({.headers = {"Authorization: " + value}}).status, 401) << value.substr(0, 40);
  }
  for (const std::string& value :
       {"*"s, "a"s, "%%%"s, std::string(50'000, 'x'), "Zm9v, x.base64url.bearer.authorization.k8s.io.Zm9v"s}) {
    EXPECT_EQ(ask({.headers = {"Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io." + value}}).status, 401)
        << value.substr(0, 40);
  }
  EXPECT_EQ(reviews("tokenreviews"), 0) << "the hub is not bothered with what no token can be";
  EXPECT_TRUE(hop_->requests().empty());
}

}  // namespace
}  // namespace fleetadm::proxy
