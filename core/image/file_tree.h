// The files of an image's layer, by path.
#pragma once

#include <map>
#include <string>

#include "core/image/tar.h"

namespace fleetadm::image {

/// Paths are relative to the root ("usr/bin/fleetadm"). The folders above an entry are made with it.
class FileTree {
 public:
  void add_folder(const std::string& path, unsigned mode = 0755, unsigned owner = 0);
  void add_file(const std::string& path, std::string content, unsigned mode = 0644);
  void add_link(const std::string& path, const std::string& target);
  /// The file of this machine that an absolute path leads to, with every symbolic link on the way there. kNotFound, kUsage where
  /// it cannot be read.
  Status copy(const std::string& path);

  bool empty() const { return entries_.empty(); }
  /// All entries, folders before what is in them; the end of the archive follows.
  Status write(const Sink& sink) const;

 private:
  struct Entry {
    TarEntry head;
    std::string content;
  };
  void add(TarEntry head, std::string content = {});

  std::map<std::string, Entry> entries_;
};

}  // namespace fleetadm::image
