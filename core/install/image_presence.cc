#include "core/install/image_presence.h"

#include <algorithm>

namespace fleetadm::install {
namespace {

constexpr int kSample = 20;                      // a node's list of images is some 10 KiB
constexpr std::size_t kMostListed = 50;          // nodeStatusMaxImages of the kubelet, which lists the largest
constexpr const char* kNoImages = "process://";  // a sandbox's node runs processes

bool has_image(const Json& node, const std::string& name) {
  for (const Json& image : list_at(node, {"status", "images"})) {
    const std::vector<std::string> names = string_list_at(image, {"names"});
    if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  }
  return false;
}

}  // namespace

ImagePresence image_presence(const Json& nodes, const std::string& name) {
  ImagePresence presence;
  for (const Json& node : list_at(nodes, {"items"})) {
    if (flag(node, {"spec", "unschedulable"}) || is_deleting(node)) continue;
    const std::string runtime = str(node, {"status", "nodeInfo", "containerRuntimeVersion"});
    if (runtime.empty() || runtime.starts_with(kNoImages)) continue;
    if (has_image(node, name)) {
      ++presence.with;
    } else if (list_at(node, {"status", "images"}).size() < kMostListed) {
      presence.without.push_back(name_of(node));
    }
  }
  return presence;
}

Result<ImagePresence> image_presence(const kube::Client& cluster, const std::string& name) {
  kube::Request request;
  request.path = "/api/v1/nodes";
  request.query = {{"limit", std::to_string(kSample)}};
  FLEETADM_TRY(const kube::Response answer, cluster.raw(request));
  FLEETADM_TRY(const Json nodes, parse_json(answer.body));
  return image_presence(nodes, name);
}

}  // namespace fleetadm::install
