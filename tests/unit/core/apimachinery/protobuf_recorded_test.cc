#include <gtest/gtest.h>

#include "core/apimachinery/decode.h"
#include "core/apimachinery/defaults.h"
#include "core/apimachinery/protobuf.h"
#include "core/apimachinery/protobuf_encode.h"
#include "kubeclient/base/encoding.h"
#include "tests/unit/core/apimachinery/recorded.h"

namespace fleetadm::apimachinery {
namespace {

// The same objects as kube-apiserver 1.35.4 answered them in protobuf and in JSON.
TEST(Protobuf, ReadsWhatARealServerWrites) {
  const Json record = recorded("protobuf");
  ASSERT_GE(record.size(), 30U);
  for (const Json& c : record) {
    const Json& wanted = object_at(c, {"json"});
    const auto bytes = base64_decode(str(c, {"protobuf"}));
    ASSERT_TRUE(bytes);
    auto decoded = decode_protobuf(*bytes, "", "");
    ASSERT_TRUE(decoded) << str(wanted, {"kind"}) << ": " << decoded.error().message;
    std::vector<std::string> unknown;
    const Status typed = decode_builtin(*decoded, *find_kind(str(wanted, {"apiVersion"}), str(wanted, {"kind"})), unknown);
    ASSERT_TRUE(typed) << str(wanted, {"kind"}) << ": " << typed.error().message;
    EXPECT_TRUE(unknown.empty());
    apply_defaults(*decoded);  // the kinds of embedded objects are not on this wire
    EXPECT_EQ(Json::diff(*decoded, wanted), Json::array()) << str(wanted, {"kind"});
    // Every body cut short ends in an answer.
    for (std::size_t size = 0; size < bytes->size(); size += 7)
      static_cast<void>(decode_protobuf(std::string_view(*bytes).substr(0, size), "v1", "Pod"));
  }
}

// The same bytes, but where Go's order of a map's keys is by chance.
TEST(Protobuf, WritesWhatARealServerWrites) {
  for (const Json& c : recorded("protobuf")) {
    const Json& object = object_at(c, {"json"});
    const auto bytes = base64_decode(str(c, {"protobuf"}));
    ASSERT_TRUE(bytes);
    const auto encoded = encode_protobuf(object);
    ASSERT_TRUE(encoded) << str(object, {"kind"}) << ": " << encoded.error().message;
    EXPECT_EQ(base64_encode(*encoded), base64_encode(*bytes)) << str(object, {"kind"});
  }
}

TEST(Protobuf, ListsKeepTheirItems) {
  Json list = {{"apiVersion", "v1"}, {"kind", "PodList"}, {"metadata", {{"resourceVersion", "7"}}}, {"items", Json::array()}};
  for (const Json& c : recorded("protobuf")) {
    if (str(c, {"json", "kind"}) == "Pod") list["items"].push_back(object_at(c, {"json"}));
  }
  ASSERT_GE(list["items"].size(), 2U);
  const auto encoded = encode_protobuf(list);
  ASSERT_TRUE(encoded) << encoded.error().message;
  auto decoded = decode_protobuf(*encoded, "", "");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(str(*decoded, {"metadata", "resourceVersion"}), "7");
  ASSERT_EQ(list_at(*decoded, {"items"}).size(), list["items"].size());
  EXPECT_EQ(name_of(list_at(*decoded, {"items"})[0]), name_of(list["items"][0]));
}

TEST(Protobuf, EventsAreFramedByLength) {
  const Json map = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "a"}}}, {"data", {{"k", "v"}}}};
  const auto envelope = encode_protobuf(map);
  ASSERT_TRUE(envelope);
  const auto frame = watch_frame("ADDED", *envelope);
  ASSERT_GT(frame.size(), envelope->size() + 4);
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(frame[at])); };
  EXPECT_EQ((byte(0) << 24U) + (byte(1) << 16U) + (byte(2) << 8U) + byte(3), frame.size() - 4);
  EXPECT_EQ(frame.substr(4, 7), std::string("\x0a\x05") + "ADDED");
  EXPECT_TRUE(frame.ends_with(*envelope));
}

TEST(Protobuf, OnlyWhatHasAProtobufFormIsWritten) {
  EXPECT_FALSE(encode_protobuf({{"apiVersion", "example.com/v1"}, {"kind", "Widget"}}));
  EXPECT_FALSE(encode_protobuf({{"apiVersion", "meta.k8s.io/v1"}, {"kind", "Table"}}));
  EXPECT_FALSE(encode_protobuf({{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"data", {{"a", 1}}}}));
  EXPECT_TRUE(has_protobuf("v1", "Status"));
  EXPECT_TRUE(has_protobuf("v1", "APIResourceList"));
  EXPECT_TRUE(has_protobuf("meta.k8s.io/v1", "PartialObjectMetadataList"));
}

}  // namespace
}  // namespace fleetadm::apimachinery
