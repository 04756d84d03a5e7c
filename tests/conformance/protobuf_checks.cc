// Answers in protobuf (docs/reference/kubernetes-api.md#protobuf): the same negotiation and the same framing from both servers.
#include <gtest/gtest.h>

#include "core/apimachinery/protobuf.h"
#include "tests/conformance/lab.h"

namespace fleetadm::conformance {
namespace {

constexpr const char* kBinary = "application/vnd.kubernetes.protobuf";

Json binary_decoded(const Answer& answer) {
  const auto object = apimachinery::decode_protobuf(answer.body, "", "");
  EXPECT_TRUE(object) << object.error().message << ": " << answer.body;
  return object ? *object : Json();
}

void binary_objects_and_lists(Lab& lab) {
  expect(lab.post(lab.maps(), lab.config_map("a")), 201);
  const auto one = lab.get(lab.maps() + "/a", kBinary);
  expect(one, 200);
  EXPECT_EQ(one.headers.at("content-type"), kBinary);
  EXPECT_EQ(str(binary_decoded(one), {"data", "a"}), "1");
  const auto list = lab.get(lab.maps() + "?limit=500", std::string(kBinary) + ",application/json");
  expect(list, 200);
  EXPECT_EQ(list.headers.at("content-type"), kBinary);
  const Json all = binary_decoded(list);
  EXPECT_EQ(str(all, {"kind"}), "ConfigMapList");
  EXPECT_FALSE(str(all, {"metadata", "resourceVersion"}).empty());
  EXPECT_FALSE(list_at(all, {"items"}).empty());
}

void binary_errors(Lab& lab) {
  const auto gone = lab.get(lab.maps() + "/none", kBinary);
  EXPECT_EQ(gone.status, 404);
  const Json status = binary_decoded(gone);
  EXPECT_EQ(str(status, {"kind"}), "Status");
  EXPECT_EQ(str(status, {"reason"}), "NotFound");
  EXPECT_EQ(str(status, {"details", "name"}), "none");
}

void binary_watches(Lab& lab) {
  expect(lab.post(lab.maps(), lab.config_map("w")), 201);
  const auto watch = lab.get(lab.maps() + "?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dw", kBinary);
  EXPECT_EQ(watch.headers.at("content-type"), std::string(kBinary) + ";stream=watch");
  const auto& body = watch.body;
  ASSERT_GT(body.size(), 12U);
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i) size = (size << 8U) | static_cast<unsigned char>(body[i]);
  ASSERT_GE(body.size(), size + 4);
  EXPECT_EQ(body.substr(4, 7), std::string("\x0a\x05") + "ADDED");
  const auto envelope = body.find(std::string_view("k8s\0", 4));
  ASSERT_NE(envelope, std::string::npos);
  const auto object = apimachinery::decode_protobuf(std::string_view(body).substr(envelope, size + 4 - envelope), "", "");
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(name_of(*object), "w");
}

void binary_metadata(Lab& lab) {
  lab.need_widgets();
  expect(lab.post(lab.widgets(), lab.widget("m")), 201);
  const std::string partial = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
  const auto metadata = lab.get(lab.widgets() + "/m", kBinary + partial + ",application/json" + partial);
  expect(metadata, 200);
  EXPECT_EQ(metadata.headers.at("content-type").substr(0, std::string_view(kBinary).size()), kBinary);
  EXPECT_EQ(name_of(binary_decoded(metadata)), "m");
  // Custom resources have no protobuf form of their own, and tables have none at all.
  EXPECT_EQ(lab.get(lab.widgets() + "/m", kBinary).status, 406);
  const auto json = lab.get(lab.widgets() + "/m", std::string(kBinary) + ",application/json");
  EXPECT_EQ(name_of(json.json()), "m");
  const auto table = lab.get(lab.maps(), std::string(kBinary) + ";as=Table;v=v1;g=meta.k8s.io," + kTable);
  EXPECT_EQ(str(table.json(), {"kind"}), "Table");
}

}  // namespace

std::vector<Check> protobuf_checks() {
  return {{"P1_ObjectsAndLists", "objects and lists are answered in protobuf where it is preferred", binary_objects_and_lists},
          {"P2_Errors", "an error is a Status in the same form", binary_errors},
          {"P3_Watches", "events of a watch are framed by their length", binary_watches},
          {"P4_MetadataAndTables", "partial metadata of any kind, but no tables and no custom resources", binary_metadata}};
}

}  // namespace fleetadm::conformance
