#include "core/install/pod_settings.h"

#include <gtest/gtest.h>

#include "templates/templates.h"

namespace fleetadm::install {
namespace {

std::vector<Json> deployed() {
  auto rendered = templates::render("agent/deployment.yaml", {{"image", "x"}, {"args", Json::array()}});
  EXPECT_TRUE(rendered) << rendered.error().message;
  return rendered ? *rendered : std::vector<Json>{};
}

std::string variable(const Json& container, std::string_view name) {
  for (const Json& one : list_at(container, {"env"})) {
    if (str(one, {"name"}) == name) return str(one, {"value"});
  }
  return "none";
}

TEST(PodSettingsTest, WhatIsNotGivenIsNotSaid) {
  std::vector<Json> objects = deployed();
  const std::vector<Json> before = objects;
  set_pod_settings(objects, {});
  EXPECT_EQ(objects, before);
}

TEST(PodSettingsTest, PodsGetTheirPlaceAndTheirProxy) {
  std::vector<Json> objects = deployed();
  objects.push_back({{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", {{"name", "x"}}}});
  PodSettings settings;
  settings.node_selector = {{"role", "infra"}};
  settings.tolerations = Json::array({{{"key", "infra"}, {"operator", "Exists"}}});
  settings.priority_class = "fleet";
  settings.https_proxy = "http://proxy:3128";
  settings.no_proxy = "hub.example.com";
  settings.resources = {{"limits", {{"memory", "1Gi"}}}};
  settings.host_aliases = Json::array({{{"ip", "10.0.0.1"}, {"hostnames", {"hub"}}}});
  set_pod_settings(objects, settings);
  const Json& pod = object_at(objects[0], {"spec", "template", "spec"});
  EXPECT_EQ(pod["nodeSelector"], settings.node_selector);
  EXPECT_EQ(pod["tolerations"], settings.tolerations);
  EXPECT_EQ(pod["priorityClassName"], "fleet");
  const Json& container = pod["containers"][0];
  EXPECT_EQ(variable(container, "HTTPS_PROXY"), "http://proxy:3128");
  EXPECT_EQ(variable(container, "HTTP_PROXY"), "none");
  const std::string direct = variable(container, "NO_PROXY");
  EXPECT_TRUE(direct.starts_with("$(KUBERNETES_SERVICE_HOST),")) << direct;
  EXPECT_TRUE(direct.ends_with(",hub.example.com")) << direct;
  EXPECT_EQ(container["resources"], settings.resources);
  EXPECT_EQ(pod["hostAliases"], settings.host_aliases);
  EXPECT_EQ(annotation_of(objects[0], kOwnResources), "true");
  EXPECT_EQ(objects[1].size(), 3U);
}

}  // namespace
}  // namespace fleetadm::install
