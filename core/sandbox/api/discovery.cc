#include "core/sandbox/api/discovery.h"

#include <algorithm>
#include <map>
#include <openssl/sha.h>
#include <set>

#include "core/sandbox/api/health.h"
#include "core/sandbox/engine/custom.h"
#include "kubeclient/base/encoding.h"

namespace fleetadm::sandbox {
namespace {

using Rows = std::vector<KindPtr>;

struct GroupVersions {
  std::string group;
  std::vector<std::pair<std::string, Rows>> versions;  // the preferred one first
};

std::vector<GroupVersions> groups_of(const Rows& rows) {
  std::vector<GroupVersions> out;
  for (const auto& row : rows) {
    auto group = std::find_if(out.begin(), out.end(), [&](const GroupVersions& one) { return one.group == row->group; });
    if (group == out.end()) group = out.insert(out.end(), {row->group, {}});
    auto version =
        std::find_if(group->versions.begin(), group->versions.end(), [&](const auto& one) { return one.first == row->version; });
    if (version == group->versions.end()) version = group->versions.insert(group->versions.end(), {row->version, {}});
    version->second.push_back(row);
  }
  for (auto& group : out) {
    std::stable_sort(group.versions.begin(), group.versions.end(),
                     [](const auto& a, const auto& b) { return version_before(a.first, b.first); });
  }
  return out;
}

std::string group_version(const std::string& group, const std::string& version) {
  return group.empty() ? version : group + "/" + version;
}

Json group_json(const GroupVersions& group, bool with_type) {
  Json versions = Json::array();
  for (const auto& [version, rows] : group.versions)
    versions.push_back({{"groupVersion", group_version(group.group, version)}, {"version", version}});
  Json out = {{"name", group.group}, {"preferredVersion", versions.front()}, {"versions", versions}};
  if (with_type) {
    out["kind"] = "APIGroup";
    out["apiVersion"] = "v1";
  }
  return out;
}

std::string storage_hash(const Kind& row) {
  const auto text = row.group + "/" + row.version + "/" + row.kind;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return base64_encode({reinterpret_cast<const char*>(digest.data()), 8});
}

Json resource_list(const std::string& version, const Rows& rows) {
  Json resources = Json::array();
  for (const auto& row : rows) {
    Json one = {{"name", row->plural},
                {"singularName", row->singular},
                {"namespaced", row->namespaced},
                {"kind", row->kind},
                {"verbs", row->verbs}};
    if (!row->short_names.empty()) one["shortNames"] = row->short_names;
    if (!row->categories.empty()) one["categories"] = row->categories;
    if (row->has_verb("get")) one["storageVersionHash"] = storage_hash(*row);
    resources.push_back(std::move(one));
    for (const auto& sub : row->subresources) {
      Json entry = {{"name", row->plural + "/" + sub.name},
                    {"singularName", ""},
                    {"namespaced", row->namespaced},
                    {"kind", sub.kind.empty() ? row->kind : sub.kind},
                    {"verbs", sub.verbs}};
      if (!sub.version.empty()) {
        entry["group"] = sub.group;
        entry["version"] = sub.version;
      }
      resources.push_back(std::move(entry));
    }
  }
  return {{"kind", "APIResourceList"}, {"apiVersion", "v1"}, {"groupVersion", version}, {"resources", std::move(resources)}};
}

Json aggregated(const std::vector<GroupVersions>& groups, bool core, const std::string& version) {
  Json items = Json::array();
  for (const auto& group : groups) {
    if (group.group.empty() != core) continue;
    Json versions = Json::array();
    for (const auto& [name, rows] : group.versions) {
      Json resources = Json::array();
      for (const auto& row : rows) {
        Json one = {{"resource", row->plural},
                    {"responseKind", {{"group", row->group}, {"version", row->version}, {"kind", row->kind}}},
                    {"scope", row->namespaced ? "Namespaced" : "Cluster"},
                    {"singularResource", row->singular},
                    {"verbs", row->verbs}};
        if (!row->short_names.empty()) one["shortNames"] = row->short_names;
        if (!row->categories.empty()) one["categories"] = row->categories;
        Json subs = Json::array();
        for (const auto& sub : row->subresources) {
          const bool own = sub.version.empty();
          subs.push_back({{"subresource", sub.name},
                          {"responseKind",
                           {{"group", own ? row->group : sub.group},
                            {"version", own ? row->version : sub.version},
                            {"kind", sub.kind.empty() ? row->kind : sub.kind}}},
                          {"verbs", sub.verbs}});
        }
        if (!subs.empty()) one["subresources"] = std::move(subs);
        resources.push_back(std::move(one));
      }
      versions.push_back({{"version", name}, {"resources", std::move(resources)}, {"freshness", "Current"}});
    }
    Json item = {{"metadata", {{"creationTimestamp", nullptr}}}, {"versions", std::move(versions)}};
    if (!core) item["metadata"]["name"] = group.group;
    items.push_back(std::move(item));
  }
  return {{"kind", "APIGroupDiscoveryList"},
          {"apiVersion", "apidiscovery.k8s.io/" + version},
          {"metadata", Json::object()},
          {"items", std::move(items)}};
}

ApiResult<serve::HttpResponse> root(const std::vector<GroupVersions>& groups, const serve::ApiRequest& request, bool core) {
  FLEETADM_TRY(const auto wanted, negotiate(*request.http, {"APIGroupDiscoveryList;apidiscovery.k8s.io;v2"}));
  if (wanted.as.empty()) {
    if (core) {
      const Json address = {{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", std::string(request.http->header("host"))}};
      return answer_body(200,
                         dump_json({{"kind", "APIVersions"},
                                    {"versions", Json::array({"v1"})},
                                    {"serverAddressByClientCIDRs", Json::array({address})}}),
                         wanted);
    }
    Json list = Json::array();
    for (const auto& group : groups) {
      if (!group.group.empty()) list.push_back(group_json(group, false));
    }
    return answer_body(200, dump_json({{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(list)}}), wanted);
  }
  serve::HttpResponse out;
  out.body = dump_json(aggregated(groups, core, wanted.version));
  const auto tag = "\"" + entity_hash(out.body) + "\"";
  out.headers = {{"content-type", "application/json;g=apidiscovery.k8s.io;v=" + wanted.version + ";as=APIGroupDiscoveryList"},
                 {"etag", tag},
                 {"vary", "Accept"},
                 {"cache-control", "public"}};
  if (request.http->header("if-none-match") == tag) {
    out.status = 304;
    out.body.clear();
  }
  return out;
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty()) {
    const auto slash = path.find('/');
    if (slash != 0) out.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return out;
}

serve::HttpResponse no_such_path() { return serve::answer_text(404, "404 page not found\n"); }

}  // namespace

ApiResult<serve::HttpResponse> answer_path(const std::shared_ptr<ApiState>& state, const serve::ApiRequest& request) {
  const auto parts = split_path(request.path);
  const bool reads = request.http->method == "GET" || request.http->method == "HEAD";
  if (!reads) return api_fail(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
  const auto& first = parts.empty() ? std::string("/") : parts.front();
  if (is_health_path(first)) return answer_health(parts, request.query);
  if (first == "version" && parts.size() == 1) {
    return answer_json(200, {{"major", "1"},
                             {"minor", "35"},
                             {"emulationMajor", "1"},
                             {"emulationMinor", "35"},
                             {"minCompatibilityMajor", "1"},
                             {"minCompatibilityMinor", "34"},
                             {"gitVersion", "v1.35.4+fleetadm"},
                             {"gitCommit", ""},
                             {"gitTreeState", "clean"},
                             {"buildDate", "1970-01-01T00:00:00Z"},
                             {"goVersion", "none"},
                             {"compiler", "g++"},
                             {"platform", "linux/amd64"}});
  }
  const auto groups = groups_of(state->kinds.all());
  if (first == "api" && parts.size() == 1) return root(groups, request, true);
  if (first == "apis" && parts.size() == 1) return root(groups, request, false);
  if (first == "openapi" && parts.size() >= 2) return answer_openapi(state, request);
  const bool core = first == "api" && parts.size() == 2;
  if (core || (first == "apis" && (parts.size() == 2 || parts.size() == 3))) {
    FLEETADM_TRY(const auto wanted, negotiate(*request.http, {}, true));
    const auto name = core ? std::string() : parts[1];
    for (const auto& group : groups) {
      if (group.group != name) continue;
      if (!core && parts.size() == 2) return answer_body(200, dump_json(group_json(group, true)), wanted);
      for (const auto& [version, rows] : group.versions) {
        if (version == parts.back())
          return answer_body(200, dump_json(resource_list(group_version(name, version), rows)), wanted);
      }
    }
    if (state->kinds.is_custom_group(name)) return no_such_path();
    return api_fail(404, "NotFound", "the server could not find the requested resource");
  }
  if (parts.empty())
    return answer_json(200, {{"paths",
                              {"/.well-known/openid-configuration", "/api", "/apis", "/healthz", "/livez", "/metrics",
                               "/openapi/v2", "/openapi/v3", "/openid/v1/jwks", "/readyz", "/version"}}});
  return no_such_path();
}

}  // namespace fleetadm::sandbox
