#include "kubeclient/base/encoding.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

namespace fleetadm {
namespace {

TEST(Encoding, HashesAndBase64) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  for (const auto& [plain, coded] : std::vector<std::pair<std::string, std::string>>{
           {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {std::string("\0\xff\xfe", 3), "AP/+"}}) {
    EXPECT_EQ(base64_encode(plain), coded);
    EXPECT_EQ(*base64_decode(coded), plain);
  }
  EXPECT_EQ(*base64_decode(" Zm\n9v\r\n"), "foo");
  for (const char* bad : {"Z", "Zg", "Zg=", "Zg===", "Zm9v=", "Z!==", "=", "Zg==Zg=="}) EXPECT_FALSE(base64_decode(bad)) << bad;
  EXPECT_EQ(base64url_encode(std::string("\xff\xfe", 2)), "__4");
}

TEST(Encoding, RandomNames) {
  const std::string suffix = random_suffix(200);
  EXPECT_EQ(suffix.size(), 200U);
  EXPECT_EQ(suffix.find_first_not_of("bcdfghjklmnpqrstvwxz2456789"), std::string::npos);
  const std::string uuid = random_uuid();
  EXPECT_EQ(uuid.size(), 36U);
  EXPECT_EQ(uuid[14], '4');
  EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos);
  EXPECT_NE(uuid, random_uuid());
}

}  // namespace
}  // namespace fleetadm
