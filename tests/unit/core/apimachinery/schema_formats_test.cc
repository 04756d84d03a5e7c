// Formats of a schema's strings that are addresses.
#include <gtest/gtest.h>

#include "core/apimachinery/schema_node.h"

namespace fleetadm::apimachinery {
namespace {

TEST(SchemaFormats, KnowsAddressesAndPrefixes) {
  for (const char* good : {"::", "::1", "2001:db8::1", "1:2:3:4:5:6:7:8", "::ffff:10.0.0.1"})
    EXPECT_TRUE(has_format(good, "ipv6")) << good;
  for (const char* bad :
       {"", ":", "1:2:3", "1::2::3", "12345::", "10.0.0.1", "::1%eth0", "::ffff:10.0.0.300", "1:2:3:4:5:6:7:8:9"})
    EXPECT_FALSE(has_format(bad, "ipv6")) << bad;
  for (const char* good : {"10.0.0.0/8", "10.0.0.0/32", "::/0", "2001:db8::/64"}) EXPECT_TRUE(has_format(good, "cidr")) << good;
  for (const char* bad : {"10.0.0.0", "10.0.0.0/33", "10.0.0/8", "::/129", "::/", "::/-1", "/8", "::/1/1"})
    EXPECT_FALSE(has_format(bad, "cidr")) << bad;
}

}  // namespace
}  // namespace fleetadm::apimachinery
