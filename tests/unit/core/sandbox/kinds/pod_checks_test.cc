#include "core/sandbox/kinds/pod_checks.h"

#include "tests/unit/core/sandbox/controllers/lab.h"

namespace fleetadm::sandbox {
namespace {

class PodChecks : public ControllerLab {
 protected:
  /// "field: reason" of each complaint about a pod whose spec was changed.
  std::vector<std::string> complaints(const std::function<void(Json& spec)>& change_it) {
    Json pod = {{"metadata", {{"name", "p" + std::to_string(++count_)}}}, {"spec", pod_spec()}};
    change_it(pod["spec"]);
    const auto made = try_make("", "pods", std::move(pod));
    std::vector<std::string> out;
    if (made) return out;
    message_ = made.error().message;
    for (const Json& cause : list_at(made.error().details, {"causes"}))
      out.push_back(str(cause, {"field"}) + ": " + str(cause, {"reason"}));
    return out;
  }
  static Json& container(Json& spec) { return spec["containers"][0]; }

  int count_ = 0;
  std::string message_;
};
using Complaints = std::vector<std::string>;

TEST_F(PodChecks, TakeWhatIsInOrder) {
  EXPECT_EQ(complaints([](Json&) {}), Complaints());
  EXPECT_EQ(complaints([](Json& spec) {
              spec["volumes"] = Json::array({{{"name", "v"}, {"emptyDir", Json::object()}}});
              container(spec)["volumeMounts"] = Json::array({{{"name", "v"}, {"mountPath", "/v"}}});
              container(spec)["ports"] = Json::array({{{"containerPort", 80}}});
              container(spec)["resources"] = {{"requests", {{"cpu", "100m"}}}, {"limits", {{"cpu", "1"}}}};
            }),
            Complaints());
}

TEST_F(PodChecks, TellOfEveryFieldThatIsWrong) {
  EXPECT_EQ(complaints([](Json& spec) { spec["containers"] = Json::array(); }),
            Complaints{"spec.containers: FieldValueRequired"});
  EXPECT_EQ(complaints([](Json& spec) {
              container(spec)["name"] = "Not_A_Name";
              container(spec)["image"] = "";
              spec["restartPolicy"] = "Sometimes";
            }),
            (Complaints{"spec.containers[0].name: FieldValueInvalid", "spec.containers[0].image: FieldValueRequired",
                        "spec.restartPolicy: FieldValueNotSupported"}));
  EXPECT_EQ(complaints([](Json& spec) { spec["containers"].push_back(spec["containers"][0]); }),
            Complaints{"spec.containers[1].name: FieldValueDuplicate"});
  EXPECT_EQ(complaints([](Json& spec) {
              container(spec)["ports"] = Json::array({{{"containerPort", 70000}}});
            }),
            Complaints{"spec.containers[0].ports[0].containerPort: FieldValueInvalid"});
  EXPECT_EQ(complaints([](Json& spec) {
              container(spec)["volumeMounts"] = Json::array({{{"name", "none"}, {"mountPath", "/v"}}});
            }),
            Complaints{"spec.containers[0].volumeMounts[0].name: FieldValueNotFound"});
  EXPECT_EQ(complaints([](Json& spec) {
              container(spec)["resources"] = {{"requests", {{"cpu", "2"}}}, {"limits", {{"cpu", "1"}}}};
            }),
            Complaints{"spec.containers[0].resources.requests: FieldValueInvalid"});
  EXPECT_NE(message_.find("must be less than or equal to cpu limit of 1"), std::string::npos) << message_;
}

TEST_F(PodChecks, GiveAPodItsPriorityAndTolerations) {
  make("", "pods", {{"metadata", {{"name", "plain"}}}, {"spec", pod_spec()}});
  const Json plain = get("", "pods", "plain");
  EXPECT_EQ(num(plain, {"spec", "priority"}, -1), 0);
  EXPECT_EQ(str(plain, {"spec", "preemptionPolicy"}), "PreemptLowerPriority");
  EXPECT_EQ(list_at(plain, {"spec", "tolerations"}).size(), 2U);

  Json spec = pod_spec();
  spec["priorityClassName"] = "system-node-critical";
  spec["tolerations"] = Json::array({{{"operator", "Exists"}}});
  make("", "pods", {{"metadata", {{"name", "critical"}}}, {"spec", spec}});
  EXPECT_EQ(num(get("", "pods", "critical"), {"spec", "priority"}), 2000001000);
  EXPECT_EQ(list_at(get("", "pods", "critical"), {"spec", "tolerations"}).size(), 1U) << "it tolerates all already";

  spec["priorityClassName"] = "none";
  const auto refused = try_make("", "pods", {{"metadata", {{"name", "lost"}}}, {"spec", spec}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 403);
}

class NodePorts : public ControllerLab {
 protected:
  static Json service(const std::string& name, const char* type, const Json& ports) {
    return {{"metadata", {{"name", name}}}, {"spec", {{"type", type}, {"ports", ports}}}};
  }
  std::int64_t port_of(const std::string& name, std::size_t index = 0) {
    const Json found = get("", "services", name);
    const Json& ports = list_at(found, {"spec", "ports"});
    return index < ports.size() ? num(ports[index], {"nodePort"}) : -1;
  }
};

TEST_F(NodePorts, AreGivenKeptAndTakenAway) {
  make("", "services", service("open", "NodePort", Json::array({{{"name", "a"}, {"port", 80}}, {{"name", "b"}, {"port", 81}}})));
  const auto first = port_of("open");
  EXPECT_TRUE(first >= 30000 && first <= 32767) << first;
  EXPECT_NE(port_of("open", 1), first);
  edit("", "services", "open", [](Json& next) {
    for (Json& port : next["spec"]["ports"]) port.erase("nodePort");
  });
  EXPECT_EQ(port_of("open"), first) << "a client that does not know of it";
  edit("", "services", "open", [](Json& next) { next["spec"]["type"] = "ClusterIP"; });
  EXPECT_EQ(port_of("open"), 0);
}

TEST_F(NodePorts, AreHeldToTheirRangeAndToOneService) {
  make("", "services", service("one", "NodePort", Json::array({{{"port", 80}, {"nodePort", 30080}}})));
  const auto refused = [&](std::int64_t port) {
    const auto made = try_make("", "services", service("two", "NodePort", Json::array({{{"port", 80}, {"nodePort", port}}})));
    return made ? std::string() : made.error().message;
  };
  EXPECT_NE(refused(99).find("The range of valid ports is 30000-32767"), std::string::npos);
  EXPECT_NE(refused(30080).find("provided port is already allocated"), std::string::npos);
  EXPECT_EQ(refused(30081), "");
}

}  // namespace
}  // namespace fleetadm::sandbox
