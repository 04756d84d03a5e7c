#include "kubeclient/base/redact_text.h"

#include <gtest/gtest.h>

namespace fleetadm {
namespace {

struct Case {
  const char* text;
  const char* shown;
};

class RedactText : public testing::TestWithParam<Case> {};
TEST_P(RedactText, HidesWhatLooksLikeACredential) { EXPECT_EQ(redact_text(GetParam().text), GetParam().shown); }
INSTANTIATE_TEST_SUITE_P(
    Table, RedactText,
    testing::Values(Case{"", ""},
                    Case{"I0101 10:00:00 agent: lease renewed, 3 works", "I0101 10:00:00 agent: lease renewed, 3 works"},
                    Case{"got eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln-_x, done", "got <redacted>, done"},
                    Case{"use abcdef.0123456789abcdef now", "use <redacted> now"},
                    Case{"v1.35.4 of registry.k8s.io/pause", "v1.35.4 of registry.k8s.io/pause"},
                    Case{"Authorization: Bearer abc.def", "Authorization: Bearer <redacted>"},
                    Case{"header \"Authorization\": \"Basic dXNlcjpw\"", "header \"Authorization\": \"Basic <redacted>\""},
                    Case{"BEARER xyz", "BEARER <redacted>"}, Case{"--hub-token=s3cret --v=4", "--hub-token=<redacted> --v=4"},
                    Case{"{\"password\":\"hunter2\",\"user\":\"a\"}", "{\"password\":\"<redacted>\",\"user\":\"a\"}"},
                    Case{"{\\\"clientSecret\\\": \\\"x y\\\"}", "{\\\"clientSecret\\\": \\\"<redacted> y\\\"}"},
                    Case{"proxy http://me:pw@proxy:3128/x", "proxy http://<redacted>@proxy:3128/x"},
                    Case{"https://hub:6443/a@b", "https://hub:6443/a@b"},
                    Case{"a\n-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\nb", "a\n<redacted>\nb"},
                    Case{"-----BEGIN RSA PRIVATE KEY-----\nMHc", "<redacted>"},
                    Case{"client-key-data: LS0tLS1C", "client-key-data: <redacted>"},
                    Case{"the token has expired", "the token has expired"}));

TEST(RedactTextTest, WhatIsHiddenOnceStaysHidden) {
  const std::string once = redact_text("token: abc Bearer def https://a:b@c eyJhbGciOiJSUzI1NiJ9.e.s");
  EXPECT_EQ(redact_text(once), once);
}

}  // namespace
}  // namespace fleetadm
