#include "tests/interop/addon_lab.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <utility>

#include "kubeclient/base/yaml.h"
#include "tests/interop/addon_state.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kWorkApi = "/apis/work.open-cluster-management.io/v1";

Status answered(const KubeServer::Answer& answer, const std::string& what) {
  if (answer.status >= 200 && answer.status < 300) return {};
  return fail(Category::kInvalid, what + ": " + std::to_string(answer.status) + " " + answer.body);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string collection_of(const Json& object) {
  const std::string version = str(object, {"apiVersion"});
  const std::string ns = namespace_of(object);
  return (version == "v1" ? "/api/v1" : "/apis/" + version) + (ns.empty() ? "" : "/namespaces/" + ns) + "/" +
         lower(str(object, {"kind"})) + "s";
}

Status create_on(const KubeServer& hub, Json object) {
  const std::string path = collection_of(object);
  const Json status = object_at(object, {"status"});
  object.erase("status");
  FLEETADM_CHECK(answered(hub.create(path, object), path));
  if (status.empty()) return {};
  return answered(hub.request("PATCH", path + "/" + name_of(object) + "/status", dump_json(Json{{"status", status}}),
                              "application/merge-patch+json"),
                  path);
}

/// What an agent reports of one manifest.
Json feedback_of(const Json& manifest) {
  const auto number = [](const char* name, std::int64_t value) {
    return Json{{"name", name}, {"fieldValue", {{"type", "Integer"}, {"integer", value}}}};
  };
  const std::string kind = str(manifest, {"kind"});
  const std::int64_t replicas = num(manifest, {"spec", "replicas"}, 1);
  if (kind == "Deployment") {
    return Json::array({number("ReadyReplicas", replicas), number("Replicas", replicas), number("AvailableReplicas", replicas)});
  }
  if (kind == "DaemonSet") return Json::array({number("NumberReady", 2), number("DesiredNumberScheduled", 2)});
  if (kind == "Job") {
    return Json::array({Json{{"name", "JobComplete"}, {"fieldValue", {{"type", "String"}, {"string", "True"}}}}});
  }
  return Json::array();
}

Json report_on(const Json& work) {
  const std::int64_t generation = num(work, {"metadata", "generation"});
  Json status = Json::object();
  for (const char* type : {"Applied", "Available"}) {
    status["conditions"].push_back({{"type", type},
                                    {"status", "True"},
                                    {"reason", "Played"},
                                    {"message", ""},
                                    {"observedGeneration", generation},
                                    {"lastTransitionTime", format_time(Clock::system()->now())}});
  }
  Json manifests = Json::array();
  for (const Json& manifest : list_at(work, {"spec", "workload", "manifests"})) {
    const std::string version = str(manifest, {"apiVersion"});
    const auto slash = version.find('/');
    const Json meta{{"ordinal", manifests.size()},
                    {"group", slash == std::string::npos ? "" : version.substr(0, slash)},
                    {"version", slash == std::string::npos ? version : version.substr(slash + 1)},
                    {"kind", str(manifest, {"kind"})},
                    {"resource", lower(str(manifest, {"kind"})) + "s"},
                    {"name", name_of(manifest)},
                    {"namespace", namespace_of(manifest)}};
    manifests.push_back(
        {{"resourceMeta", meta}, {"conditions", Json::array()}, {"statusFeedback", {{"values", feedback_of(manifest)}}}});
  }
  status["resourceStatus"] = {{"manifests", std::move(manifests)}};
  return {{"metadata", {{"resourceVersion", resource_version_of(work)}}}, {"status", std::move(status)}};
}

bool is_reported(const Json& work) {
  for (const Json& condition : list_at(work, {"status", "conditions"})) {
    if (num(condition, {"observedGeneration"}) == num(work, {"metadata", "generation"})) return true;
  }
  return false;
}

}  // namespace

std::string addon_template(const std::string& name, const std::string& addon, const std::string& manifests,
                           const std::string& registration) {
  std::string text = "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: AddOnTemplate\nmetadata: {name: " + name +
                     "}\nspec:\n  addonName: " + addon + "\n";
  if (!registration.empty()) text += "  registration: " + registration + "\n";
  text += "  agentSpec:\n    workload:\n      manifests:\n";
  std::istringstream lines(manifests);
  bool first = true;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    if (line == "---") {
      first = true;
      continue;
    }
    text += (first ? "      - " : "        ") + line + "\n";
    first = false;
  }
  return text;
}

Result<std::unique_ptr<AddonLab>> AddonLab::start() {
  auto lab = std::unique_ptr<AddonLab>(new AddonLab());
  FLEETADM_TRY(lab->fleet_, Fleet::start(1, false));
  lab->peers_.emplace(lab->fleet_->folder());
  // The types of both hubs by fleetadm; no node runs its controllers there.
  for (const char* context : {"hub", "c1"}) {
    const Ran init = lab->fleet_->run({"init", "--context", context, "-o", "json"});
    if (init.code != 0) return fail(Category::kInvalid, "init: " + init.both());
  }
  FLEETADM_CHECK(lab->start_ours(lab->ours(), lab->our_hub_));
  FLEETADM_CHECK(lab->peers_->start_addon_manager(lab->theirs()));
  FLEETADM_CHECK(lab->prepare());
  return lab;
}

Status AddonLab::start_ours(const KubeServer& hub, std::optional<sandbox::Child>& as) {
  sandbox::ChildSpec spec;
  spec.program = Fleet::binary();
  spec.args = {"hub", "run", "--kubeconfig", hub.kubeconfig_file(), "--leader-elect=false"};
  spec.environment = {"HOME=" + fleet_->folder().path().string(), "PATH=/usr/bin:/bin"};
  spec.output_file = (fleet_->folder().path() / "hub.log").string();
  FLEETADM_TRY(auto child, sandbox::Child::start(spec));
  as.emplace(std::move(child));
  return {};
}

Status AddonLab::take_over() {
  peers_->stop_addon_manager();
  return start_ours(theirs(), taken_over_);
}

Status AddonLab::prepare() {
  std::string grounds = "{apiVersion: v1, kind: Namespace, metadata: {name: apps}}\n---\n";
  grounds += "{apiVersion: v1, kind: Namespace, metadata: {name: shared}}\n---\n";
  grounds += R"(apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: lab}
spec: {clusterSelector: {selectorType: ExclusiveClusterSetLabel}}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: lab, namespace: apps}
spec: {clusterSet: lab}
)";
  for (const char* cluster : {"c1", "c2", "c3", "c4"}) {
    grounds += std::string("---\n{apiVersion: v1, kind: Namespace, metadata: {name: ") + cluster + "}}\n---\n" +
               "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: " + cluster +
               ", labels: {cluster.open-cluster-management.io/clusterset: lab}}\n" +
               "spec: {hubAcceptsClient: true, leaseDurationSeconds: 3600}\n";
  }
  return create(grounds);
}

Status AddonLab::create(std::string_view yaml) {
  FLEETADM_TRY(const auto documents, parse_yaml_documents(yaml));
  for (const YamlDocument& document : documents) {
    for (KubeServer* hub : {&ours(), &theirs()}) FLEETADM_CHECK(create_on(*hub, document.value));
  }
  return {};
}

Status AddonLab::patch(const std::string& path, std::string_view yaml, const std::string& subresource) {
  FLEETADM_TRY(const Json body, parse_yaml(yaml));
  for (KubeServer* hub : {&ours(), &theirs()}) {
    const std::string full = path + (subresource.empty() ? "" : "/" + subresource);
    FLEETADM_CHECK(answered(hub->request("PATCH", full, dump_json(body), "application/merge-patch+json"), full));
  }
  return {};
}

Status AddonLab::remove(const std::string& path) {
  for (KubeServer* hub : {&ours(), &theirs()}) FLEETADM_CHECK(answered(hub->request("DELETE", path), path));
  return {};
}

Status AddonLab::decide(const std::string& placement, std::string_view clusters) {
  const std::string path = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/apps";
  Json decisions = Json::array();
  std::istringstream words{std::string(clusters)};
  for (std::string word; words >> word;) decisions.push_back({{"clusterName", word}, {"reason", ""}});
  const Json status{{"numberOfSelectedClusters", decisions.size()},
                    {"decisionGroups", Json::array({{{"decisionGroupIndex", 0},
                                                     {"decisionGroupName", ""},
                                                     {"decisions", Json::array({placement + "-decision-1"})},
                                                     {"clusterCount", decisions.size()}}})}};
  if (ours().get(path + "/placements/" + placement).is_null()) {
    FLEETADM_CHECK(
        create("apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata:\n  name: " + placement +
               "\n  namespace: apps\n  annotations: "
               "{cluster.open-cluster-management.io/experimental-scheduling-disable: \"true\"}\nspec: {}\n"));
    FLEETADM_CHECK(create(
        "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: PlacementDecision\nmetadata:\n  name: " + placement +
        "-decision-1\n  namespace: apps\n  labels: {cluster.open-cluster-management.io/placement: " + placement +
        ", cluster.open-cluster-management.io/decision-group-index: \"0\", "
        "cluster.open-cluster-management.io/decision-group-name: \"\"}\n"));
  }
  FLEETADM_CHECK(patch(path + "/placementdecisions/" + placement + "-decision-1",
                       dump_json(Json{{"status", {{"decisions", decisions}}}}), "status"));
  return patch(path + "/placements/" + placement, dump_json(Json{{"status", status}}), "status");
}

void AddonLab::report(const std::string& addon, const std::function<void(Json& status)>& change) {
  for (KubeServer* hub : {&ours(), &theirs()}) {
    const Json works = works_of_addon(*hub, addon);
    for (const Json& work : list_at(works, {"items"})) {
      if (!change && is_reported(work)) continue;
      Json body = report_on(work);
      if (change) change(body["status"]);
      // One that has changed since gets its turn the next time.
      hub->request("PATCH",
                   std::string(kWorkApi) + "/namespaces/" + namespace_of(work) + "/manifestworks/" + name_of(work) + "/status",
                   dump_json(body), "application/merge-patch+json");
    }
  }
}

std::string AddonLab::difference(const std::string& addon, std::string_view told, bool reporting) {
  std::string ours_is;
  std::string theirs_is;
  const auto same = [&] {
    if (reporting) report(addon);
    ours_is = addon_state(ours(), addon);
    theirs_is = addon_state(theirs(), addon);
    return ours_is == theirs_is && theirs_is.find(told) != std::string::npos;
  };
  if (eventually(same, seconds(60), milliseconds(300))) return {};
  if (ours_is == theirs_is) return "\"" + std::string(told) + "\" is told by neither:\n" + theirs_is;
  const Json one = *parse_json(ours_is);
  const Json other = *parse_json(theirs_is);
  std::string all = "from theirs to ours:";
  for (const Json& step : Json::diff(other, one)) {
    const auto there = Json::json_pointer(str(step, {"path"}));
    const bool was = str(step, {"op"}) != "add" && other.contains(there);
    all += "\n" + step.dump() + (was ? " instead of " + other[there].dump() : "");
  }
  if (theirs_is.find(told) == std::string::npos) all += "\n\"" + std::string(told) + "\" is not told by theirs";
  if (ours_is.find(told) == std::string::npos) all += "\n\"" + std::string(told) + "\" is not told by ours";
  return all;
}

bool AddonLab::both_tell(const std::string& addon, std::string_view text) {
  return eventually(
      [&] {
        return addon_state(ours(), addon).find(text) != std::string::npos &&
               addon_state(theirs(), addon).find(text) != std::string::npos;
      },
      seconds(30), milliseconds(300));
}

std::string AddonLab::logs() const {
  return "upstream's manager: " + peers_->log("upstream-addon") + "\nits webhook: " + peers_->log("upstream-webhook") +
         "\nour hub: " + read_file((fleet_->folder().path() / "hub.log").string());
}

}  // namespace fleetadm::testkit
