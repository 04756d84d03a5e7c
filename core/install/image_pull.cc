#include "core/install/image_pull.h"

#include "kubeclient/base/encoding.h"

namespace fleetadm::install {

void set_image_pull(std::vector<Json>& objects, const ImagePull& pull) {
  for (Json& object : objects) {
    if (str(object, {"kind"}) != "Deployment") continue;
    Json& pod = at_or_make(object, {"spec", "template", "spec"});
    for (const std::string& name : pull.secrets) pod["imagePullSecrets"].push_back({{"name", name}});
    if (pull.policy.empty()) continue;
    for (Json& container : pod["containers"]) container["imagePullPolicy"] = pull.policy;
  }
}

Json image_pull_secret(const std::string& ns, const std::string& name, const std::string& registry, const std::string& username,
                       const std::string& password) {
  // Docker Hub has a key of its own.
  const std::string key = registry == "docker.io" ? "https://index.docker.io/v1/" : registry;
  const Json login{{"auths", {{key, {{"auth", base64_encode(username + ":" + password)}}}}}};
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata", {{"name", name}, {"namespace", ns}}},
          {"type", "kubernetes.io/dockerconfigjson"},
          {"data", {{".dockerconfigjson", base64_encode(dump_json(login))}}}};
}

}  // namespace fleetadm::install
