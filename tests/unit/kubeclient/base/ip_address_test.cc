#include "kubeclient/base/ip_address.h"

#include <gtest/gtest.h>

namespace fleetadm {
namespace {

TEST(IpAddress, ReadsAndWrites) {
  const auto ip = [](std::string_view text) {
    const auto read = IpAddress::parse(text);
    return read ? read->to_string() : "refused";
  };
  EXPECT_EQ(ip("2001:DB8:0:0:1::"), "2001:db8:0:0:1::");
  EXPECT_EQ(ip("1:0:0:2:0:0:0:3"), "1:0:0:2::3");
  EXPECT_EQ(ip("::ffff:1.2.3.4"), "::ffff:1.2.3.4");
  EXPECT_EQ(ip("fe80::1%eth0"), "fe80::1%eth0");
  for (const char* bad : {"", "1.2.3", "01.2.3.4", "1.2.3.256", "1:2:3:4:5:6:7:8::", ":::", "1::2::3", "12345::", "::1%", "%x"}) {
    EXPECT_EQ(ip(bad), "refused") << bad;
  }
  const IpPrefix net = *IpPrefix::parse("10.1.2.3/16");
  EXPECT_EQ(net.to_string(), "10.1.2.3/16");
  EXPECT_EQ(net.masked().to_string(), "10.1.0.0/16");
  EXPECT_TRUE(net.contains(*IpAddress::parse("10.1.255.255")));
  EXPECT_FALSE(net.contains(*IpAddress::parse("::10.1.2.3")));
  for (const char* bad : {"10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "10.0.0.0/-1", "10.0.0.0/", "::/129"}) {
    EXPECT_FALSE(IpPrefix::parse(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace fleetadm
