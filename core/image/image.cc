#include "core/image/image.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace fleetadm::image {
namespace {

constexpr std::string_view kConfigType = "application/vnd.oci.image.config.v1+json";
constexpr std::string_view kManifestType = "application/vnd.oci.image.manifest.v1+json";
constexpr std::string_view kIndexType = "application/vnd.oci.image.index.v1+json";
constexpr std::string_view kNoTime = "1970-01-01T00:00:00Z";  // the same binary gives the same digest
constexpr std::string_view kLinux = "linux";

}  // namespace

Json descriptor_of(const Blob& blob) {
  return {{"mediaType", blob.media_type}, {"digest", blob.digest}, {"size", blob.content.size()}};
}

Json manifest_descriptor(const PlatformImage& image) {
  Json descriptor = descriptor_of(image.manifest);
  descriptor["platform"] = {{"os", std::string(kLinux)}, {"architecture", image.platform.substr(kLinux.size() + 1)}};
  return descriptor;
}

PlatformImage make_platform_image(const std::string& architecture, std::vector<Layer> layers, const RunConfig& config) {
  PlatformImage image;
  image.platform = std::string(kLinux) + "/" + architecture;
  image.layers = std::move(layers);
  const std::string user = std::to_string(kUser);
  Json diff_ids = Json::array();
  Json history = Json::array();
  Json descriptors = Json::array();
  for (const Layer& layer : image.layers) {
    diff_ids.push_back(layer.diff_id);
    history.push_back({{"created", std::string(kNoTime)}, {"created_by", "fleetadm image"}});
    descriptors.push_back(descriptor_of(layer.blob));
  }
  const Json content{{"created", std::string(kNoTime)},
                     {"os", std::string(kLinux)},
                     {"architecture", architecture},
                     {"config",
                      {{"User", user + ":" + user},
                       {"Entrypoint", Json::array({config.entry_point})},
                       {"Env", config.environment},
                       {"WorkingDir", "/"},
                       {"Labels", config.labels}}},
                     {"rootfs", {{"type", "layers"}, {"diff_ids", std::move(diff_ids)}}},
                     {"history", std::move(history)}};
  image.config = make_blob(std::string(kConfigType), dump_json(content));
  const Json manifest{{"schemaVersion", 2},
                      {"mediaType", std::string(kManifestType)},
                      {"config", descriptor_of(image.config)},
                      {"layers", std::move(descriptors)},
                      {"annotations", config.labels}};
  image.manifest = make_blob(std::string(kManifestType), dump_json(manifest));
  return image;
}

Image make_image(std::vector<PlatformImage> platforms) {
  std::sort(platforms.begin(), platforms.end(),
            [](const PlatformImage& left, const PlatformImage& right) { return left.platform < right.platform; });
  Image image{std::move(platforms), std::nullopt};
  if (image.platforms.size() < 2) return image;
  Json manifests = Json::array();
  for (const PlatformImage& one : image.platforms) manifests.push_back(manifest_descriptor(one));
  const Json index{{"schemaVersion", 2}, {"mediaType", std::string(kIndexType)}, {"manifests", std::move(manifests)}};
  image.index = make_blob(std::string(kIndexType), dump_json(index));
  return image;
}

}  // namespace fleetadm::image
