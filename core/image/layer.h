// Blobs, and layers of files among them.
#pragma once

#include <string>

#include "core/image/file_tree.h"

namespace fleetadm::image {

struct Blob {
  std::string media_type;
  std::string digest;
  std::string content;
};

struct Layer {
  Blob blob;            // the archive of the files, deflated
  std::string diff_id;  // the digest of the archive itself
};

Blob make_blob(std::string media_type, std::string content);
/// The same files give the same layer.
Result<Layer> make_layer(const FileTree& files);

}  // namespace fleetadm::image
