#include <gtest/gtest.h>

#include "core/sandbox/types/decode.h"
#include "core/sandbox/types/defaults.h"
#include "core/sandbox/types/protobuf.h"
#include "kubeclient/pki/pki.h"
#include "tests/unit/core/sandbox/types/recorded.h"

namespace fleetadm::sandbox::types {
namespace {

// The same objects as kube-apiserver 1.35.4 answered them in protobuf and in JSON.
TEST(Protobuf, ReadsWhatARealServerWrites) {
  const Json record = recorded("protobuf.json");
  ASSERT_GE(record.size(), 30U);
  for (const Json& c : record) {
    const Json& wanted = object_at(c, {"json"});
    const auto bytes = pki::base64_decode(str(c, {"protobuf"}));
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

}  // namespace
}  // namespace fleetadm::sandbox::types
