#include "core/apimachinery/protobuf.h"

#include <gtest/gtest.h>

namespace fleetadm::apimachinery {
namespace {

std::string field(int number, std::string_view bytes) {
  std::string out;
  const auto tag = static_cast<unsigned>(number) << 3U | 2U;
  if (tag < 128) {
    out += static_cast<char>(tag);
  } else {
    out += static_cast<char>((tag & 127U) | 128U);
    out += static_cast<char>(tag >> 7U);
  }
  std::size_t size = bytes.size();
  while (size >= 128) {
    out += static_cast<char>((size & 127U) | 128U);
    size >>= 7U;
  }
  out += static_cast<char>(size);
  return out.append(bytes);
}
std::string number(int field_number, unsigned char value) {
  return {static_cast<char>(field_number << 3), static_cast<char>(value)};
}
std::string envelope(std::string_view api_version, std::string_view kind, std::string_view raw) {
  return std::string("k8s\0", 4) + field(1, field(1, api_version) + field(2, kind)) + field(2, raw);
}

TEST(Types, FactsKnowKindsTheirListsAndInlinedFields) {
  const TypeNode* pod = find_kind("v1", "Pod");
  ASSERT_NE(pod, nullptr);
  const FieldType* spec = pod->type()->find("spec");
  ASSERT_NE(spec, nullptr);
  const FieldType* containers = spec->node.type()->find("containers");
  ASSERT_NE(containers, nullptr);
  EXPECT_EQ(containers->node.list_type, ListType::kMap);
  EXPECT_EQ(containers->node.keys, std::vector<std::string>{"name"});
  EXPECT_TRUE(containers->node.patch_merge);
  const FieldType* ports = containers->node.element->type()->find("ports");
  ASSERT_NE(ports, nullptr);
  ASSERT_EQ(ports->node.key_defaults.size(), 2U);  // the port's is its zero value
  EXPECT_EQ(ports->node.key_defaults[1].second, "TCP");
  const FieldType* volumes = spec->node.type()->find("volumes");
  EXPECT_TRUE(volumes->node.patch_retain_keys);
  EXPECT_NE(volumes->node.element->type()->find("emptyDir"), nullptr);
  EXPECT_TRUE(spec->node.type()->find("nodeSelector")->node.atomic);
  EXPECT_TRUE(find_kind("apps/v1", "Deployment")->type()->find("spec")->node.type()->find("selector")->node.atomic);
  EXPECT_EQ(find_kind("apps/v1", "DeploymentSpec"), nullptr);
  EXPECT_EQ(find_kind("example.com/v1", "Widget"), nullptr);
  EXPECT_EQ(package_of("rbac.authorization.k8s.io", "v1"), "rbac/v1");
}

TEST(Types, EveryMessageThatIsNamedIsKnown) {
  for (const std::string_view package :
       {"core/v1", "apps/v1", "batch/v1", "meta/v1", "apiextensions/v1", "resource/v1", "storage/v1"}) {
    for (const std::string_view name : kinds_of(package)) {
      const StructType* type = find_message(name);
      ASSERT_NE(type, nullptr) << name;
      for (const FieldType* member : type->fields) {
        const TypeNode* node = &member->node;
        while (node->element != nullptr) node = node->element;
        if (node->form == Form::kStruct) {
          EXPECT_NE(node->type(), nullptr) << name << "." << member->name;
        }
      }
    }
  }
}

TEST(Protobuf, DecodesMetadataMapsTimesAndInlinedMessages) {
  const std::string meta = field(1, "web") + field(3, "") + field(8, number(1, 60)) +
                           field(11, field(1, "app") + field(2, "web")) + field(14, "a/b") + field(14, "c");
  const std::string probe = field(1, field(2, field(1, "/healthz") + field(2, number(1, 0) + number(2, 80)))) + number(3, 5);
  const std::string container = field(1, "c") + field(6, field(1, "") + number(3, 80) + field(4, "TCP")) + field(10, probe) +
                                std::string("\x80\x01\x00", 3);
  const std::string volume = field(1, "v") + field(2, field(2, field(1, "")));
  const std::string spec = field(1, volume) + field(2, container) + field(99, "ignored") + field(7, field(1, "disk"));
  const auto decoded = decode_protobuf(envelope("v1", "Pod", field(1, meta) + field(2, spec)), "", "");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(
      dump_json(*decoded),
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"creationTimestamp":"1970-01-01T00:01:00Z","finalizers":["a/b","c"],)"
      R"("labels":{"app":"web"},"name":"web"},"spec":{"containers":[{"livenessProbe":{"httpGet":{"path":"/healthz","port":80},)"
      R"("timeoutSeconds":5},"name":"c","ports":[{"containerPort":80,"protocol":"TCP"}]}],"nodeSelector":{"disk":""},)"
      R"("volumes":[{"emptyDir":{},"name":"v"}]}})");
}

TEST(Protobuf, TakesTheEndpointsKindAndSecretsBytes) {
  const auto decoded = decode_protobuf(envelope("", "", field(2, field(1, "k") + field(2, "\x01\x02"))), "v1", "Secret");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(str(*decoded, {"data", "k"}), "AQI=");
  EXPECT_EQ(str(*decoded, {"kind"}), "Secret");
}

TEST(Protobuf, HostileBodiesEndInErrors) {
  EXPECT_EQ(decode_protobuf("{}", "v1", "Pod").error().code, 400);
  EXPECT_EQ(decode_protobuf(envelope("example.com/v1", "Widget", ""), "", "").error().code, 415);
  const std::string good = envelope("v1", "Pod", field(1, field(1, "web")) + field(2, field(2, field(1, "c"))));
  for (std::size_t size = 4; size < good.size(); ++size) {
    const auto cut = decode_protobuf(std::string_view(good).substr(0, size), "v1", "Pod");
    if (!cut) {
      EXPECT_EQ(cut.error().category, Category::kInvalid);
    }
  }
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep = field(28, deep);  // JSONSchemaProps.not
  std::string crd = field(2, field(7, field(4, field(1, deep)) + field(1, "v1")));
  const auto refused = decode_protobuf(envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", crd), "", "");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("too deep"), std::string::npos);
  std::string many;
  for (std::size_t i = 0; i <= kMaxProtobufValues; ++i) many += field(14, "");
  EXPECT_FALSE(decode_protobuf(envelope("v1", "ConfigMap", field(1, many)), "", ""));
}

}  // namespace
}  // namespace fleetadm::apimachinery
