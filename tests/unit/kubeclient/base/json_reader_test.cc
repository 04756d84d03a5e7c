#include "kubeclient/base/json_reader.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <sstream>

#include "tests/support/source_folder.h"

namespace fleetadm {
namespace {

/// The value as nlohmann/json reads it; nothing where it refuses the text.
std::optional<Json> by_the_library(std::string_view text) {
  Json root;
  JsonBuilder builder(root);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) return std::nullopt;
  return root;
}

/// With what == does not tell: 1 and 1.0, -0.0 and 0.0.
std::string types_of(const Json& value) {
  std::string types = std::to_string(static_cast<int>(value.type()));
  if (value.is_number_float()) types += std::signbit(value.get<double>()) ? "-" : "+";
  for (const Json& one : value) {
    if (value.is_structured()) types += types_of(one) + ",";
  }
  return types;
}

/// Whether both read the text, and to the same.
bool read_alike(std::string_view text) {
  Json root;
  JsonBuilder builder(root);
  const bool read = read_json(text, builder);
  const auto wanted = by_the_library(text);
  EXPECT_TRUE(!read || wanted) << "accepted: " << text.substr(0, 200);
  if (!read || !wanted) return false;
  EXPECT_EQ(root, *wanted) << text.substr(0, 200);
  EXPECT_EQ(types_of(root), types_of(*wanted)) << text.substr(0, 200);
  return true;
}

TEST(JsonReader, ReadsWhatTheLibraryReads) {
  for (const char* text : {"{}",
                           "[]",
                           " [ ] ",
                           "null",
                           "true",
                           "\"\"",
                           "0",
                           "-0",
                           "-0.0",
                           "0.0",
                           "1",
                           "-1",
                           "12345678901234567",
                           "1.0",
                           "1e3",
                           "1E+2",
                           "-1e-7",
                           "1.5e300",
                           "0.1",
                           "123456789.123456789012345678",
                           "2.2250738585072011e-308",
                           "9007199254740993.0",
                           "9223372036854775807",
                           "-9223372036854775808",
                           "9223372036854775808",
                           "18446744073709551615",
                           "18446744073709551616",
                           "-9223372036854775809",
                           "100000000000000000000000000000000000000000",
                           R"({"a":{"x":1},"a":{"y":2}})",
                           R"({"b":1,"a":[1,2,{"c":null}],"a\n":"x"})",
                           R"("\"\\\/\b\f\n\r\tA\u00e4\u20ac\ud83d\ude00")",
                           "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\"",
                           R"(["a long string that has an escape \n in its middle, and another \t one"])",
                           "[1 , 2\n,\t3]\r\n"}) {
    EXPECT_TRUE(read_alike(text)) << text;
  }
}

TEST(JsonReader, AcceptsNothingThatTheLibraryRefuses) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[1,]",
                           "{\"a\":1,}",
                           "{a:1}",
                           "[1] 2",
                           "01",
                           "-",
                           "1.",
                           ".5",
                           "+1",
                           "1e",
                           "1e400",
                           "nul",
                           "NaN",
                           "Infinity",
                           "// c\n1",
                           "/* c */ 1",
                           "\"\t\"",
                           "\"\\x\"",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\\ud800\\u0041\"",
                           "\"\xff\"",
                           "\"\xC0\x80\"",
                           "\"\xED\xA0\x80\"",
                           "\"\xF5\x80\x80\x80\"",
                           "\"open",
                           "[1",
                           "'a'"}) {
    EXPECT_FALSE(read_alike(text)) << text;
  }
  EXPECT_FALSE(read_alike(std::string_view("[1]\0", 4)));  // the library takes it for the end
}

TEST(JsonReader, AgreesOnEveryPrefixAndOnEachChangedByte) {
  const std::string text = R"({"k":[-0,1.5e-3,18446744073709551616,"\u00e4\ud83d\ude00x",true,null,{"":[]}],"k":"v"})";
  for (std::size_t length = 0; length <= text.size(); ++length) read_alike(std::string_view(text).substr(0, length));
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    for (int byte = 0; byte < 256; ++byte) {
      changed[at] = static_cast<char>(byte);
      read_alike(changed);
    }
  }
}

TEST(JsonReader, AgreesOnTheTextsThatAreKeptForRandomInput) {
  int read = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(testkit::source_folder() + "/tests/corpora")) {
    if (!file.is_regular_file()) continue;
    std::stringstream text;
    text << std::ifstream(file.path(), std::ios::binary).rdbuf();
    read += read_alike(text.str()) ? 1 : 0;
  }
  EXPECT_GT(read, 0);
}

TEST(JsonReader, LeavesWhatTheBuilderRefuses) {
  Json root;
  JsonBuilder builder(root);
  EXPECT_FALSE(read_json(std::string(513, '[') + std::string(513, ']'), builder));
}

}  // namespace
}  // namespace fleetadm
