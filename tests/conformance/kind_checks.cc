// H: objects of Kubernetes' own kinds that a server refuses.
#include <gtest/gtest.h>

#include "tests/conformance/lab.h"

namespace fleetadm::conformance {
namespace {

/// What is said of each field of an object that is only tried out.
std::map<std::string, std::string> told(Lab& lab, const std::string& path, const std::string& api_version,
                                        const std::string& kind, Json body) {
  body["apiVersion"] = api_version;
  body["kind"] = kind;
  body["metadata"]["name"] = "x";
  const auto answer = lab.send({.method = "POST", .path = path + "?dryRun=All", .body = dump_json(body)});
  std::map<std::string, std::string> out;
  if (answer.status == 201) return out;
  EXPECT_EQ(answer.status, 422) << answer.body;
  const Json status = answer.json();
  for (const Json& cause : list_at(status, {"details", "causes"})) {
    auto& text = out[str(cause, {"field"})];
    text += (text.empty() ? "" : "; ") + str(cause, {"message"});
  }
  return out;
}
using Told = std::map<std::string, std::string>;

void h01(Lab& lab) {
  const auto service = [&](const Json& spec) { return told(lab, lab.core("services"), "v1", "Service", {{"spec", spec}}); };
  const Json port = {{"port", 80}};
  EXPECT_EQ(service({{"ports", Json::array({port})}}), Told());
  EXPECT_EQ(service({{"clusterIP", "None"}}), Told());
  EXPECT_EQ(service({{"type", "ExternalName"}, {"externalName", "example.com."}}), Told());
  EXPECT_EQ(service(Json::object()), (Told{{"spec.ports", "Required value"}}));
  EXPECT_EQ(service({{"ports", Json::array({port, {{"port", 81}}})}}),
            (Told{{"spec.ports[0].name", "Required value"}, {"spec.ports[1].name", "Required value"}}));
  const Json named = {{"name", "a"}, {"port", 80}};
  const auto twice = service({{"ports", Json::array({named, named})}});
  EXPECT_EQ(twice.size(), 2U);
  EXPECT_EQ(twice.count("spec.ports[1]"), 1U);
  EXPECT_EQ(twice.count("spec.ports[1].name"), 1U);
  const auto many = service({{"type", "Odd"},
                             {"sessionAffinity", "Odd"},
                             {"selector", {{"a b", "c"}}},
                             {"ports", Json::array({{{"port", 80000}, {"targetPort", 0}, {"protocol", "ODD"}}})}});
  EXPECT_EQ(many.at("spec.type"),
            "Unsupported value: \"Odd\": supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\"");
  EXPECT_EQ(many.at("spec.sessionAffinity"), "Unsupported value: \"Odd\": supported values: \"ClientIP\", \"None\"");
  EXPECT_EQ(many.at("spec.ports[0].port"), "Invalid value: 80000: must be between 1 and 65535, inclusive");
  EXPECT_EQ(many.at("spec.ports[0].protocol"), "Unsupported value: \"ODD\": supported values: \"SCTP\", \"TCP\", \"UDP\"");
  EXPECT_EQ(many.count("spec.selector"), 1U);
  EXPECT_EQ(service({{"type", "ExternalName"}}), (Told{{"spec.externalName", "Required value"}}));
}

void h02(Lab& lab) {
  const auto secret = [&](const std::string& type, const Json& data = Json::object()) {
    return told(lab, lab.core("secrets"), "v1", "Secret", {{"type", "kubernetes.io/" + type}, {"stringData", data}});
  };
  const std::string needed = "Required value";
  EXPECT_EQ(secret("tls"), (Told{{"data[tls.crt]", needed}, {"data[tls.key]", needed}}));
  EXPECT_EQ(secret("tls", {{"tls.crt", "x"}, {"tls.key", "y"}}), Told());
  EXPECT_EQ(secret("dockerconfigjson"), (Told{{"data[.dockerconfigjson]", needed}}));
  EXPECT_EQ(secret("dockerconfigjson", {{".dockerconfigjson", "x"}}).count("data[.dockerconfigjson]"), 1U);
  EXPECT_EQ(secret("dockerconfigjson", {{".dockerconfigjson", "{}"}}), Told());
  EXPECT_EQ(secret("basic-auth"), (Told{{"data[username]", needed}, {"data[password]", needed}}));
  EXPECT_EQ(secret("basic-auth", {{"username", ""}}), Told());
  EXPECT_EQ(secret("ssh-auth"), (Told{{"data[ssh-privatekey]", needed}}));
  EXPECT_EQ(secret("service-account-token"), (Told{{"metadata.annotations[kubernetes.io/service-account.name]", needed}}));
  const auto map = [&](const Json& body) { return told(lab, lab.maps(), "v1", "ConfigMap", body); };
  EXPECT_EQ(map({{"data", {{"a", "x"}}}, {"binaryData", {{"a", "eA=="}}}}),
            (Told{{"data[a]", "Invalid value: \"a\": duplicate of key present in binaryData"}}));
  EXPECT_EQ(map({{"data", {{"a", std::string(1024 * 1024 + 1, 'x')}}}}),
            (Told{{"[]", "Too long: may not be more than 1048576 bytes"}}));
  EXPECT_EQ(map({{"data", {{"a", std::string(1024 * 1024, 'x')}}}}), Told());
}

void h03(Lab& lab) {
  const auto ingress = [&](const Json& spec) {
    return told(lab, "/apis/networking.k8s.io/v1/namespaces/" + lab.ns() + "/ingresses", "networking.k8s.io/v1", "Ingress",
                {{"spec", spec}});
  };
  const Json backend = {{"service", {{"name", "web"}, {"port", {{"number", 80}}}}}};
  const auto rule = [](const std::string& host, const Json& path) {
    return Json{{"rules", Json::array({{{"host", host}, {"http", {{"paths", Json::array({path})}}}}})}};
  };
  EXPECT_EQ(ingress({{"defaultBackend", backend}}), Told());
  EXPECT_EQ(ingress(rule("example.com", {{"path", "/"}, {"pathType", "Prefix"}, {"backend", backend}})), Told());
  EXPECT_EQ(ingress(Json::object()),
            (Told{{"spec", "Invalid value: null: either `defaultBackend` or `rules` must be specified"}}));
  EXPECT_EQ(ingress(rule("example.com", {{"path", "/"}, {"backend", backend}})),
            (Told{{"spec.rules[0].http.paths[0].pathType", "Required value: pathType must be specified"}}));
  const auto bad = ingress(rule("1.2.3.4", {{"path", "x//y"}, {"pathType", "Exact"}, {"backend", Json::object()}}));
  EXPECT_EQ(bad.at("spec.rules[0].host"), "Invalid value: \"1.2.3.4\": must be a DNS name, not an IP address");
  EXPECT_EQ(bad.at("spec.rules[0].http.paths[0].path"),
            "Invalid value: \"x//y\": must be an absolute path; Invalid value: \"x//y\": must not contain '//'");
  EXPECT_EQ(bad.at("spec.rules[0].http.paths[0].backend"), "Invalid value: \"\": resource or service backend is required");
  EXPECT_EQ(ingress({{"defaultBackend", {{"service", {{"name", "Web"}}}}}}).at("spec.defaultBackend"),
            "Required value: port name or number is required");
  EXPECT_EQ(
      ingress(rule("", {{"path", "/"}, {"pathType", "Odd"}, {"backend", backend}})).at("spec.rules[0].http.paths[0].pathType"),
      "Unsupported value: \"Odd\": supported values: \"Exact\", \"ImplementationSpecific\", \"Prefix\"");
}

void h04(Lab& lab) {
  const auto budget = [&](const Json& spec) {
    return told(lab, "/apis/policy/v1/namespaces/" + lab.ns() + "/poddisruptionbudgets", "policy/v1", "PodDisruptionBudget",
                {{"spec", spec}});
  };
  EXPECT_EQ(budget({{"minAvailable", "50%"}}), Told());
  EXPECT_TRUE(budget({{"minAvailable", 1}, {"maxUnavailable", 1}})
                  .at("spec")
                  .ends_with(": minAvailable and maxUnavailable cannot be both set"));
  EXPECT_EQ(budget({{"minAvailable", -1}}).at("spec.minAvailable"), "Invalid value: -1: must be greater than or equal to 0");
  EXPECT_EQ(budget({{"maxUnavailable", "101%"}}).at("spec.maxUnavailable"),
            "Invalid value: \"101%\": must not be greater than 100%");
  EXPECT_TRUE(
      budget({{"maxUnavailable", "x"}}).at("spec.maxUnavailable").starts_with("Invalid value: \"x\": a valid percent string"));
  EXPECT_EQ(budget({{"unhealthyPodEvictionPolicy", "Odd"}}).at("spec.unhealthyPodEvictionPolicy"),
            "Unsupported value: \"Odd\": supported values: \"AlwaysAllow\", \"IfHealthyBudget\"");
  const auto autoscaler = [&](const Json& spec) {
    return told(lab, "/apis/autoscaling/v2/namespaces/" + lab.ns() + "/horizontalpodautoscalers", "autoscaling/v2",
                "HorizontalPodAutoscaler", {{"spec", spec}});
  };
  const Json target = {{"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"name", "web"}};
  EXPECT_EQ(autoscaler({{"maxReplicas", 3}, {"scaleTargetRef", target}}), Told());
  EXPECT_EQ(autoscaler({{"minReplicas", 5}, {"maxReplicas", 3}, {"scaleTargetRef", target}}),
            (Told{{"spec.maxReplicas", "Invalid value: 3: must be greater than or equal to `minReplicas`"}}));
  const auto bad = autoscaler({{"minReplicas", 0}, {"scaleTargetRef", {{"kind", "a/b"}}}});
  EXPECT_EQ(bad.at("spec.minReplicas"), "Invalid value: 0: must be greater than or equal to 1");
  EXPECT_EQ(bad.at("spec.maxReplicas"), "Invalid value: 0: must be greater than 0");
  EXPECT_EQ(bad.at("spec.scaleTargetRef.kind"), "Invalid value: \"a/b\": may not contain '/'");
  EXPECT_EQ(bad.at("spec.scaleTargetRef.name"), "Required value");
}

void h05(Lab& lab) {
  const auto claim = [&](const Json& spec) {
    return told(lab, lab.core("persistentvolumeclaims"), "v1", "PersistentVolumeClaim", {{"spec", spec}});
  };
  const auto storage = [](const char* size) { return Json{{"requests", {{"storage", size}}}}; };
  EXPECT_EQ(claim({{"accessModes", {"ReadWriteOnce"}}, {"resources", storage("1Gi")}}), Told());
  EXPECT_EQ(claim(Json::object()), (Told{{"spec.accessModes", "Required value: at least 1 access mode is required"},
                                         {"spec.resources[storage]", "Required value"}}));
  const auto bad = claim({{"accessModes", {"Odd", "ReadWriteOncePod"}},
                          {"resources", storage("0")},
                          {"storageClassName", "Odd_"},
                          {"volumeMode", "Odd"}});
  EXPECT_TRUE(bad.at("spec.accessModes").starts_with("Unsupported value: \"Odd\": supported values: \"ReadOnlyMany\", "));
  EXPECT_EQ(bad.at("spec.resources[storage]"), "Invalid value: \"0\": must be greater than zero");
  EXPECT_EQ(bad.count("spec.storageClassName"), 1U);
  EXPECT_EQ(bad.at("spec.volumeMode"), "Unsupported value: \"Odd\": supported values: \"Block\", \"Filesystem\"");
  const auto one = [&](const Json& body) {
    return told(lab, "/apis/storage.k8s.io/v1/storageclasses", "storage.k8s.io/v1", "StorageClass", body);
  };
  EXPECT_EQ(one({{"provisioner", "example.com/p"}}), Told());
  EXPECT_EQ(one(Json::object()), (Told{{"provisioner", "Required value"}}));
  EXPECT_EQ(one({{"provisioner", "p"}, {"reclaimPolicy", "Odd"}}).at("reclaimPolicy"),
            "Unsupported value: \"Odd\": supported values: \"Delete\", \"Retain\"");
}

void h06(Lab& lab) {
  const auto none = told(lab, lab.apps("deployments"), "apps/v1", "Deployment", {{"spec", Json::object()}});
  EXPECT_EQ(none.at("spec.selector"), "Required value");
  EXPECT_EQ(none.at("spec.template.spec.containers"), "Required value");
  EXPECT_EQ(none.count("spec.template.metadata.labels"), 1U);
  const auto workload = [&](const std::string& plural, const std::string& kind, const Json& more) {
    Json spec = object_at(lab.deployment("x"), {"spec"});
    if (kind == "DaemonSet") spec.erase("replicas");
    spec.update(more);
    return told(lab, lab.apps(plural), "apps/v1", kind, {{"spec", spec}});
  };
  const auto deployment = [&](const Json& more) { return workload("deployments", "Deployment", more); };
  EXPECT_EQ(deployment(Json::object()), Told());
  EXPECT_EQ(deployment({{"strategy", {{"type", "Recreate"}, {"rollingUpdate", {{"maxSurge", 1}}}}}}),
            (Told{{"spec.strategy.rollingUpdate", "Forbidden: may not be specified when strategy `type` is 'Recreate'"}}));
  EXPECT_TRUE(deployment({{"strategy", {{"type", "Odd"}}}})
                  .at("spec.strategy")
                  .ends_with(": supported values: \"Recreate\", \"RollingUpdate\""));
  EXPECT_EQ(deployment({{"strategy", {{"rollingUpdate", {{"maxSurge", 0}, {"maxUnavailable", 0}}}}}}),
            (Told{{"spec.strategy.rollingUpdate.maxUnavailable", "Invalid value: 0: may not be 0 when `maxSurge` is 0"}}));
  EXPECT_EQ(deployment({{"progressDeadlineSeconds", 5}, {"minReadySeconds", 5}}),
            (Told{{"spec.progressDeadlineSeconds", "Invalid value: 5: must be greater than minReadySeconds"}}));
  const Json odd = {{"key", "a"}, {"operator", "Odd"}};
  EXPECT_EQ(
      deployment({{"selector", {{"matchExpressions", Json::array({odd})}}}}).at("spec.selector.matchExpressions[0].operator"),
      "Invalid value: \"Odd\": not a valid selector operator");
  for (const auto& [plural, kind] : std::map<std::string, std::string>{{"deployments", "Deployment"},
                                                                       {"daemonsets", "DaemonSet"},
                                                                       {"statefulsets", "StatefulSet"},
                                                                       {"replicasets", "ReplicaSet"}}) {
    const auto said = workload(plural, kind, {{"selector", Json::object()}});
    EXPECT_TRUE(said.contains("spec.selector")) << kind;
    EXPECT_NE(said.at("spec.selector").find("empty selector is invalid for "), std::string::npos) << kind;
  }
  const auto set = workload("statefulsets", "StatefulSet",
                            {{"podManagementPolicy", "Odd"}, {"updateStrategy", {{"type", "Odd"}}}, {"serviceName", "Odd_"}});
  EXPECT_EQ(set.at("spec.podManagementPolicy"), "Invalid value: \"Odd\": must be 'OrderedReady' or 'Parallel'");
  EXPECT_TRUE(set.at("spec.updateStrategy").ends_with(": must be 'RollingUpdate' or 'OnDelete'"));
  EXPECT_EQ(set.count("spec.serviceName"), 1U);
  EXPECT_TRUE(workload("daemonsets", "DaemonSet", {{"updateStrategy", {{"type", "Odd"}}}})
                  .at("spec.updateStrategy")
                  .ends_with(": supported values: \"RollingUpdate\", \"OnDelete\""));
}

void h07(Lab& lab) {
  const auto policy = [&](const Json& more) {
    Json spec = {{"podSelector", Json::object()}};
    spec.update(more);
    return told(lab, "/apis/networking.k8s.io/v1/namespaces/" + lab.ns() + "/networkpolicies", "networking.k8s.io/v1",
                "NetworkPolicy", {{"spec", spec}});
  };
  const auto from = [](const Json& peer) { return Json{{"ingress", Json::array({{{"from", Json::array({peer})}}})}}; };
  const Json everything = Json::object();
  EXPECT_EQ(policy(everything), Told());
  EXPECT_EQ(policy(from({{"podSelector", everything}, {"namespaceSelector", everything}})), Told());
  EXPECT_EQ(policy(from(everything)), (Told{{"spec.ingress[0].from[0]", "Required value: must specify a peer"}}));
  EXPECT_EQ(policy(from({{"podSelector", everything}, {"ipBlock", {{"cidr", "10.0.0.0/8"}}}})),
            (Told{{"spec.ingress[0].from[0]", "Forbidden: may not specify both ipBlock and another peer"}}));
  EXPECT_EQ(policy(from({{"ipBlock", {{"cidr", ""}}}})), (Told{{"spec.ingress[0].from[0].ipBlock.cidr", "Required value"}}));
  EXPECT_EQ(policy({{"policyTypes", {"Odd"}}}).at("spec.policyTypes[0]"),
            "Unsupported value: \"Odd\": supported values: \"Ingress\", \"Egress\"");
  const Json port = {{"port", 0}, {"protocol", "ODD"}};
  const Json range = {{"port", 90}, {"endPort", 80}};
  const Json loose = {{"endPort", 80}};
  const auto ports = policy({{"egress", Json::array({{{"ports", Json::array({port, range, loose})}}})}});
  EXPECT_EQ(ports.at("spec.egress[0].ports[0].protocol"),
            "Unsupported value: \"ODD\": supported values: \"TCP\", \"UDP\", \"SCTP\"");
  EXPECT_EQ(ports.at("spec.egress[0].ports[0].port"), "Invalid value: 0: must be between 1 and 65535, inclusive");
  EXPECT_EQ(ports.at("spec.egress[0].ports[1].endPort"), "Invalid value: 90: must be greater than or equal to `port`");
  EXPECT_EQ(ports.at("spec.egress[0].ports[2].endPort"), "Invalid value: 80: may not be specified when `port` is not specified");
}

}  // namespace

std::vector<Check> kind_checks() {
  return {{"H01", "services", h01},
          {"H02", "Secrets and ConfigMaps", h02},
          {"H03", "ingresses", h03},
          {"H04", "disruption budgets and autoscalers", h04},
          {"H05", "claims and classes of storage", h05},
          {"H06", "selectors and strategies of workloads", h06},
          {"H07", "network policies", h07}};
}

}  // namespace fleetadm::conformance
