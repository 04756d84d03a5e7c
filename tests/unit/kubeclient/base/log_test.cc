#include "kubeclient/base/log.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <regex>
#include <thread>

#include "kubeclient/base/json.h"
#include "kubeclient/base/log_file.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::log {
namespace {

class Log : public testing::Test {
 protected:
  void TearDown() override { set_verbosity(0); }
};

TEST_F(Log, LinesHaveKlogsShape) {
  set_verbosity(2);
  testing::internal::CaptureStderr();
  info(2, "agent", "joined\nE1121 forged");
  info(3, "agent", "not shown");
  error("hub", "bad \x1b[31m");
  warn("hub", "careful");
  const std::string lines = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(std::regex_match(lines, std::regex("I\\d{4} \\d\\d:\\d\\d:\\d\\d\\.\\d{6} agent: joined\\\\nE1121 forged\n"
                                                 "E\\d{4} \\S+ hub: bad \\\\x1b\\[31m\n"
                                                 "W\\d{4} \\S+ hub: careful\n")))
      << lines;
}

TEST_F(Log, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(escape_terminal("plain \xC3\xA4 \xE2\x82\xAC \xF0\x9F\x90\xB3"), "plain \xC3\xA4 \xE2\x82\xAC \xF0\x9F\x90\xB3");
  EXPECT_EQ(escape_terminal("a\x1b]0;t\x07\r\x7f"), "a\\x1b]0;t\\x07\\x0d\\x7f");
  EXPECT_EQ(escape_terminal("\xC2\x9B"
                            "31m"),
            "\\u009b31m");
  EXPECT_EQ(escape_terminal("\xE2\x80\xAE"), "\\u202e");
  // What takes no room, and what turns the direction: U+200B, U+200E, U+061C, U+00AD, U+2060, U+E0041.
  EXPECT_EQ(escape_terminal("\xE2\x80\x8B\xE2\x80\x8E\xD8\x9C\xC2\xAD\xE2\x81\xA0\xF3\xA0\x81\x81"),
            "\\u200b\\u200e\\u061c\\u00ad\\u2060\\U000e0041");
  EXPECT_EQ(escape_terminal("\xff\xC3"), "\\xff\\xc3");
  EXPECT_EQ(escape_terminal("\xC0\x9B\xE0\x80\x9B\xED\xA0\x80"), "\\xc0\\x9b\\xe0\\x80\\x9b\\xed\\xa0\\x80");
  EXPECT_EQ(escape_terminal("a\nb\tc"), "a\\nb\\tc");
  EXPECT_EQ(escape_terminal("a\nb\tc", true), "a\nb\tc");
}

struct RedactCase {
  const char* body;
  const char* shown;
};
class RedactBody : public testing::TestWithParam<RedactCase> {};
TEST_P(RedactBody, HidesSecretsOnly) { EXPECT_EQ(redact_body(GetParam().body), GetParam().shown); }
INSTANTIATE_TEST_SUITE_P(
    Table, RedactBody,
    testing::Values(
        RedactCase{R"({"kind":"ConfigMap","data":{"a":"b"}})", R"({"data":{"a":"b"},"kind":"ConfigMap"})"},
        RedactCase{R"({"kind":"Secret","data":{"a":"b"},"stringData":{"c":"d"}})",
                   R"({"data":{"a":"<redacted>"},"kind":"Secret","stringData":{"c":"<redacted>"}})"},
        RedactCase{R"({"data":{"token":"b"}})", R"({"data":{"token":"<redacted>"}})"},
        RedactCase{R"({"kind":"ManifestWork","spec":{"workload":{"manifests":[{"kind":"Secret","data":{"a":"b"}}]}}})",
                   R"({"kind":"ManifestWork","spec":{"workload":{"manifests":[{"data":{"a":"<redacted>"},"kind":"Secret"}]}}})"},
        RedactCase{R"([{"op":"replace","path":"/data/x","value":"abc"}])",
                   R"([{"op":"replace","path":"/data/x","value":"<redacted>"}])"},
        RedactCase{R"({"kind":"TokenRequest","status":{"token":"abc","expirationTimestamp":"2026-01-01T00:00:00Z"}})",
                   R"({"kind":"TokenRequest","status":{"expirationTimestamp":"2026-01-01T00:00:00Z","token":"<redacted>"}})"},
        RedactCase{R"({"kind":"Pod","env":[{"name":"HUB_TOKEN","value":"abc"},{"name":"A","value":"b"}]})",
                   R"({"env":[{"name":"HUB_TOKEN","value":"<redacted>"},{"name":"A","value":"b"}],"kind":"Pod"})"},
        RedactCase{"{\"kind\":\"X\",\"a\":\"-----BEGIN EC PRIVATE KEY-----\\n\",\"b\":\"eyJa.b.c\"}",
                   R"({"a":"<redacted>","b":"<redacted>","kind":"X"})"},
        RedactCase{"not json", "<8 bytes>"}));

TEST_F(Log, RedactKeepsEmptinessVisible) {
  EXPECT_EQ(redact("x"), "<redacted>");
  EXPECT_EQ(redact(""), "");
}

TEST(LogTest, AProgramsLinesGoToItsFile) {
  const testkit::TemporaryFolder folder("log");
  const std::string file = (folder.path() / "program.log").string();
  testing::internal::CaptureStderr();
  {
    const log::ToFile scope(file);
    log::warn("agent", "first");
    {
      const log::ToFile nothing("");
      log::warn("agent", "second");
    }
    std::thread([] { log::warn("other", "elsewhere"); }).join();
  }
  log::warn("agent", "after");
  const std::string rest = testing::internal::GetCapturedStderr();
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(std::regex_match(text, std::regex("W[^\n]*agent: first\nW[^\n]*agent: second\n"))) << text;
  EXPECT_NE(rest.find("other: elsewhere\n"), std::string::npos);
  EXPECT_NE(rest.find("agent: after\n"), std::string::npos);
}

}  // namespace
}  // namespace fleetadm::log
