#include "kubeclient/transport/endpoint.h"

#include <gtest/gtest.h>

namespace fleetadm::kube {
namespace {

TEST(EndpointTest, AServerOfThisMachineIsToldByItsHost) {
  for (const char* server : {"https://127.0.0.1:6443", "https://127.8.9.1", "https://localhost:6443/prefix", "127.0.0.1:6443",
                             "https://[::1]:6443", "http://localhost", "unix:/run/api.sock"}) {
    EXPECT_TRUE(is_loopback_server(server)) << server;
  }
  for (const char* server : {"https://localhost.example.com:6443", "https://127.example.com", "https://10.0.0.1:6443",
                             "https://[::2]", "https://hub.example.com/127.0.0.1", "", "https://"}) {
    EXPECT_FALSE(is_loopback_server(server)) << server;
  }
}

}  // namespace
}  // namespace fleetadm::kube
