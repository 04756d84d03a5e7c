// Which addresses the hub may be told to dial.
#include "core/registration/join/member_endpoint.h"

#include <gtest/gtest.h>

namespace fleetadm::join {
namespace {

TEST(MemberEndpoint, IsOneForm) {
  const std::pair<const char*, const char*> forms[]{
      {"https://c1.example.com:6443", "https://c1.example.com:6443"},
      {"https://C1.Example.com", "https://c1.example.com:443"},
      {"HTTPS://10.0.0.1:0443/", "https://10.0.0.1:443"},
      {"https://[2001:db8::1]:6443", "https://[2001:db8::1]:6443"},
      {"https://[2001:db8::1]", "https://[2001:db8::1]:443"},
      {"https://rancher.example.com/k8s/clusters/c-1/", "https://rancher.example.com:443/k8s/clusters/c-1"}};
  for (const auto& [text, url] : forms) {
    const auto endpoint = parse_member_endpoint(text);
    ASSERT_TRUE(endpoint) << text << ": " << endpoint.error().message;
    EXPECT_EQ(endpoint->url(), url);
    EXPECT_FALSE(endpoint->loopback) << text;
  }
}

TEST(MemberEndpoint, IsRefusedInAnyOtherForm) {
  for (const char* text : {"",
                           "c1.example.com:6443",
                           "http://c1.example.com",
                           "ftp://c1.example.com",
                           "https://",
                           "https://:6443",
                           "https://c1.example.com:",
                           "https://c1.example.com:0",
                           "https://c1.example.com:65536",
                           "https://c1.example.com:64x",
                           "https://me:secret@c1.example.com",
                           "https://c1.example.com?x=1",
                           "https://c1.example.com#x",
                           "https://c1.example.com/a b",
                           "https://c1.example.com/\n",
                           "https://c1.example.com/..",
                           "https://c1.example.com/a/../b",
                           "https://c1.example.com//a",
                           "https://[2001:db8::1",
                           "https://2001:db8::1",
                           "https://[c1.example.com]",
                           "https://[fe80::1%25eth0]",
                           "https://[fe80::1]",
                           "https://169.254.169.254",
                           "https://[::ffff:169.254.169.254]",
                           "https://[fd00:ec2::254]",
                           "https://100.100.100.200",
                           "https://168.63.129.16:6443",
                           "https://224.0.0.1",
                           "https://2130706433",
                           "https://127.1",
                           "https://0x7f.1",
                           "https://0x7f000001:6443",
                           "https://10.0.0.1.",
                           "https://c1_example.com",
                           "https://-c1",
                           "https://c1..example.com",
                           "https:\\\\c1.example.com",
                           "https://c1.example.com\\@evil.example.com"}) {
    const auto endpoint = parse_member_endpoint(text);
    ASSERT_FALSE(endpoint) << text;
    EXPECT_EQ(endpoint.error().category, Category::kUsage);
    EXPECT_EQ(endpoint.error().message.find("secret"), std::string::npos) << endpoint.error().message;
  }
}

TEST(MemberEndpoint, KnowsWhatMeansAnotherThingOnEachMachine) {
  for (const char* address : {"169.254.1.1", "fe80::1", "ff02::1", "::ffff:169.254.169.254"})
    EXPECT_EQ(refused_address(address), "a link-local or multicast address") << address;
  for (const char* address :
       {"FD00:EC2::254", "fd00:ec2:0:0:0:0:0:254", "fd20:ce::254", "::ffff:100.100.100.200", "168.63.129.16"})
    EXPECT_EQ(refused_address(address), "the address of a cloud's metadata service") << address;
  for (const char* address : {"10.0.0.1", "2001:db8::1", "fd00:ec2::253", "127.0.0.1", "metadata.google.internal", ""})
    EXPECT_EQ(refused_address(address), "") << address;
}

TEST(MemberEndpoint, KnowsThisMachine) {
  for (const char* text :
       {"https://127.0.0.1:6443", "https://127.9.9.9", "https://localhost", "https://LOCALHOST.:1", "https://a.localhost",
        "https://[::1]:6443", "https://[::ffff:127.0.0.1]", "https://0.0.0.0", "https://[::]"}) {
    const auto endpoint = parse_member_endpoint(text);
    ASSERT_TRUE(endpoint) << text << ": " << endpoint.error().message;
    EXPECT_TRUE(endpoint->loopback) << text;
  }
  EXPECT_TRUE(is_loopback_address("127.0.0.1"));
  EXPECT_FALSE(is_loopback_address("10.0.0.1"));
  EXPECT_FALSE(is_loopback_address("localhost")) << "what a name leads to is asked of DNS";
}

}  // namespace
}  // namespace fleetadm::join
