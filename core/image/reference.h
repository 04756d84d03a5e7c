// Names of images: [REGISTRY/]REPOSITORY[:TAG][@DIGEST].
#pragma once

#include <string>
#include <string_view>

#include "kubeclient/base/result.h"

namespace fleetadm::image {

struct Reference {
  std::string registry;    // "registry.example.com:5000"; "docker.io" where the name has none
  std::string repository;  // "team/fleetadm"; of docker.io "library/fleetadm" where the name has one part
  std::string tag;         // may be empty
  std::string digest;      // "sha256:…"; may be empty

  std::string tag_or_latest() const { return tag.empty() ? "latest" : tag; }
  /// As container runtimes keep it: with the registry and the tag.
  std::string full() const;
  /// As a person writes it: docker.io and library/ are left out.
  std::string familiar() const;
  /// The registry and the repository.
  std::string name() const { return registry + "/" + repository; }
};

/// kUsage where it is no image's name.
Result<Reference> parse_reference(std::string_view text);

}  // namespace fleetadm::image
