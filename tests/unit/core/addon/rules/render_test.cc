// The hub's own conduct where templates are rendered: only what was decided, within bounds, and never out of a string.
#include "core/addon/rules/render.h"

#include <gtest/gtest.h>

#include "core/addon/rules/config_hash.h"
#include "core/addon/rules/names.h"
#include "core/addon/rules/substitution.h"

namespace fleetadm::addon {
namespace {

constexpr auto kStrict = rollout::Semantics::kStrict;
constexpr auto kUpstream = rollout::Semantics::kUpstream;

Json deployment_of(int containers) {
  Json list = Json::array();
  for (int i = 0; i < containers; ++i) list.push_back({{"name", "c" + std::to_string(i)}, {"image", "quay.io/x/y:1"}});
  return {{"apiVersion", "apps/v1"},
          {"kind", "Deployment"},
          {"metadata", {{"name", "agent"}, {"namespace", "ns"}}},
          {"spec", {{"template", {{"spec", {{"containers", list}}}}}}}};
}

/// An add-on "hello" of cluster "c1", configured with a template of these manifests and a configuration of this spec.
struct RenderWorld {
  MemoryObjects objects;
  Json addon;

  explicit RenderWorld(Json manifests, Json config = Json::object(), Json registration = nullptr) {
    Json made = {{"apiVersion", "addon.open-cluster-management.io/v1alpha1"},
                 {"kind", "AddOnTemplate"},
                 {"metadata", {{"name", "hello-1"}}},
                 {"spec", {{"addonName", "hello"}, {"agentSpec", {{"workload", {{"manifests", std::move(manifests)}}}}}}}};
    if (!registration.is_null()) made["spec"]["registration"] = std::move(registration);
    const Json settings = {{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
                           {"kind", "AddOnDeploymentConfig"},
                           {"metadata", {{"name", "config"}, {"namespace", "ns"}}},
                           {"spec", std::move(config)}};
    addon = {{"apiVersion", "addon.open-cluster-management.io/v1beta1"},
             {"kind", "ManagedClusterAddOn"},
             {"metadata", {{"name", "hello"}, {"namespace", "c1"}}}};
    Json& references = at_or_make(addon, {"status", "configReferences"});
    references = Json::array();
    references.push_back({{"group", kGroup},
                          {"resource", kTemplates},
                          {"desiredConfig", {{"name", "hello-1"}, {"specHash", config_spec_hash(made)}}}});
    references.push_back(
        {{"group", kGroup},
         {"resource", kDeploymentConfigs},
         {"desiredConfig", {{"name", "config"}, {"namespace", "ns"}, {"specHash", config_spec_hash(settings)}}}});
    objects.put(made);
    objects.put(settings);
  }

  void edit(const GroupResource& type, std::string_view ns, std::string_view name, Path path, Json value) {
    Json object = *objects.get(type, ns, name);
    at_or_make(object, path) = std::move(value);
    objects.put(object);
  }
  Result<Rendering> render(rollout::Semantics conduct = kStrict) const { return render_template(objects, addon, conduct); }
};

Json config_map(const std::string& value) {
  return {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "cm"}}}, {"data", {{"a", value}}}};
}
Json one_variable(const std::string& name, const std::string& value) {
  Json variables = Json::array();
  variables.push_back({{"name", name}, {"value", value}});
  return {{"customizedVariables", variables}};
}
Json list_of(Json manifest) {
  Json list = Json::array();
  list.push_back(std::move(manifest));
  return list;
}

TEST(AddonRender, ATemplateEditedInPlaceWaitsForTheRollout) {
  RenderWorld world(list_of(config_map("x")));
  ASSERT_TRUE(world.render());
  world.edit(addon_templates(), {}, "hello-1", {"spec", "agentSpec", "workload", "manifests"}, list_of(config_map("y")));
  const auto waits = world.render();
  ASSERT_FALSE(waits);
  EXPECT_EQ(waits.error().reason, kNotReleased);
  EXPECT_EQ(waits.error().message,
            "waiting for the rollout: AddOnTemplate hello-1 has changed since it was decided for this cluster");
  EXPECT_TRUE(world.render(kUpstream));
}

TEST(AddonRender, AConfigurationEditedInPlaceWaitsForTheRollout) {
  RenderWorld world(list_of(config_map("{{LEVEL}}")), one_variable("LEVEL", "info"));
  ASSERT_TRUE(world.render());
  world.edit(addon_deployment_configs(), "ns", "config", {"spec"}, one_variable("LEVEL", "debug"));
  const auto waits = world.render();
  ASSERT_FALSE(waits);
  EXPECT_EQ(waits.error().reason, kNotReleased);
  // What is being removed is rendered as it is now: its hooks have to run.
  at_or_make(world.addon, {"metadata", "deletionTimestamp"}) = "2026-01-01T00:00:00Z";
  const auto removed = world.render();
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(str(removed->manifests.at(0), {"data", "a"}), "debug");
}

TEST(AddonRender, AValueDoesNotLeaveItsString) {
  const auto rendered = [](const std::string& value, rollout::Semantics conduct) {
    return RenderWorld(list_of(config_map("<{{V}}>")), one_variable("V", value)).render(conduct);
  };
  for (const char* value : {R"(","b":"injected)", R"(")", "\\", "line\nbreak", R"(\x)"}) {
    EXPECT_FALSE(rendered(value, kStrict)) << value;
  }
  EXPECT_TRUE(rendered(R"(","b":"injected)", kUpstream));
  // What upstream's users have to write for a quote means the same here.
  const auto escaped = rendered(R"(say \"hi\"\n)", kStrict);
  ASSERT_TRUE(escaped) << escaped.error().message;
  EXPECT_EQ(str(escaped->manifests.at(0), {"data", "a"}), "<say \"hi\"\n>");
  EXPECT_EQ(rendered(R"(say \"hi\"\n)", kUpstream)->manifests, escaped->manifests);
}

TEST(AddonRender, AnOpenVariableIsAnError) {
  for (const char* value : {"{{", "{{LEVEL", "a {{ b"}) {
    const auto refused = RenderWorld(list_of(config_map(value))).render();
    ASSERT_FALSE(refused) << value;
    EXPECT_TRUE(refused.error().message.starts_with("{{ without }}")) << refused.error().message;
    EXPECT_FALSE(RenderWorld(list_of(config_map(value))).render(kUpstream)) << value;
  }
}

TEST(AddonRender, ValuesAreNotSubstitutedAgain) {
  const RenderWorld world(list_of(config_map("{{A}}")), one_variable("A", "{{A}}{{A}}"));
  const auto rendered = world.render();
  ASSERT_TRUE(rendered) << rendered.error().message;
  EXPECT_EQ(str(rendered->manifests.at(0), {"data", "a"}), "{{A}}{{A}}");
}

TEST(AddonRender, LargeValuesAndManifestsAreRefused) {
  const auto value =
      RenderWorld(list_of(config_map("{{V}}")), one_variable("V", std::string(kMaxVariableBytes + 1, 'x'))).render();
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().message, "the value of V is larger than 64 KiB");
  std::string many;
  for (int i = 0; i < 100; ++i) many += "{{V}}";
  for (const auto conduct : {kStrict, kUpstream}) {
    const auto whole =
        RenderWorld(list_of(config_map(many)), one_variable("V", std::string(kMaxVariableBytes, 'x'))).render(conduct);
    ASSERT_FALSE(whole);
    EXPECT_EQ(whole.error().message, "the manifests are larger than 4194304 bytes with their variables");
  }
}

TEST(AddonRender, ManyContainersTimesManySettingsAreRefused) {
  Json mirrors = Json::array();
  Json rules = Json::array();
  Json registration = Json::array();
  for (int i = 0; i < 2000; ++i) {
    mirrors.push_back({{"source", "quay.io"}, {"mirror", "m" + std::to_string(i)}});
    rules.push_back({{"containerID", "*:*:*"}, {"resources", {{"limits", {{"cpu", "1"}}}}}});
    registration.push_back({{"type", "KubeClient"}});
  }
  const Json containers = list_of(deployment_of(2000));
  const Json proxy = {{"proxyConfig", {{"noProxy", std::string(5000, 'x')}}}};
  for (const RenderWorld& world :
       {RenderWorld(containers, {{"registries", mirrors}}), RenderWorld(containers, {{"resourceRequirements", rules}}),
        RenderWorld(containers, proxy), RenderWorld(containers, Json::object(), registration)}) {
    const auto refused = world.render();
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().message.starts_with("the manifests have too many containers to be decorated"))
        << refused.error().message;
  }
  // Workloads count together.
  Json workloads = Json::array();
  for (int i = 0; i < 2000; ++i) workloads.push_back(deployment_of(1));
  EXPECT_FALSE(RenderWorld(workloads, {{"registries", mirrors}}).render());
  EXPECT_TRUE(RenderWorld(workloads).render());
}

TEST(AddonRender, DeepManifestsAreRenderedOrRefused) {
  Json deep = "{{CLUSTER_NAME}}";
  for (int i = 0; i < kMaxJsonDepth - 20; ++i) deep = list_of(std::move(deep));
  Json manifest = config_map("x");
  manifest["data"]["deep"] = deep;
  EXPECT_TRUE(RenderWorld(list_of(manifest)).render());
  Json workload = deployment_of(1);
  workload["spec"]["deep"] = deep;  // a field that the type does not have
  const auto rendered = RenderWorld(list_of(workload)).render();
  ASSERT_TRUE(rendered) << rendered.error().message;
  EXPECT_FALSE(rendered->manifests.at(0)["spec"].contains("deep"));
  // A value may bring in levels of its own where values are taken as they are.
  const std::string opening(600, '[');
  const std::string closing(600, ']');
  EXPECT_FALSE(RenderWorld(list_of(config_map("{{V}}")),
                           one_variable("V", "\"," + std::string("\"b\":") + opening + closing + ",\"c\":\""))
                   .render(kUpstream));
}

TEST(AddonRender, NamesThatLeaveTheirPathAreRefused) {
  for (const char* name : {"../../secrets/x", "..", ".", "a%2fb"}) {
    Json manifest = config_map("x");
    manifest["metadata"]["name"] = name;
    EXPECT_FALSE(RenderWorld(list_of(manifest)).render()) << name;
    manifest = config_map("x");
    manifest["metadata"]["namespace"] = "{{NS}}";
    EXPECT_FALSE(RenderWorld(list_of(manifest), one_variable("NS", name)).render()) << name;
  }
  EXPECT_TRUE(RenderWorld(list_of(config_map("x"))).render());
}

TEST(AddonRender, ACustomSignerOfKubernetesIsRefused) {
  Json registration = Json::array();
  registration.push_back({{"type", "CustomSigner"}, {"customSigner", {{"signerName", "kubernetes.io/kube-apiserver-client"}}}});
  const RenderWorld world(list_of(config_map("x")), Json::object(), registration);
  ASSERT_FALSE(world.render());
  EXPECT_TRUE(world.render(kUpstream));
}

TEST(AddonRender, TheManifestConfigsAreThoseOfTheTemplateInUse) {
  RenderWorld world(list_of(config_map("x")));
  Json configs = Json::array();
  configs.push_back({{"resourceIdentifier", {{"resource", "configmaps"}, {"name", "cm"}}}});
  world.edit(addon_templates(), {}, "hello-1", {"spec", "agentSpec", "manifestConfigs"}, configs);
  at_or_make(world.addon, {"metadata", "deletionTimestamp"}) = "2026-01-01T00:00:00Z";
  EXPECT_EQ(world.render()->manifest_configs, configs);
  // The declaration names no default template: upstream finds none.
  EXPECT_EQ(world.render(kUpstream)->manifest_configs, Json::array());
}

}  // namespace
}  // namespace fleetadm::addon
