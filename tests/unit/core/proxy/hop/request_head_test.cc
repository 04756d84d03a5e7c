#include "core/proxy/hop/request_head.h"

#include <gtest/gtest.h>

namespace fleetadm::proxy {
namespace {

serve::HttpRequest asked(std::string method, std::string path, std::string query = {}, serve::Headers headers = {}) {
  serve::HttpRequest out;
  out.method = std::move(method);
  out.path = std::move(path);
  out.query = std::move(query);
  out.headers = std::move(headers);
  return out;
}

TEST(RequestHead, KeepsPathAndQueryByteForByte) {
  const auto address = *parse_server("https://10.0.0.1:6443");
  EXPECT_EQ(*write_request_head(asked("GET", "/api//v1/../a%2Fb%3A;x", "a=%20&b=c?d"), address, {}, {}, {}),
            "GET /api//v1/../a%2Fb%3A;x?a=%20&b=c?d HTTP/1.1\r\nhost: 10.0.0.1:6443\r\n\r\n");
}

TEST(RequestHead, PutsTheServersPrefixBeforeThePath) {
  const auto address = *parse_server("https://rancher.example/k8s/clusters/c-1/");
  EXPECT_EQ(address.port, "443");
  EXPECT_EQ(*write_request_head(asked("GET", "/version"), address, {}, {}, {}),
            "GET /k8s/clusters/c-1/version HTTP/1.1\r\nhost: rancher.example\r\n\r\n");
}

TEST(RequestHead, FramesTheBodyAndNamesTheHostItself) {
  const auto address = *parse_server("https://a:1");
  const auto request = asked("POST", "/x", {},
                             {{"host", "evil"},
                              {"content-length", "1"},
                              {"transfer-encoding", "chunked"},
                              {"connection", "x-a"},
                              {"x-a", "1"},
                              {"expect", "100-continue"},
                              {"accept", "*/*"}});
  EXPECT_EQ(*write_request_head(request, address, {.length = 5}, {}, {}),
            "POST /x HTTP/1.1\r\nhost: a:1\r\naccept: */*\r\ncontent-length: 5\r\n\r\n");
  EXPECT_EQ(*write_request_head(request, address, {.chunked = true}, "SPDY/3.1", "t0"),
            "POST /x HTTP/1.1\r\nhost: a:1\r\naccept: */*\r\nauthorization: Bearer t0\r\nconnection: Upgrade\r\n"
            "upgrade: SPDY/3.1\r\ntransfer-encoding: chunked\r\n\r\n");
}

TEST(RequestHead, RefusesWhatCouldBeReadAsMore) {
  const auto address = *parse_server("https://a:1");
  const std::vector<serve::HttpRequest> bad = {asked("GET /x HTTP/1.1\r\n", "/"),
                                               asked("", "/"),
                                               asked("GET", ""),
                                               asked("GET", "http://b/"),
                                               asked("GET", "/a b"),
                                               asked("GET", "/a\r\nx: y"),
                                               asked("GET", std::string("/a\0b", 4)),
                                               asked("GET", "/", "a\nb"),
                                               asked("GET", "/", {}, {{"x", "a\r\nauthorization: Bearer b"}}),
                                               asked("GET", "/", {}, {{"x", std::string("\0", 1)}}),
                                               asked("GET", "/", {}, {{"x y", "a"}}),
                                               asked("GET", "/", {}, {{"", "a"}}),
                                               asked("GET", "/", {}, {{"x:", "a"}})};
  for (const auto& request : bad) {
    const auto head = write_request_head(request, address, {}, {}, {});
    ASSERT_FALSE(head) << request.method << " " << request.path;
    EXPECT_EQ(head.error().code, 400);
  }
  EXPECT_FALSE(write_request_head(asked("GET", "/"), address, {}, {}, "a\r\nb"));
  EXPECT_FALSE(write_request_head(asked("GET", "/"), address, {}, "a\r\nb", {}));
}

TEST(RequestHead, KnowsTheUrlsOfServers) {
  const auto v6 = *parse_server("https://[fd00::1]:6443");
  EXPECT_EQ(v6.host, "fd00::1");
  EXPECT_EQ(v6.authority, "[fd00::1]:6443");
  EXPECT_FALSE(parse_server("http://127.0.0.1:80")->tls);
  for (const std::string url : {"", "https://", "10.0.0.1:443", "ftp://a", "https://a:b", "https://u:p@a", "https://a?b",
                                "https://a/b#c", "https://a b", "https://:443"}) {
    EXPECT_FALSE(parse_server(url)) << url;
  }
}

}  // namespace
}  // namespace fleetadm::proxy
