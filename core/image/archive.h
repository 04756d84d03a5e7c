// Images as one file.
#pragma once

#include <string>

#include "core/image/image.h"
#include "core/image/reference.h"

namespace fleetadm::image {

enum class ArchiveFormat {
  kOci,     // an OCI image layout: containerd, podman, skopeo, buildah
  kDocker,  // the same with the list that `docker load` reads; of one platform
};

/// Writes the archive, in which the image has this name. kUsage for an archive of several platforms in docker's format.
Status write_archive(const Image& image, const Reference& name, ArchiveFormat format, const Sink& sink);

}  // namespace fleetadm::image
