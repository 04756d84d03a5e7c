#include "tests/unit/core/sandbox/controllers/lab.h"

namespace fleetadm::sandbox {
namespace {

class Services : public ControllerLab {
 protected:
  void pod(const std::string& name, const char* phase, const std::string& ip) {
    Json spec = pod_spec();
    spec["containers"][0]["ports"] = Json::array({{{"name", "web"}, {"containerPort", 8080}}});
    make("", "pods", {{"metadata", {{"name", name}, {"labels", {{"app", "s"}}}}}, {"spec", std::move(spec)}});
    set_pod(name, phase, ip);
  }
  void service(const Json& more = Json::object()) {
    Json spec = {{"selector", {{"app", "s"}}}, {"ports", Json::array({{{"name", "http"}, {"port", 80}, {"targetPort", "web"}}})}};
    spec.update(more);
    make("", "services", {{"metadata", {{"name", "s"}, {"labels", {{"kept", "yes"}}}}}, {"spec", std::move(spec)}});
  }
  void sync() { sync_service(context(), "default", "s"); }
  std::vector<Json> slices() {
    std::vector<Json> out;
    for (Json& one : all("discovery.k8s.io", "endpointslices")) {
      if (label_of(one, "kubernetes.io/service-name") == "s") out.push_back(std::move(one));
    }
    return out;
  }
};

TEST_F(Services, HaveTheAddressesOfTheirPods) {
  pod("a", "Running", "10.0.0.1");
  pod("b", "Pending", "10.0.0.2");
  pod("c", "Succeeded", "10.0.0.3");
  service();
  sync();
  const Json endpoints = get("", "endpoints", "s");
  ASSERT_EQ(list_at(endpoints, {"subsets"}).size(), 1U);
  const Json& subset = list_at(endpoints, {"subsets"}).front();
  ASSERT_EQ(list_at(subset, {"addresses"}).size(), 1U);
  EXPECT_EQ(str(list_at(subset, {"addresses"}).front(), {"ip"}), "10.0.0.1");
  EXPECT_EQ(str(list_at(subset, {"addresses"}).front(), {"targetRef", "name"}), "a");
  ASSERT_EQ(list_at(subset, {"notReadyAddresses"}).size(), 1U);
  EXPECT_EQ(num(list_at(subset, {"ports"}).front(), {"port"}), 8080);
  EXPECT_EQ(label_of(endpoints, "kept"), "yes");

  ASSERT_EQ(slices().size(), 1U);
  const Json slice = slices().front();
  EXPECT_EQ(label_of(slice, "endpointslice.kubernetes.io/managed-by"), "endpointslice-controller.k8s.io");
  EXPECT_EQ(controller_uid(slice), uid_of(get("", "services", "s")));
  EXPECT_EQ(str(list_at(slice, {"ports"}).front(), {"name"}), "http");
  const Json& known = list_at(slice, {"endpoints"});
  ASSERT_EQ(known.size(), 2U);
  EXPECT_TRUE(flag(known.front(), {"conditions", "ready"}));
  EXPECT_FALSE(flag(known.back(), {"conditions", "ready"}, true));

  const auto version = resource_version_of(slice);
  sync();
  EXPECT_EQ(resource_version_of(slices().front()), version) << "nothing new, nothing written";
}

TEST_F(Services, MayTellOfPodsThatAreNotReady) {
  pod("a", "Pending", "10.0.0.1");
  service({{"publishNotReadyAddresses", true}, {"clusterIP", "None"}});
  sync();
  const Json endpoints = get("", "endpoints", "s");
  EXPECT_EQ(list_at(list_at(endpoints, {"subsets"}).front(), {"addresses"}).size(), 1U);
  EXPECT_TRUE(object_at(endpoints, {"metadata", "labels"}).contains("service.kubernetes.io/headless"));
  EXPECT_TRUE(flag(list_at(slices().front(), {"endpoints"}).front(), {"conditions", "ready"}));
}

TEST_F(Services, HaveAnEmptySliceWithoutPodsAndNothingWithoutASelector) {
  service();
  sync();
  ASSERT_EQ(slices().size(), 1U);
  EXPECT_TRUE(list_at(slices().front(), {"endpoints"}).empty());
  EXPECT_TRUE(list_at(get("", "endpoints", "s"), {"subsets"}).empty());
  make("", "services", {{"metadata", {{"name", "plain"}}}, {"spec", {{"ports", Json::array({{{"port", 80}}})}}}});
  sync_service(context(), "default", "plain");
  EXPECT_FALSE(engine().get(*kind("", "endpoints"), "default", "plain"));
}

TEST_F(Services, HaveAsManySlicesAsTheirPodsNeed) {
  for (int i = 0; i < 101; ++i) pod("p" + std::to_string(i), "Running", "10.0.1." + std::to_string(i));
  service();
  sync();
  ASSERT_EQ(slices().size(), 2U);
  for (int i = 0; i < 101; ++i) set_pod("p" + std::to_string(i), "Failed");
  sync();
  EXPECT_EQ(slices().size(), 1U);
}

TEST_F(Services, EndpointsGoWithTheirService) {
  service();
  sync();
  remove(context(), *kind("", "services"), get("", "services", "s"));
  sync();
  EXPECT_FALSE(engine().get(*kind("", "endpoints"), "default", "s"));
}

}  // namespace
}  // namespace fleetadm::sandbox
