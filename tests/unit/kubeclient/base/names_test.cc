#include "kubeclient/base/names.h"

#include <gtest/gtest.h>

namespace fleetadm {
namespace {

using Problems = std::vector<std::string>;

bool begins(const Problems& problems, std::string_view text) { return problems.size() == 1 && problems[0].starts_with(text); }

TEST(Names, LabelKeys) {
  for (const char* good : {"a", "A_b.c-1", "example.com/name", "a/b"}) EXPECT_EQ(label_key_problems(good), Problems()) << good;
  EXPECT_TRUE(begins(label_key_problems("-a"), "name part must consist of alphanumeric"));
  EXPECT_TRUE(begins(label_key_problems("a b"), "name part must consist of alphanumeric"));
  EXPECT_TRUE(begins(label_key_problems("a/b/c"), "a valid label key must consist of"));
  EXPECT_EQ(label_key_problems("/b"), Problems{"prefix part must be non-empty"});
  EXPECT_TRUE(begins(label_key_problems("Not_Dns/b"), "prefix part a lowercase RFC 1123 subdomain"));
  EXPECT_EQ(label_key_problems("a/").size(), 2U);  // empty, and not of the form
  EXPECT_EQ(label_key_problems(std::string(64, 'a')), Problems{"name part must be no more than 63 bytes"});
  EXPECT_EQ(label_key_problems(std::string(63, 'a')), Problems());
}

TEST(Names, LabelValues) {
  for (const char* good : {"", "a", "A_b.c-1"}) EXPECT_EQ(label_value_problems(good), Problems()) << good;
  EXPECT_TRUE(begins(label_value_problems("not a value"), "a valid label must be an empty string or consist of"));
  EXPECT_TRUE(begins(label_value_problems("a/b"), "a valid label must be"));
  EXPECT_EQ(label_value_problems(std::string(64, 'a')), Problems{"must be no more than 63 bytes"});
}

TEST(Names, OfObjects) {
  EXPECT_EQ(dns_label_problems("my-name"), Problems());
  EXPECT_EQ(dns_label_problems("my.name"), Problems{"must not contain dots"});
  EXPECT_TRUE(begins(dns_label_problems("My"), "a lowercase RFC 1123 label"));
  EXPECT_EQ(dns_subdomain_problems("my.name-1"), Problems());
  for (const char* bad : {"", "a..b", ".a", "a.", "-a", "a_b", "A"})
    EXPECT_TRUE(begins(dns_subdomain_problems(bad), "a lowercase RFC 1123 subdomain")) << bad;
  EXPECT_EQ(dns_subdomain_problems(std::string(254, 'a')), Problems{"must be no more than 253 bytes"});
  EXPECT_EQ(service_name_problems("a1"), Problems());
  EXPECT_TRUE(begins(service_name_problems("1a"), "a DNS-1035 label"));
  EXPECT_TRUE(begins(service_name_problems(""), "a DNS-1035 label"));
  EXPECT_EQ(path_segment_problems("system:any thing"), Problems());
  EXPECT_EQ(path_segment_problems(".."), Problems{"may not be '..'"});
  EXPECT_EQ(path_segment_problems("a/b%"), (Problems{"may not contain '/'", "may not contain '%'"}));
}

TEST(Names, AreWhatTheRulesSay) {
  EXPECT_TRUE(is_dns_subdomain("a.b-c.1"));
  for (const char* bad : {"", "A", "a..b", "-a", "a-", "a_b", ".a"}) EXPECT_FALSE(is_dns_subdomain(bad)) << bad;
  EXPECT_TRUE(is_dns_label("a-1"));
  EXPECT_FALSE(is_dns_label("a.b"));
  EXPECT_TRUE(is_qualified_name("example.com/Name_1"));
  for (const char* bad : {"", "/a", "a/", "a/b/c", "A.com/x", "-a"}) EXPECT_FALSE(is_qualified_name(bad)) << bad;
}

TEST(Names, DnsLabelsAndSubdomains) {
  EXPECT_TRUE(is_dns_label("a-1"));
  for (const auto* bad : {"", "-a", "a-", "A", "a.b", "a_b"}) EXPECT_FALSE(is_dns_label(bad)) << bad;
  EXPECT_TRUE(is_dns_label(std::string(63, 'a')));
  EXPECT_FALSE(is_dns_label(std::string(64, 'a')));
  EXPECT_TRUE(is_dns_subdomain("a.b-c.d"));
  for (const auto* bad : {"", ".", "a.", ".a", "a..b", "a.-b", "A.b"}) EXPECT_FALSE(is_dns_subdomain(bad)) << bad;
}

}  // namespace
}  // namespace fleetadm
