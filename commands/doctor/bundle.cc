#include "commands/doctor/bundle.h"

#include <array>
#include <vector>

#include "core/api/kinds.h"
#include "core/image/tar.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/redact_text.h"
#include "kubeclient/config/files.h"

namespace fleetadm::commands {
namespace {

namespace r = kube::resources;

constexpr const char* kListLimit = "500";
constexpr const char* kLogLines = "2000";
constexpr const char* kLogBytes = "1048576";
constexpr auto kPartTimeout = std::chrono::seconds(10);
constexpr std::string_view kHidden = "<redacted>";

/// Every text in it.
void redact_texts(Json& node) {
  if (node.is_string()) {
    node = redact_text(node.get_ref<const std::string&>());
  } else if (node.is_structured()) {
    for (auto& child : node) redact_texts(child);
  }
}

void hide_values(Json& list) {
  if (!list.is_array()) return;
  for (Json& entry : list) {
    if (entry.is_object() && entry.contains("value")) entry["value"] = kHidden;
  }
}

/// Environment variables, variables of add-ons and feedback of objects, wherever they stand: their names do not tell what is
/// secret. Manifests are somebody's own: what they are is enough.
void hide_contents(Json& node) {
  if (node.is_array()) {
    for (auto& child : node) hide_contents(child);
    return;
  }
  if (!node.is_object()) return;
  node.erase("managedFields");
  node.erase("statusFeedback");
  node.erase("statusFeedbacks");
  for (auto it = node.begin(); it != node.end(); ++it) {
    if (it.key() == "env" || it.key() == "customizedVariables") {
      hide_values(*it);
    } else if (it.key() == "manifests" && it->is_array()) {
      for (Json& manifest : *it) {
        if (!manifest.contains("kind")) continue;  // of a status: no manifest
        manifest = Json{{"apiVersion", str(manifest, {"apiVersion"})},
                        {"kind", str(manifest, {"kind"})},
                        {"name", name_of(manifest)},
                        {"namespace", namespace_of(manifest)}};
      }
    }
    hide_contents(*it);
  }
}

class BundleCollector {
 public:
  explicit BundleCollector(kube::Client client) : client_(std::move(client)) {}

  void list(const std::string& folder, const kube::Resource& resource, const std::string& ns = {},
            const std::string& field_selector = {}) {
    kube::Request request;
    request.path = resource.path(ns);
    request.query = {{"limit", kListLimit}};
    if (!field_selector.empty()) request.query.emplace_back("fieldSelector", field_selector);
    const std::string file = folder + "/" + (ns.empty() ? "" : ns + ".") + resource.plural + ".json";
    const auto body = ask(request, file);
    if (!body) return;
    auto parsed = parse_json(*body);
    if (!parsed) return missing(file, parsed.error().message);
    if (!str(*parsed, {"metadata", "continue"}).empty())
      missing(file, "only the first " + std::string(kListLimit) + " are in it");
    // Items of lists do not repeat their kind.
    for (Json& item : at_or_make(*parsed, {"items"})) {
      item["kind"] = resource.kind;
      item = redact_object(std::move(item));
    }
    files_[file] = dump_json_pretty(*parsed) + "\n";
  }

  void text(const std::string& file, const std::string& path, kube::Query query = {}) {
    kube::Request request;
    request.path = path;
    request.query = std::move(query);
    request.accept = "*/*";
    if (const auto body = ask(request, file)) files_[file] = redact_text(*body);
  }

  /// Logs and metrics of the pods of fleetadm's own namespace.
  void pods(const std::string& folder, const std::string& ns) {
    kube::ListOptions which;
    which.limit = 100;
    const auto found = client_.list(r::pods(), ns, which);
    if (!found) return missing(folder + "/logs", found.error().message);
    for (const Json& pod : list_at(*found, {"items"})) {
      const std::string path = r::pods().path(ns, name_of(pod));
      for (const Json& container : list_at(pod, {"spec", "containers"})) log_of(folder, pod, path, str(container, {"name"}));
      text(folder + "/metrics/" + name_of(pod) + ".txt", r::pods().path(ns, name_of(pod) + ":8000", "proxy") + "/metrics");
    }
  }

  BundleFiles take() {
    if (!missing_.empty()) files_["missing.txt"] = missing_;
    return std::move(files_);
  }

 private:
  void log_of(const std::string& folder, const Json& pod, const std::string& path, const std::string& container) {
    const std::string file = folder + "/logs/" + name_of(pod) + "." + container;
    const kube::Query query{
        {"container", container}, {"tailLines", kLogLines}, {"limitBytes", kLogBytes}, {"timestamps", "true"}};
    text(file + ".log", path + "/log", query);
    for (const Json& status : list_at(pod, {"status", "containerStatuses"})) {
      if (str(status, {"name"}) != container || num(status, {"restartCount"}) == 0) continue;
      kube::Query before = query;
      before.emplace_back("previous", "true");
      text(file + ".previous.log", path + "/log", std::move(before));
    }
  }
  std::optional<std::string> ask(kube::Request& request, const std::string& file) {
    request.timeout = kPartTimeout;
    auto answer = client_.raw(request);
    if (answer) return std::move(answer->body);
    missing(file, answer.error().message);
    return std::nullopt;
  }
  void missing(const std::string& file, const std::string& why) { missing_ += file + ": " + redact_text(why) + "\n"; }

  kube::Client client_;
  BundleFiles files_;
  std::string missing_;
};

/// A namespace of fleetadm.
void collect_program(BundleCollector& into, const std::string& folder, const std::string& ns) {
  for (const kube::Resource* type : {&r::deployments(), &r::pods(), &r::core_events(), &r::leases()})
    into.list(folder, *type, ns);
  into.pods(folder, ns);
}

void collect_hub(BundleCollector& into) {
  const std::string ns(api::kHubNamespace);
  for (const kube::Resource* type :
       {&api::managed_clusters(), &api::managed_cluster_sets(), &api::managed_cluster_set_bindings(), &api::placements(),
        &api::placement_decisions(), &api::addon_placement_scores(), &api::manifest_works(), &api::manifest_work_replica_sets(),
        &api::managed_cluster_addons(), &api::cluster_management_addons(), &api::addon_deployment_configs(),
        &api::addon_templates(), &r::certificate_signing_requests()}) {
    into.list("hub", *type);
  }
  into.list("hub", r::leases(), "", "metadata.name=" + std::string(api::kClusterLease));
  into.list("hub", r::core_events(), "", "involvedObject.kind=ManagedCluster");
  collect_program(into, "hub", ns);
}

void collect_cluster(BundleCollector& into) {
  const std::string ns(api::kAgentNamespace);
  into.list("cluster", api::applied_manifest_works());
  into.list("cluster", api::cluster_claims());
  into.list("cluster", r::nodes());
  collect_program(into, "cluster", ns);
}

}  // namespace

Json redact_object(Json object) {
  hide_contents(object);
  auto redacted = parse_json(log::redact_body(dump_json(object)));
  if (!redacted) return nullptr;
  redact_texts(*redacted);
  return std::move(*redacted);
}

BundleFiles collect_bundle(const kube::Client& client, const BundleOf& of) {
  BundleCollector into(client);
  into.text("version.json", "/version");
  if (of.hub) collect_hub(into);
  if (of.joined) collect_cluster(into);
  if (!of.hosting.empty()) collect_program(into, "hosting", of.hosting);
  return into.take();
}

Status write_bundle(const std::string& path, const BundleFiles& files) {
  std::string archive;
  image::TarWriter tar([&archive](std::string_view bytes) -> Status {
    archive += bytes;
    return {};
  });
  for (const auto& [name, content] : files) {
    image::TarEntry entry;
    entry.path = "fleetadm-bundle/" + name;
    entry.mode = 0600;
    FLEETADM_CHECK(tar.add(entry, content));
  }
  FLEETADM_CHECK(tar.finish());
  return kube::write_file(path, archive);
}

}  // namespace fleetadm::commands
