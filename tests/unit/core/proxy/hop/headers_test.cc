#include "core/proxy/hop/headers.h"

#include <gtest/gtest.h>

namespace fleetadm::proxy {
namespace {

using serve::Headers;

TEST(HopHeaders, AnUpgradeNeedsBothHeaders) {
  EXPECT_TRUE(is_upgrade({{"connection", "keep-alive, Upgrade"}, {"upgrade", "SPDY/3.1"}}));
  EXPECT_TRUE(is_upgrade({{"connection", "keep-alive"}, {"connection", "upgrade"}, {"upgrade", "websocket"}}));
  EXPECT_FALSE(is_upgrade({{"connection", "keep-alive"}, {"upgrade", "websocket"}}));
  EXPECT_FALSE(is_upgrade({{"connection", "upgrade"}}));
  EXPECT_FALSE(is_upgrade({{"connection", "upgrades"}, {"upgrade", "websocket"}}));
}

TEST(HopHeaders, WhatConcernsOneConnectionDoesNotGoOn) {
  Headers headers{{"connection", "close, X-Private ,"},
                  {"x-private", "1"},
                  {"keep-alive", "5"},
                  {"te", "trailers"},
                  {"transfer-encoding", "chunked"},
                  {"content-length", "3"},
                  {"proxy-authorization", "Basic x"},
                  {"upgrade", "h2c"},
                  {"accept", "application/json"}};
  drop_hop_headers(headers);
  EXPECT_EQ(headers, (Headers{{"accept", "application/json"}}));
}

TEST(HopHeaders, NobodySaysWhoTheyAre) {
  Headers headers{{"authorization", "Bearer x"},
                  {"cookie", "a=b"},
                  {"host", "evil"},
                  {"x-remote-user", "root"},
                  {"x-remote-extra-a", "b"},
                  {"impersonate-uid", "1"},
                  {"x-forwarded-for", "1"},
                  {"forwarded", "for=1"},
                  {"via", "1.1 a"},
                  {"x-real-ip", "1"},
                  {"cluster-proxy-service", "kubernetes"},
                  {"fleetadm-user", "root"},
                  {"user-agent", "kubectl"}};
  drop_identity_headers(headers);
  EXPECT_EQ(headers, (Headers{{"user-agent", "kubectl"}}));
}

}  // namespace
}  // namespace fleetadm::proxy
