#include "core/registration/join/cluster_info.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/registration/join/bootstrap_secret.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::join {
namespace {

namespace r = kube::resources;

constexpr const char* kPublic = "kube-public";
constexpr const char* kClusterInfoName = "cluster-info";
constexpr const char* kReaders = "fleetadm:cluster-info";
constexpr std::string_view kSignature = "jws-kubeconfig-";
constexpr std::size_t kIdLength = 6;
constexpr std::size_t kTokenLength = 23;

std::string id_of_token(std::string_view token) { return std::string(token.substr(0, kIdLength)); }

Error not_trusted(std::string message, std::string hint) {
  Error error;
  error.category = Category::kTls;
  error.message = "cluster-info " + std::move(message);
  error.hint = std::move(hint);
  return error;
}

void sign(Json& config_map, std::string_view token) {
  const std::string id = id_of_token(token);
  at_or_make(config_map, {"data", std::string(kSignature) + id}) =
      detached_signature(str(config_map, {"data", "kubeconfig"}), id, token.substr(kIdLength + 1));
}

}  // namespace

bool is_bootstrap_token(std::string_view token) {
  if (token.size() != kTokenLength || token[kIdLength] != '.') return false;
  return std::count_if(token.begin(), token.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }) ==
         static_cast<std::ptrdiff_t>(kTokenLength - 1);
}

std::string detached_signature(std::string_view content, std::string_view id, std::string_view secret) {
  // A literal, because members of an object have no order and this text is signed, too.
  const std::string header = base64url_encode(R"({"alg":"HS256","kid":)" + dump_json(Json(std::string(id))) + "}");
  return header + ".." + base64url_encode(hmac_sha256(secret, header + "." + base64url_encode(content)));
}

Result<std::string> signed_kubeconfig(std::string_view config_map, std::string_view token) {
  const auto object = parse_json(config_map);
  if (!object || !object->is_object() || str(*object, {"kind"}) != "ConfigMap")
    return fail(not_trusted("is not a ConfigMap", "something else than a hub may be answering there"));
  std::string kubeconfig = str(*object, {"data", "kubeconfig"});
  if (kubeconfig.empty())
    return fail(not_trusted("has no kubeconfig", "publish it on the hub: fleetadm token create --print-register-command"));
  const std::string id = id_of_token(token);
  const std::string signature = str(*object, {"data", std::string(kSignature) + id});
  if (signature.empty()) {
    return fail(not_trusted("is not signed with the token " + id,
                            "the token has expired or was revoked, or is not one for signing: get a new one on the hub with "
                            "fleetadm token create --print-register-command"));
  }
  if (signature != detached_signature(kubeconfig, id, token.substr(kIdLength + 1))) {
    return fail(
        not_trusted("does not have the signature of the token " + id,
                    "it was altered on the way or on the hub, or the token is misspelled; do not register before you know "
                    "which"));
  }
  return kubeconfig;
}

Result<std::string> authorities_of(std::string_view kubeconfig) {
  const auto parsed = parse_yaml(kubeconfig);
  if (!parsed) return fail(not_trusted("has a kubeconfig that cannot be read: " + parsed.error().message, ""));
  const Json& clusters = list_at(*parsed, {"clusters"});
  if (clusters.size() != 1) return fail(not_trusted("names " + std::to_string(clusters.size()) + " clusters instead of one", ""));
  auto pem = base64_decode(str(clusters.front(), {"cluster", "certificate-authority-data"}));
  if (!pem || pem->empty())
    return fail(
        not_trusted("has no CA", "a hub whose certificate is publicly signed is joined with fleetadm join --system-roots"));
  if (auto certificates = pki::parse_certificates(*pem); !certificates)
    return fail(not_trusted("has a CA that cannot be read: " + certificates.error().message, ""));
  return std::move(*pem);
}

std::vector<Json> cluster_info_objects(const kube::RestConfig& hub) {
  Json kubeconfig = kube::make_kubeconfig(hub.server, hub.ca_data, Json::object(), "hub");
  kubeconfig["users"] = Json::array();
  kubeconfig["contexts"] = Json::array();
  kubeconfig["current-context"] = "";
  const Json metadata{{"name", kReaders}, {"namespace", kPublic}};
  const Json rule{{"apiGroups", {""}}, {"resources", {"configmaps"}}, {"resourceNames", {kClusterInfoName}}, {"verbs", {"get"}}};
  const Json everybody{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "User"}, {"name", "system:anonymous"}};
  return {Json{{"apiVersion", "v1"},
               {"kind", "ConfigMap"},
               {"metadata", {{"name", kClusterInfoName}, {"namespace", kPublic}}},
               {"data", {{"kubeconfig", dump_json(kubeconfig)}}}},
          Json{{"apiVersion", "rbac.authorization.k8s.io/v1"},
               {"kind", "Role"},
               {"metadata", metadata},
               {"rules", Json::array({rule})}},
          Json{{"apiVersion", "rbac.authorization.k8s.io/v1"},
               {"kind", "RoleBinding"},
               {"metadata", metadata},
               {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", kReaders}}},
               {"subjects", Json::array({everybody})}}};
}

Result<std::string> published_authorities(const kube::Client& hub) {
  FLEETADM_TRY(const auto live, hub.find(r::config_maps(), kPublic, kClusterInfoName));
  if (!live) return std::string();
  auto authorities = authorities_of(str(*live, {"data", "kubeconfig"}));
  if (authorities) return authorities;
  Error error = authorities.error().wrap("the hub's ConfigMap kube-public/cluster-info");
  error.category = Category::kConflict;
  if (error.hint.empty()) error.hint = "correct or delete it, and run the command again";
  return fail(std::move(error));
}

Result<bool> everybody_reads_info(const kube::Client& hub) {
  const Json asked{{"namespace", kPublic}, {"verb", "get"}, {"resource", "configmaps"}, {"name", kClusterInfoName}};
  const Json review{
      {"apiVersion", "authorization.k8s.io/v1"},
      {"kind", "SubjectAccessReview"},
      {"spec", {{"user", "system:anonymous"}, {"groups", {"system:unauthenticated"}}, {"resourceAttributes", asked}}}};
  FLEETADM_TRY(const Json answer, hub.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review, true));
  return flag(answer, {"status", "allowed"});
}

Status sign_cluster_info(const kube::Client& hub, std::string_view token) {
  auto signed_one = hub.modify(r::config_maps(), kPublic, kClusterInfoName, [&](Json& object) -> Status {
    sign(object, token);
    return {};
  });
  if (!signed_one) return fail(signed_one.error().wrap("cannot sign kube-public/cluster-info"));
  return {};
}

Status drop_signatures(const kube::Client& hub, const std::vector<std::string>& ids) {
  FLEETADM_TRY(const auto live, hub.find(r::config_maps(), kPublic, kClusterInfoName));
  const auto has = [](const Json& object, const std::string& id) {
    return !str(object, {"data", std::string(kSignature) + id}).empty();
  };
  if (!live || std::none_of(ids.begin(), ids.end(), [&](const std::string& id) { return has(*live, id); })) return {};
  auto taken = hub.modify(r::config_maps(), kPublic, kClusterInfoName, [&](Json& object) -> Status {
    for (const std::string& id : ids) erase_at(object, {"data", std::string(kSignature) + id});
    return {};
  });
  if (!taken) return fail(taken.error().wrap("cannot take the signature from kube-public/cluster-info"));
  return {};
}

Status sign_again(const kube::Client& hub, Instant now) {
  FLEETADM_TRY(const std::vector<std::string> tokens, signing_tokens(hub, now));
  FLEETADM_TRY(const auto live, hub.find(r::config_maps(), kPublic, kClusterInfoName));
  if (!live) return {};
  const auto renewed = [&](const Json& before) {
    Json after = before;
    for (const auto& [key, value] : object_at(before, {"data"}).items()) {
      if (key.starts_with(kSignature)) after["data"].erase(key);
    }
    for (const std::string& token : tokens) sign(after, token);
    return after;
  };
  if (renewed(*live) == *live) return {};
  auto written = hub.modify(r::config_maps(), kPublic, kClusterInfoName, [&](Json& object) -> Status {
    object = renewed(object);
    return {};
  });
  if (!written) return fail(written.error().wrap("cannot sign kube-public/cluster-info"));
  return {};
}

}  // namespace fleetadm::join
