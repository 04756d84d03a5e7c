// I, M: what updates may not change; quotas and limits; what is made of CronJobs and Services.
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/conformance/lab.h"

namespace fleetadm::conformance {
namespace {

const char* const kImage = "registry.example.com/nothing:1";

std::string batch(const Lab& lab, const std::string& plural) { return "/apis/batch/v1/namespaces/" + lab.ns() + "/" + plural; }

Json pod_spec(const char* policy) {
  return {{"restartPolicy", policy}, {"containers", Json::array({{{"name", "c"}, {"image", kImage}}})}};
}
Json job(const std::string& name, const Json& more = Json::object()) {
  Json spec = {{"suspend", true}, {"template", {{"spec", pod_spec("Never")}}}};
  spec.update(more);
  return {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", {{"name", name}}}, {"spec", std::move(spec)}};
}
Json cron_job(const std::string& name, const Json& more) {
  Json spec = {
      {"schedule", "0 0 1 1 *"}, {"suspend", true}, {"jobTemplate", {{"spec", {{"template", {{"spec", pod_spec("Never")}}}}}}}};
  spec.update(more);
  return {{"apiVersion", "batch/v1"}, {"kind", "CronJob"}, {"metadata", {{"name", name}}}, {"spec", std::move(spec)}};
}
Json object(const char* version, const char* kind, const std::string& name, Json content) {
  content["apiVersion"] = version;
  content["kind"] = kind;
  content["metadata"] = {{"name", name}};
  return content;
}
/// The causes of a refusal: "field reason". What is wrong with a Job as such a real server says twice.
std::vector<std::string> refusals_of(const Answer& answer) {
  std::vector<std::string> out;
  for (const Json& cause : list_at(answer.json(), {"details", "causes"})) {
    auto one = str(cause, {"field"}) + " " + str(cause, {"reason"});
    if (std::find(out.begin(), out.end(), one) == out.end()) out.push_back(std::move(one));
  }
  return out;
}
using Refusals = std::vector<std::string>;

void kept01(Lab& lab) {
  expect(lab.post(batch(lab, "jobs"), job("j")), 201);
  const Json container = {{"name", "c"}, {"image", "registry.example.com/nothing:2"}};
  const auto answer = lab.strategic(batch(lab, "jobs") + "/j",
                                    {{"spec", {{"template", {{"spec", {{"containers", Json::array({container})}}}}}}}});
  expect(answer, 422, "Invalid");
  EXPECT_EQ(refusals_of(answer), Refusals{"spec.template FieldValueInvalid"});
  EXPECT_NE(answer.message().find("field is immutable"), std::string::npos);
}
void kept02(Lab& lab) {
  expect(lab.post(batch(lab, "jobs"), job("j")), 201);
  Answer answer;
  EXPECT_TRUE(lab.eventually([&] {  // its controller writes it, too
    Json bare = job("j");
    bare["metadata"]["resourceVersion"] = resource_version_of(lab.get(batch(lab, "jobs") + "/j").json());
    answer = lab.put(batch(lab, "jobs") + "/j", bare);
    return answer.status != 409;
  }));
  expect(answer, 422, "Invalid");
  EXPECT_EQ(refusals_of(answer), (Refusals{"spec.selector FieldValueRequired", "spec.template.metadata.labels FieldValueInvalid",
                                           "spec.selector FieldValueInvalid"}));
}
void kept03(Lab& lab) {
  expect(lab.post(batch(lab, "jobs"), job("j")), 201);
  expect(lab.merge(batch(lab, "jobs") + "/j", {{"spec", {{"template", {{"spec", {{"nodeSelector", {{"a", "b"}}}}}}}}}}), 200);
  EXPECT_EQ(refusals_of(lab.merge(batch(lab, "jobs") + "/j", {{"spec", {{"completions", 3}}}})),
            Refusals{"spec.completions FieldValueInvalid"});
}
void kept04(Lab& lab) {
  Json always = job("j");
  always["spec"]["template"]["spec"]["restartPolicy"] = "Always";
  const auto answer = lab.post(batch(lab, "jobs"), always);
  expect(answer, 422, "Invalid");
  EXPECT_EQ(
      answer.message(),
      "Job.batch \"j\" is invalid: spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"");
}
void kept05(Lab& lab) {
  expect(lab.post(lab.apps("deployments"), lab.deployment("d")), 201);
  Json other = lab.get(lab.apps("deployments") + "/d").json();
  other["spec"]["selector"]["matchLabels"] = {{"app", "other"}};
  other["spec"]["template"]["metadata"]["labels"] = {{"app", "other"}};
  erase_at(other, {"metadata", "resourceVersion"});
  const auto answer = lab.put(lab.apps("deployments") + "/d", other);
  expect(answer, 422, "Invalid");
  EXPECT_EQ(refusals_of(answer), Refusals{"spec.selector FieldValueInvalid"});
}
void kept06(Lab& lab) {
  const Json labels = {{"a", "b"}};
  const Json set = object("apps/v1", "StatefulSet", "s",
                          {{"spec",
                            {{"replicas", 0},
                             {"serviceName", "s"},
                             {"selector", {{"matchLabels", labels}}},
                             {"template", {{"metadata", {{"labels", labels}}}, {"spec", pod_spec("Always")}}}}}});
  expect(lab.post(lab.apps("statefulsets"), set), 201);
  const auto answer = lab.merge(lab.apps("statefulsets") + "/s", {{"spec", {{"serviceName", "t"}}}});
  expect(answer, 422, "Invalid");
  EXPECT_EQ(answer.message(),
            "StatefulSet.apps \"s\" is invalid: spec: Forbidden: updates to statefulset spec for fields other than 'replicas', "
            "'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
            "'minReadySeconds' are forbidden");
  expect(lab.merge(lab.apps("statefulsets") + "/s", {{"spec", {{"minReadySeconds", 3}}}}), 200);
}
void kept07(Lab& lab) {
  lab.create_pod(object("v1", "Pod", "p", {{"spec", pod_spec("Always")}}));
  const auto path = lab.core("pods") + "/p";
  const Json container = {{"name", "c"}, {"image", "registry.example.com/nothing:2"}};
  expect(lab.strategic(path, {{"spec", {{"containers", Json::array({container})}}}}), 200);
  const auto answer = lab.merge(path, {{"spec", {{"hostname", "h"}}}});
  expect(answer, 422, "Invalid");
  EXPECT_EQ(refusals_of(answer), Refusals{"spec FieldValueForbidden"});
  EXPECT_NE(answer.message().find("pod updates may not change fields other than `spec.containers[*].image`,"), std::string::npos);
  expect(lab.merge(path, {{"spec", {{"activeDeadlineSeconds", 60}}}}), 200);
  EXPECT_EQ(refusals_of(lab.merge(path, {{"spec", {{"activeDeadlineSeconds", 61}}}})),
            Refusals{"spec.activeDeadlineSeconds FieldValueInvalid"});
}
Json service(const Json& more) {
  Json spec = {{"ports", Json::array({{{"port", 80}}})}};
  spec.update(more);
  return object("v1", "Service", "s", {{"spec", std::move(spec)}});
}
void kept08(Lab& lab) {
  const Json made = lab.post(lab.core("services"), service(Json::object())).json();
  const auto address = str(made, {"spec", "clusterIP"});
  EXPECT_FALSE(address.empty());
  EXPECT_EQ(string_list_at(made, {"spec", "clusterIPs"}), std::vector<std::string>{address});
  const Json bare = service({{"selector", {{"a", "b"}}}});
  const auto kept = lab.put(lab.core("services") + "/s", bare);
  expect(kept, 200);
  EXPECT_EQ(str(kept.json(), {"spec", "clusterIP"}), address);
  const auto other = lab.merge(lab.core("services") + "/s", {{"spec", {{"clusterIP", "10.0.0.77"}}}});
  expect(other, 422, "Invalid");
  EXPECT_EQ(refusals_of(other), Refusals{"spec.clusterIPs[0] FieldValueInvalid"});
  const auto external =
      lab.merge(lab.core("services") + "/s",
                {{"spec", {{"type", "ExternalName"}, {"externalName", "example.com"}, {"clusterIP", nullptr}}}});
  expect(external, 200);
  EXPECT_FALSE(object_at(external.json(), {"spec"}).contains("clusterIPs"));
}
void kept09(Lab& lab) {
  const Json made = lab.post(lab.core("services"), service({{"clusterIP", "None"}, {"selector", {{"a", "b"}}}})).json();
  EXPECT_EQ(string_list_at(made, {"spec", "clusterIPs"}), std::vector<std::string>{"None"});
  EXPECT_EQ(str(made, {"spec", "ipFamilyPolicy"}), "SingleStack");
  expect(lab.remove(lab.core("services") + "/s"), 200);
  const Json plain = lab.post(lab.core("services"), service({{"clusterIP", "None"}})).json();
  EXPECT_EQ(str(plain, {"spec", "ipFamilyPolicy"}), "RequireDualStack");
  EXPECT_EQ(string_list_at(plain, {"spec", "ipFamilies"}), (std::vector<std::string>{"IPv4", "IPv6"}));
}
void kept10(Lab& lab) {
  const Json spec = {{"accessModes", Json::array({"ReadWriteOnce"})}, {"resources", {{"requests", {{"storage", "1Gi"}}}}}};
  expect(lab.post(lab.core("persistentvolumeclaims"), object("v1", "PersistentVolumeClaim", "c", {{"spec", spec}})), 201);
  const auto answer =
      lab.merge(lab.core("persistentvolumeclaims") + "/c", {{"spec", {{"resources", {{"requests", {{"storage", "2Gi"}}}}}}}});
  expect(answer, 422, "Invalid");
  EXPECT_EQ(refusals_of(answer), Refusals{"spec FieldValueForbidden"});
  EXPECT_NE(answer.message().find("spec is immutable after creation except resources.requests and volumeAttributesClassName for "
                                  "bound claims"),
            std::string::npos);
}
void kept11(Lab& lab) {
  const std::string priorities = "/apis/scheduling.k8s.io/v1/priorityclasses";
  const std::string classes = "/apis/storage.k8s.io/v1/storageclasses";
  expect(lab.post(priorities, object("scheduling.k8s.io/v1", "PriorityClass", lab.ns(), {{"value", 5}})), 201);
  const auto value = lab.merge(priorities + "/" + lab.ns(), {{"value", 6}});
  expect(value, 422, "Invalid");
  EXPECT_EQ(value.message(), "PriorityClass.scheduling.k8s.io \"" + lab.ns() +
                                 "\" is invalid: value: Forbidden: may not be changed in an update.");
  expect(lab.post(classes, object("storage.k8s.io/v1", "StorageClass", lab.ns(), {{"provisioner", "a.example.com"}})), 201);
  const auto provisioner = lab.merge(classes + "/" + lab.ns(), {{"provisioner", "b.example.com"}});
  expect(provisioner, 422, "Invalid");
  EXPECT_EQ(refusals_of(provisioner), Refusals{"provisioner FieldValueForbidden"});
  expect(lab.remove(priorities + "/" + lab.ns()), 200);
  expect(lab.remove(classes + "/" + lab.ns()), 200);
}
void kept12(Lab& lab) {
  const auto bad = lab.post(batch(lab, "cronjobs"), cron_job("c", {{"schedule", "60 * * * *"}}));
  expect(bad, 422, "Invalid");
  EXPECT_EQ(
      bad.message(),
      "CronJob.batch \"c\" is invalid: spec.schedule: Invalid value: \"60 * * * *\": end of range (60) above maximum (59): 60");
  const auto zone = lab.post(batch(lab, "cronjobs"), cron_job("c", {{"timeZone", "Mars/Olympus"}}));
  expect(zone, 422, "Invalid");
  EXPECT_EQ(zone.message(),
            "CronJob.batch \"c\" is invalid: spec.timeZone: Invalid value: \"Mars/Olympus\": unknown time zone Mars/Olympus");
  EXPECT_EQ(refusals_of(lab.post(batch(lab, "cronjobs"), cron_job(std::string(53, 'c'), Json::object()))),
            Refusals{"metadata.name FieldValueInvalid"});
  expect(lab.post(batch(lab, "cronjobs"), cron_job("c", {{"timeZone", "Europe/Berlin"}})), 201);
}

void limited01(Lab& lab) {
  const Json hard = {{"secrets", "1"}, {"count/leases.coordination.k8s.io", "0"}};
  expect(lab.post(lab.core("resourcequotas"), object("v1", "ResourceQuota", "q", {{"spec", {{"hard", hard}}}})), 201);
  const auto used = [&] { return str(lab.get(lab.core("resourcequotas") + "/q").json(), {"status", "used", "secrets"}); };
  EXPECT_TRUE(lab.eventually([&] { return used() == "0"; }));
  expect(lab.post(lab.core("secrets"), object("v1", "Secret", "a", Json::object())), 201);
  EXPECT_EQ(used(), "1");
  const auto answer = lab.post(lab.core("secrets"), object("v1", "Secret", "b", Json::object()));
  expect(answer, 403, "Forbidden");
  EXPECT_EQ(answer.message(),
            "secrets \"b\" is forbidden: exceeded quota: q, requested: secrets=1, used: secrets=1, limited: secrets=1");
  const auto lease = lab.post("/apis/coordination.k8s.io/v1/namespaces/" + lab.ns() + "/leases",
                              object("coordination.k8s.io/v1", "Lease", "l", {{"spec", Json::object()}}));
  expect(lease, 403, "Forbidden");
  EXPECT_EQ(lease.message(),
            "leases.coordination.k8s.io \"l\" is forbidden: exceeded quota: q, requested: count/leases.coordination.k8s.io=1, "
            "used: count/leases.coordination.k8s.io=0, limited: count/leases.coordination.k8s.io=0");
  expect(lab.remove(lab.core("secrets") + "/a"), 200);
  EXPECT_TRUE(lab.eventually([&] { return used() == "0"; }));
}
void limited02(Lab& lab) {
  const Json hard = {{"requests.cpu", "1"}};
  expect(lab.post(lab.core("resourcequotas"), object("v1", "ResourceQuota", "q", {{"spec", {{"hard", hard}}}})), 201);
  EXPECT_TRUE(lab.eventually([&] {
    return !object_at(lab.get(lab.core("resourcequotas") + "/q").json(), {"status", "used"}).empty();
  }));
  const auto without = lab.post(lab.core("pods"), object("v1", "Pod", "p", {{"spec", pod_spec("Always")}}));
  expect(without, 403, "Forbidden");
  EXPECT_EQ(without.message(), "pods \"p\" is forbidden: failed quota: q: must specify requests.cpu for: c");
  Json much = pod_spec("Always");
  much["containers"][0]["resources"]["requests"]["cpu"] = "1500m";
  const auto answer = lab.post(lab.core("pods"), object("v1", "Pod", "p", {{"spec", much}}));
  expect(answer, 403, "Forbidden");
  EXPECT_EQ(answer.message(),
            "pods \"p\" is forbidden: exceeded quota: q, requested: requests.cpu=1500m, used: requests.cpu=0, limited: "
            "requests.cpu=1");
}
void limited03(Lab& lab) {
  const Json limit = {{"type", "Container"},
                      {"default", {{"cpu", "500m"}}},
                      {"defaultRequest", {{"cpu", "100m"}}},
                      {"min", {{"cpu", "50m"}}},
                      {"max", {{"cpu", "1"}}}};
  expect(lab.post(lab.core("limitranges"), object("v1", "LimitRange", "l", {{"spec", {{"limits", Json::array({limit})}}}})), 201);
  const auto filled = [&] {
    const Json made = lab.post(lab.core("pods"), object("v1", "Pod", "p", {{"spec", pod_spec("Always")}})).json();
    if (annotation_of(made, "kubernetes.io/limit-ranger").empty()) {
      lab.remove(lab.core("pods") + "/p");
      return false;  // the server has not seen the range yet
    }
    const Json container = list_at(made, {"spec", "containers"}).front();
    EXPECT_EQ(str(container, {"resources", "requests", "cpu"}), "100m");
    EXPECT_EQ(str(container, {"resources", "limits", "cpu"}), "500m");
    EXPECT_EQ(annotation_of(made, "kubernetes.io/limit-ranger"),
              "LimitRanger plugin set: cpu request for container c; cpu limit for container c");
    EXPECT_EQ(str(made, {"status", "qosClass"}), "Burstable");
    return true;
  };
  EXPECT_TRUE(lab.eventually(filled));
  Json little = pod_spec("Always");
  little["containers"][0]["resources"]["requests"]["cpu"] = "10m";
  const auto answer = lab.post(lab.core("pods"), object("v1", "Pod", "q", {{"spec", little}}));
  expect(answer, 403, "Forbidden");
  EXPECT_EQ(answer.message(), "pods \"q\" is forbidden: minimum cpu usage per Container is 50m, but request is 10m");
}

void managed01(Lab& lab) {
  expect(lab.post(lab.core("services"), service({{"selector", {{"a", "b"}}}, {"clusterIP", "None"}})), 201);
  const Json made = lab.get(lab.core("services") + "/s").json();
  const auto slices = [&] {
    return lab
        .get("/apis/discovery.k8s.io/v1/namespaces/" + lab.ns() +
             "/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Ds")
        .json();
  };
  ASSERT_TRUE(lab.eventually([&] { return list_at(slices(), {"items"}).size() == 1; }));
  const Json slice = list_at(slices(), {"items"}).front();
  EXPECT_TRUE(name_of(slice).starts_with("s-"));
  EXPECT_EQ(str(slice, {"addressType"}), "IPv4");
  EXPECT_EQ(label_of(slice, "endpointslice.kubernetes.io/managed-by"), "endpointslice-controller.k8s.io");
  EXPECT_TRUE(object_at(slice, {"metadata", "labels"}).contains("service.kubernetes.io/headless"));
  ASSERT_EQ(list_at(slice, {"metadata", "ownerReferences"}).size(), 1U);
  const Json owner = list_at(slice, {"metadata", "ownerReferences"}).front();
  EXPECT_EQ(str(owner, {"uid"}), uid_of(made));
  EXPECT_TRUE(flag(owner, {"controller"}));
  EXPECT_TRUE(list_at(slice, {"endpoints"}).empty());
  const auto endpoints = [&] { return lab.get(lab.core("endpoints") + "/s"); };
  EXPECT_TRUE(lab.eventually([&] { return endpoints().status == 200; }));
  const Json labels = object_at(endpoints().json(), {"metadata", "labels"});
  EXPECT_EQ(labels,
            (Json{{"endpoints.kubernetes.io/managed-by", "endpoint-controller"}, {"service.kubernetes.io/headless", ""}}));
  expect(lab.remove(lab.core("services") + "/s"), 200);
  EXPECT_TRUE(lab.eventually([&] { return endpoints().status == 404 && list_at(slices(), {"items"}).empty(); }));
}
void managed02(Lab& lab) {
  expect(lab.post(batch(lab, "jobs"), job("j")), 201);
  const auto condition = [&] {
    const Json seen = lab.get(batch(lab, "jobs") + "/j").json();
    const Json& all = list_at(seen, {"status", "conditions"});
    return all.empty() ? std::string()
                       : str(all.front(), {"type"}) + " " + str(all.front(), {"status"}) + " " + str(all.front(), {"reason"});
  };
  EXPECT_TRUE(lab.eventually([&] { return condition() == "Suspended True JobSuspended"; }));
  const Json seen = lab.get(batch(lab, "jobs") + "/j").json();
  EXPECT_TRUE(str(seen, {"status", "startTime"}).empty());
  expect(lab.merge(batch(lab, "jobs") + "/j", {{"spec", {{"suspend", false}}}}), 200);
  EXPECT_TRUE(lab.eventually([&] { return condition() == "Suspended False JobResumed"; }));
  EXPECT_TRUE(lab.eventually([&] { return num(lab.get(batch(lab, "jobs") + "/j").json(), {"status", "active"}) == 1; }));
}

}  // namespace

std::vector<Check> immutable_checks() {
  return {{"I01", "a Job's template", kept01},
          {"I02", "PUT of a Job without its selector", kept02},
          {"I03", "a suspended Job's nodes", kept03},
          {"I04", "a Job's restart policy", kept04},
          {"I05", "a Deployment's selector", kept05},
          {"I06", "a StatefulSet's spec", kept06},
          {"I07", "a pod's spec", kept07},
          {"I08", "a Service's address", kept08},
          {"I09", "headless Services", kept09},
          {"I10", "a claim's spec", kept10},
          {"I11", "classes", kept11},
          {"I12", "schedules and time zones", kept12},
          {"M01", "object counts", limited01},
          {"M02", "what pods ask for", limited02},
          {"M03", "limit ranges", limited03},
          {"M04", "endpoints of a Service", managed01},
          {"M05", "a suspended Job", managed02}};
}

}  // namespace fleetadm::conformance
