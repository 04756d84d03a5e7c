#include "core/proxy/rules/exposed_services.h"

#include <gtest/gtest.h>

namespace fleetadm::proxy {
namespace {

Json map_of(std::string text) { return {{"data", {{"services.yaml", std::move(text)}}}}; }
const ServiceTarget kWeb{"ns1", "web", "https", "8443"};

TEST(ExposedServices, NothingIsExposedUnlessItIsListed) {
  for (const Json& map : {Json::object(), Json{{"data", nullptr}}, map_of(""), map_of("[]")}) {
    const auto list = ExposedServices::parse(map);
    ASSERT_TRUE(list);
    EXPECT_FALSE(list->allows("c1", kWeb));
  }
}

TEST(ExposedServices, AMissingPortOrProtocolMatchesAny) {
  const auto list = ExposedServices::parse(
      map_of("- {namespace: ns1, service: web}\n- {namespace: ns1, service: api, port: 80, protocol: http}\n"));
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->allows("c1", kWeb));
  EXPECT_TRUE(list->allows("c2", {"ns1", "web", "http", "metrics"}));
  EXPECT_FALSE(list->allows("c1", {"ns2", "web", "https", "8443"}));
  EXPECT_TRUE(list->allows("c1", {"ns1", "api", "http", "80"}));
  EXPECT_FALSE(list->allows("c1", {"ns1", "api", "https", "80"}));
  EXPECT_FALSE(list->allows("c1", {"ns1", "api", "http", "81"}));
}

TEST(ExposedServices, AnEntryCanBeForSomeClustersOnly) {
  const auto list = ExposedServices::parse(map_of("- {namespace: ns1, service: web, clusters: [c1, c3]}\n"));
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->allows("c1", kWeb));
  EXPECT_FALSE(list->allows("c2", kWeb));
}

TEST(ExposedServices, EveryKeyCounts) {
  const Json map = {
      {"data", {{"a", "- {namespace: ns1, service: web}"}, {"b", "- {namespace: ns1, service: api, port: \"80\"}"}}}};
  const auto list = ExposedServices::parse(map);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->size(), 2U);
  EXPECT_TRUE(list->allows("c1", {"ns1", "api", "https", "80"}));
}

TEST(ExposedServices, AListThatIsWrongAnywhereIsNoneAndTheFieldIsNamed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{", "services.yaml"},
      {"a: b", "services.yaml"},
      {"- web", "services.yaml[0]"},
      {"- {namespace: ns1}", "services.yaml[0].service"},
      {"- {service: web}", "services.yaml[0].namespace"},
      {"- {namespace: ns1, service: web}\n- {namespace: ns1, service: web, prot: http}", "services.yaml[1].prot"},
      {"- {namespace: ns1, service: web, protocol: ftp}", "services.yaml[0].protocol"},
      {"- {namespace: ns1, service: web, port: [1]}", "services.yaml[0].port"},
      {"- {namespace: ns1, service: web, clusters: []}", "services.yaml[0].clusters"},
      {"- {namespace: ns1, service: web, clusters: c1}", "services.yaml[0].clusters"},
      {"- {namespace: ns1, service: \"*\"}", "services.yaml[0].service"},
  };
  for (const auto& [text, field] : cases) {
    const auto list = ExposedServices::parse(map_of(text));
    ASSERT_FALSE(list) << text;
    EXPECT_NE(list.error().message.find(field), std::string::npos) << list.error().message;
  }
}

}  // namespace
}  // namespace fleetadm::proxy
