#include "kubeclient/base/host_port.h"

#include <gtest/gtest.h>

namespace fleetadm {
namespace {

TEST(HostPort, IsSplitAtTheLastColonAndAfterBrackets) {
  const auto split = [](const char* text) {
    const auto parts = split_host_port(text);
    return parts ? parts->host + " " + parts->port : "none";
  };
  EXPECT_EQ(split("example.com:443"), "example.com 443");
  EXPECT_EQ(split("[::1]:6443"), "::1 6443");
  EXPECT_EQ(split("[::1]"), "::1 ");
  EXPECT_EQ(split(":8080"), " 8080");
  EXPECT_EQ(split("example.com"), "example.com ");
  EXPECT_EQ(split("example.com:"), "example.com ");
  EXPECT_EQ(split("[::1"), "none");
  EXPECT_EQ(split("[::1]443"), "none");
}

TEST(HostPort, IsJoinedWithBracketsAroundIpv6) {
  EXPECT_EQ(join_host_port("10.0.0.1", "443"), "10.0.0.1:443");
  EXPECT_EQ(join_host_port("::1", "443"), "[::1]:443");
}

TEST(HostPort, PortsAreNumbersUpTo65535) {
  EXPECT_EQ(parse_port("0"), 0);
  EXPECT_EQ(parse_port("65535"), 65535);
  for (const char* bad : {"", "65536", "-1", "+1", " 1", "1 ", "0x1", "http"}) EXPECT_FALSE(parse_port(bad)) << bad;
}

}  // namespace
}  // namespace fleetadm
