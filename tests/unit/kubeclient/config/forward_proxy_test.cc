#include "kubeclient/config/forward_proxy.h"

#include <gtest/gtest.h>
#include <map>

namespace fleetadm::kube {
namespace {

using Variables = std::map<std::string, std::string>;

Result<std::optional<ForwardProxy>> proxy_of(const std::string& url, std::string_view host, const Variables& variables = {}) {
  RestConfig config;
  config.proxy_url = url;
  config.ca_data = "pem";
  return forward_proxy(config, host, [&](const char* name) {
    const auto at = variables.find(name);
    return at == variables.end() ? std::string() : at->second;
  });
}

TEST(ForwardProxy, IsOfTheConfiguration) {
  const auto proxy = proxy_of("http://egress.example.com:3128", "hub", {{"NO_PROXY", "*"}, {"HTTPS_PROXY", "http://other"}});
  ASSERT_TRUE(proxy && *proxy);
  EXPECT_EQ(**proxy, (ForwardProxy{false, "egress.example.com", "3128", "", "pem"}));
  EXPECT_EQ((*proxy)->authority(), "egress.example.com:3128");
  EXPECT_EQ((**proxy_of("https://u%40x:p%3Aw@[::1]", "hub")), (ForwardProxy{true, "::1", "443", "Basic dUB4OnA6dw==", "pem"}));
  EXPECT_EQ((**proxy_of("http://proxy/", "hub")).port, "1080") << "libcurl's";
}

TEST(ForwardProxy, IsOfTheEnvironmentWhereTheConfigurationHasNone) {
  EXPECT_FALSE(*proxy_of("", "hub"));
  EXPECT_FALSE(*proxy_of("", "hub", {{"HTTP_PROXY", "http://proxy:1"}})) << "servers are reached by TLS";
  EXPECT_EQ((**proxy_of("", "hub", {{"HTTPS_PROXY", "http://proxy:1"}})).port, "1");
  EXPECT_EQ((**proxy_of("", "hub", {{"https_proxy", "proxy:2"}, {"HTTPS_PROXY", "http://proxy:1"}})).port, "2");
  EXPECT_EQ((**proxy_of("", "hub", {{"ALL_PROXY", "http://proxy:3"}, {"NO_PROXY", "other,10.0.0.0/8"}})).port, "3");
  EXPECT_FALSE(*proxy_of("", "10.1.2.3", {{"ALL_PROXY", "http://proxy:3"}, {"NO_PROXY", "other,10.0.0.0/8"}}));
}

TEST(ForwardProxy, WhatIsNoneIsRefusedWithoutItsPassword) {
  for (const std::string url : {"ftp://u:secret@proxy", "http://", "http://u:secret@", "http://u:secret@proxy:99999999"}) {
    const auto proxy = proxy_of(url, "hub");
    ASSERT_FALSE(proxy) << url;
    EXPECT_EQ(proxy.error().category, Category::kUsage) << url;
    EXPECT_EQ(proxy.error().message.find("secret"), std::string::npos) << proxy.error().message;
  }
  EXPECT_EQ(proxy_of("socks5://proxy:1080", "hub").error().category, Category::kUnsupported);
  EXPECT_EQ(proxy_of("", "hub", {{"HTTPS_PROXY", "socks5h://proxy"}}).error().category, Category::kUnsupported);
}

TEST(ForwardProxy, NoProxyNamesHostsAndWhatIsBelowThem) {
  const std::string list = "example.com, .corp ,[fd00::1],192.168.0.0/16,fd01::/64,10.0.0.1";
  for (const char* host : {"example.com", "EXAMPLE.com", "a.example.com", "a.b.example.com.", "x.corp", "fd00::1", "192.168.3.4",
                           "fd01::5", "10.0.0.1"}) {
    EXPECT_TRUE(bypasses_proxy(list, host)) << host;
  }
  for (const char* host :
       {"example.org", "notexample.com", "example.com.evil", "fd00::2", "192.169.0.1", "fd02::5", "10.0.0.2", "", "com"}) {
    EXPECT_FALSE(bypasses_proxy(list, host)) << host;
  }
  EXPECT_TRUE(bypasses_proxy("*", "anything"));
  EXPECT_TRUE(bypasses_proxy("a,*", "::1"));
  EXPECT_FALSE(bypasses_proxy("", "anything"));
  EXPECT_FALSE(bypasses_proxy(",, ,", "anything"));
}

}  // namespace
}  // namespace fleetadm::kube
