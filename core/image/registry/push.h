// Sends an image to a registry: what the registry lacks, what refers to it after it, and the name last, so that nothing can be
// pulled before all of it is there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/image/image.h"
#include "core/image/registry/client.h"

namespace fleetadm::image {

struct PushResult {
  int blobs_sent = 0;
  int blobs_present = 0;  // the registry had them
  std::uint64_t bytes_sent = 0;
  bool tag_moved = false;  // the name led elsewhere, or nowhere
};

struct PushOptions {
  std::string tag;
  bool dry_run = false;  // only looks at what would be sent
  std::function<void(const std::string&)> told = {};
};

/// Succeeds where the registry, asked again, has the image under the tag.
Result<PushResult> push_image(RegistryClient& registry, const Image& image, const PushOptions& options);

}  // namespace fleetadm::image
