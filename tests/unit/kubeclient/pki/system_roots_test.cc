#include "kubeclient/pki/system_roots.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

namespace fleetadm::pki {
namespace {

class SystemRootsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* value = std::getenv("SSL_CERT_FILE")) before_ = value;
  }
  void TearDown() override {
    if (before_.empty()) {
      ::unsetenv("SSL_CERT_FILE");
    } else {
      ::setenv("SSL_CERT_FILE", before_.c_str(), 1);
    }
  }

 private:
  std::string before_;
};

TEST_F(SystemRootsTest, TheVariableComesFirst) {
  ::setenv("SSL_CERT_FILE", "/somewhere/else.pem", 1);
  EXPECT_EQ(system_roots_file(), "/somewhere/else.pem");
}

TEST_F(SystemRootsTest, ElseItIsAFileOfThisMachine) {
  ::unsetenv("SSL_CERT_FILE");
  const std::string found = system_roots_file();
  EXPECT_TRUE(found.empty() || std::filesystem::is_regular_file(found)) << found;
  if (std::filesystem::exists("/etc/ssl/certs/ca-certificates.crt")) {
    EXPECT_EQ(found, "/etc/ssl/certs/ca-certificates.crt");
  }
}

}  // namespace
}  // namespace fleetadm::pki
