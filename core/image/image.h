// Images in the format of the Open Container Initiative: what a registry, an archive and a container runtime take.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/image/layer.h"
#include "kubeclient/base/json.h"

namespace fleetadm::image {

/// The user that the image's processes run as unless told otherwise, as the pods of init and join do.
inline constexpr unsigned kUser = 65532;

struct PlatformImage {
  std::string platform;       // "linux/amd64"
  std::vector<Layer> layers;  // the lowest first
  Blob config;
  Blob manifest;
};

struct Image {
  std::vector<PlatformImage> platforms;  // by platform
  std::optional<Blob> index;             // where there are several

  /// What a reference by digest or tag leads to.
  const Blob& top() const { return index ? *index : platforms.front().manifest; }
};

/// How the processes of an image are started.
struct RunConfig {
  std::string entry_point;
  std::vector<std::string> environment;       // "NAME=value"
  std::map<std::string, std::string> labels;  // of the configuration, and annotations of the manifest
};

/// `architecture` as platforms name it ("amd64").
PlatformImage make_platform_image(const std::string& architecture, std::vector<Layer> layers, const RunConfig& config);
/// At least one image, of different platforms.
Image make_image(std::vector<PlatformImage> platforms);

/// {"mediaType", "digest", "size"}
Json descriptor_of(const Blob& blob);
/// The same with the platform.
Json manifest_descriptor(const PlatformImage& image);

}  // namespace fleetadm::image
