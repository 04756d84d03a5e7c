#include "commands/framework/named.h"

#include <utility>

#include "commands/framework/suggest.h"
#include "core/api/kinds.h"

namespace fleetadm::commands {
namespace {

constexpr const char* kMaxNames = "5000";
constexpr auto kNamesPatience = std::chrono::seconds(3);

std::vector<std::string> names_of_kind(const kube::Client& client, const kube::Resource& resource, const std::string& ns) {
  kube::Request request;
  request.path = resource.path(ns);
  request.query = {{"limit", kMaxNames}};
  request.accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";
  const Result<kube::Response> response = client.with_timeout(kNamesPatience).raw(request);
  if (!response) return {};
  const Result<Json> list = parse_json(response->body);
  if (!list) return {};
  std::vector<std::string> names;
  for (const Json& item : list_at(*list, {"items"})) names.push_back(name_of(item));
  return names;
}

}  // namespace

NearNames::NearNames(kube::Client client, kube::Resource resource, std::string ns)
    : client_(std::move(client)), resource_(std::move(resource)), ns_(std::move(ns)) {}

std::string NearNames::hint(const std::string& missing, std::string otherwise) {
  if (!names_) names_ = names_of_kind(client_, resource_, ns_);
  return did_you_mean(missing, *names_, std::move(otherwise));
}

Error NearNames::explain(Error error, const std::string& missing, std::string otherwise) {
  if (error.category != Category::kNotFound || error.reason == kube::kUnknownPath) return error;
  error.hint = hint(missing, otherwise.empty() ? error.hint : std::move(otherwise));
  return error;
}

void note_near(NearNames& near, const std::string& kind, const std::string& missing, Report& report) {
  const std::string meant = near.hint(missing);
  if (!meant.empty()) report.notes.push_back("There is no " + kind + " \"" + missing + "\"; " + meant);
}

Status cluster_exists(const kube::Client& hub, const std::string& name) {
  const auto found = hub.find(api::managed_clusters(), "", name);
  if (!found) return found.error().category == Category::kAuth ? Status{} : tl::unexpected(found.error());
  if (*found) return {};
  return fail(Category::kNotFound, "cluster \"" + name + "\" not found on the hub",
              NearNames(hub, api::managed_clusters()).hint(name, "list the clusters with: fleetadm get clusters"));
}

}  // namespace fleetadm::commands
