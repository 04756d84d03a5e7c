#include "tests/interop/work_lab.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "core/work/rules/names.h"
#include "kubeclient/base/yaml.h"
#include "tests/interop/work_scenarios.h"
#include "tests/support/source_folder.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::seconds;

// Hashes that each implementation makes its own way, or not at all; and what the server names by chance.
constexpr auto kOwnAnnotations = std::to_array<const char*>(
    {"open-cluster-management.io/config-spec-hash", "operator.openshift.io/spec-hash", "deployment.kubernetes.io/revision"});
constexpr auto kUidLabels = std::to_array<const char*>({"batch.kubernetes.io/controller-uid", "controller-uid"});

Status stored(const KubeServer::Answer& answer, const std::string& what) {
  if (answer.status >= 200 && answer.status < 300) return {};
  return fail(Category::kInvalid, what + ": " + std::to_string(answer.status) + " " + answer.body);
}

Status became(bool done, const std::string& what) { return done ? Status{} : Status(fail(Category::kTimeout, what)); }

Json conditions_of(const Json& holder) {
  Json told = Json::object();
  for (const Json& entry : list_at(holder, {"conditions"})) {
    if (str(entry, {"type"}) == work::kConditionReady) continue;  // ours alone
    const Json* seen = find(entry, {"observedGeneration"});
    std::string message = str(entry, {"message"});
    // Upstream sends a changed Job without what the server had filled in, and is refused for that, too.
    if (message.find("Job.batch ") != std::string::npos && message.find("field is immutable") != std::string::npos) {
      message = "the Job is immutable";
    }
    told[str(entry, {"type"})] = {str(entry, {"status"}), str(entry, {"reason"}), message, seen == nullptr ? Json() : *seen};
  }
  return told;
}

Json values_of(const Json& manifest) {
  std::vector<Json> values;
  for (const Json& value : list_at(manifest, {"statusFeedback", "values"})) values.push_back(value);
  std::sort(values.begin(), values.end(), [](const Json& a, const Json& b) { return str(a, {"name"}) < str(b, {"name"}); });
  return values;
}

Json without_metadata(const Json& object) {
  Json content = object;
  for (const char* key : {"metadata", "status", "apiVersion", "kind"}) erase_at(content, {key});
  for (const char* key : {"clusterIP", "clusterIPs"}) erase_at(content, {"spec", key});
  for (const char* label : kUidLabels) {
    erase_at(content, {"spec", "selector", "matchLabels", label});
    erase_at(content, {"spec", "template", "metadata", "labels", label});
  }
  return content;
}

}  // namespace

Status WorkLab::must(const std::vector<std::string>& args) const {
  const Ran ran = run(args);
  return ran.code == 0 ? Status{} : Status(fail(Category::kInvalid, args.front() + ": " + ran.both()));
}

Result<std::unique_ptr<WorkLab>> WorkLab::start() {
  auto lab = std::unique_ptr<WorkLab>(new WorkLab());
  FLEETADM_TRY(lab->fleet_, Fleet::start(2, false));
  for (int i = 1; i <= 2; ++i) FLEETADM_CHECK(lab->fleet_->start_node(i));
  lab->peers_.emplace(lab->fleet_->folder());
  // The hub's types, bootstrap identity and admission by fleetadm (no node there runs its controllers), the rest by upstream.
  const Ran init = lab->run({"init", "--context", "hub", "-o", "json"});
  if (init.code != 0) return fail(Category::kInvalid, "init: " + init.both());
  FLEETADM_CHECK(lab->peers_->start_hub(lab->hub()));
  for (const std::string& cluster : kClusters) FLEETADM_CHECK(lab->prepare(cluster));
  FLEETADM_CHECK(lab->join_ours(init.json()));
  FLEETADM_CHECK(lab->join_theirs(init.json()));
  FLEETADM_CHECK(lab->place());
  return lab;
}

Status WorkLab::prepare(const std::string& cluster) {
  FLEETADM_TRY(const auto documents, parse_yaml_documents(work_scenario_grounds()));
  for (const YamlDocument& document : documents) {
    const Json& object = document.value;
    const std::string kind = str(object, {"kind"});
    const std::string ns = kind == "Namespace" ? "" : "/namespaces/" + namespace_of(object);
    std::string plural = kind + "s";
    std::transform(plural.begin(), plural.end(), plural.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::string group = str(object, {"apiVersion"}) == "v1" ? "/api/v1" : "/apis/" + str(object, {"apiVersion"});
    FLEETADM_CHECK(stored(spoke(cluster).create(group + ns + "/" + plural, object), kind + " " + name_of(object)));
  }
  return {};
}

Status WorkLab::join_ours(const Json& ticket) {
  FLEETADM_CHECK(must({"join", "--context", "c1", "--cluster-name", "c1", "--hub-apiserver", str(ticket, {"hub-apiserver"}),
                       "--hub-token", str(ticket, {"hub-token"}), "--ca-cert-hash", str(ticket, {"ca-cert-hash"}), "--wait"}));
  // The other agent has all rights on its cluster; what differs must be the agents alone.
  const Json subject{{"kind", "ServiceAccount"}, {"name", "fleetadm-agent-work"}, {"namespace", "open-cluster-management-agent"}};
  const Json binding{{"apiVersion", "rbac.authorization.k8s.io/v1"},
                     {"kind", "ClusterRoleBinding"},
                     {"metadata", {{"name", "lab-agent"}}},
                     {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", "cluster-admin"}}},
                     {"subjects", Json::array({subject})}};
  FLEETADM_CHECK(stored(spoke("c1").create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding), "binding"));
  return must({"accept", "c1", "--context", "hub", "--yes", "--wait=available"});
}

Status WorkLab::join_theirs(const Json& ticket) {
  for (const char* ns : {"open-cluster-management-agent", "open-cluster-management-agent-addon"}) {
    const Json object{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ns}}}};
    FLEETADM_CHECK(stored(spoke("c2").create("/api/v1/namespaces", object), ns));
  }
  for (const char* crd : {"appliedmanifestworks", "clusterclaims"}) {
    FLEETADM_TRY(const Json object, parse_yaml(read_file(source_folder() + "/templates/crds/spoke/" + crd + ".yaml")));
    FLEETADM_CHECK(stored(spoke("c2").create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", object), crd));
  }
  const std::string bootstrap = hub().kubeconfig_with_token(str(ticket, {"hub-token"}));
  FLEETADM_CHECK(peers_->start_registration_agent(spoke("c2"), "c2", bootstrap));
  const auto there = [](const Json& cluster) { return !name_of(cluster).empty(); };
  FLEETADM_CHECK(became(hub().eventually(std::string(kManagedClusters) + "/c2", there, seconds(90)), "c2 did not register"));
  FLEETADM_CHECK(must({"accept", "c2", "--context", "hub", "--yes", "--wait=available"}));
  FLEETADM_CHECK(became(eventually([&] { return peers_->has_hub_kubeconfig("c2"); }), "c2 has no credential"));
  return peers_->start_work_agent(spoke("c2"), "c2", "1s");
}

Status WorkLab::place() {
  const Json apps{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "apps"}}}};
  FLEETADM_CHECK(stored(hub().create("/api/v1/namespaces", apps), "namespace"));
  FLEETADM_CHECK(must({"clusterset", "create", "lab", "--context", "hub"}));
  FLEETADM_CHECK(must({"clusterset", "set", "lab", "--clusters", "c1,c2", "--context", "hub"}));
  FLEETADM_CHECK(must({"clusterset", "bind", "lab", "-n", "apps", "--context", "hub"}));
  FLEETADM_CHECK(must({"placement", "create", "both", "-n", "apps", "--clusterset", "lab", "--context", "hub"}));
  const auto settled = [](const Json& placement) { return num(placement, {"status", "numberOfSelectedClusters"}) == 2; };
  return became(hub().eventually("/apis/cluster.open-cluster-management.io/v1beta1/namespaces/apps/placements/both", settled),
                "the placement does not select both");
}

Status WorkLab::change_hub() {
  peers_->stop_hub();
  sandbox::ChildSpec spec;
  spec.program = Fleet::binary();
  spec.args = {"hub", "run", "--kubeconfig", hub().kubeconfig_file(), "--leader-elect=false"};
  spec.environment = {"HOME=" + folder().path().string(), "PATH=/usr/bin:/bin"};
  spec.output_file = (folder().path() / "hub.log").string();
  FLEETADM_TRY(auto child, sandbox::Child::start(spec));
  our_hub_.emplace(std::move(child));
  return {};
}

std::string WorkLab::logs() const {
  return "upstream's hub: " + peers_->log("upstream-work") + "\nupstream's agent: " + peers_->log("c2-work-agent") +
         "\nour hub: " + read_file((folder().path() / "hub.log").string());
}

std::string WorkLab::report(const std::string& cluster, const std::string& work) {
  const Json live = hub().get("/apis/work.open-cluster-management.io/v1/namespaces/" + cluster + "/manifestworks/" + work);
  const Json conditions = conditions_of(object_at(live, {"status"}));
  for (const char* type : {"Applied", "Available"}) {
    const Json& entry = list_at(conditions, {type});
    if (entry.size() != 4 || entry[3] != num(live, {"metadata", "generation"})) return {};
  }
  Json manifests = Json::array();
  for (const Json& manifest : list_at(live, {"status", "resourceStatus", "manifests"})) {
    manifests.push_back({{"meta", object_at(manifest, {"resourceMeta"})},
                         {"conditions", conditions_of(manifest)},
                         {"feedback", values_of(manifest)}});
  }
  std::sort(manifests.begin(), manifests.end(), [](const Json& a, const Json& b) {
    return num(a, {"meta", "ordinal"}) < num(b, {"meta", "ordinal"});
  });
  return Json{{"conditions", conditions}, {"finalizers", list_at(live, {"metadata", "finalizers"})}, {"manifests", manifests}}
      .dump(1);
}

std::string WorkLab::objects(const std::string& cluster) {
  Json all = Json::object();
  for (const char* path : {"/api/v1/namespaces/lab/configmaps", "/api/v1/namespaces/lab/services",
                           "/api/v1/namespaces/lab/secrets", "/apis/apps/v1/namespaces/lab/deployments",
                           "/apis/batch/v1/namespaces/lab/jobs", "/apis/lab.example.com/v1/namespaces/lab/things",
                           "/apis/rbac.authorization.k8s.io/v1/clusterroles/lab-update", "/api/v1/namespaces/repeated"}) {
    const Json answer = spoke(cluster).get(path);
    const bool one = !name_of(answer).empty();
    for (const Json& object : one ? Json::array({answer}) : list_at(answer, {"items"})) {
      if (name_of(object) == "kube-root-ca.crt") continue;
      Json annotations = object_at(object, {"metadata", "annotations"});
      for (const char* annotation : kOwnAnnotations) annotations.erase(annotation);
      Json labels = object_at(object, {"metadata", "labels"});
      for (const char* label : kUidLabels) labels.erase(label);
      all[std::string(path) + "/" + name_of(object)] = {{"labels", labels},
                                                        {"annotations", annotations},
                                                        {"owners", list_at(object, {"metadata", "ownerReferences"}).size()},
                                                        {"content", without_metadata(object)}};
    }
  }
  const Json applied = spoke(cluster).get("/apis/work.open-cluster-management.io/v1/appliedmanifestworks");
  for (const Json& one : list_at(applied, {"items"})) {
    // A work with an unknown kind: upstream lists nothing of it, ours what it has applied.
    if (str(one, {"spec", "manifestWorkName"}) == "unknown-kind") continue;
    Json resources = Json::array();
    for (Json resource : list_at(one, {"status", "appliedResources"})) {
      resource.erase("uid");
      if (str(resource, {"namespace"}).empty()) resource.erase("namespace");
      // Upstream lists an object once for each manifest that names it.
      if (std::find(resources.begin(), resources.end(), resource) == resources.end()) resources.push_back(std::move(resource));
    }
    all["applied " + str(one, {"spec", "manifestWorkName"})] = resources;
  }
  return all.dump(1);
}

}  // namespace fleetadm::testkit
