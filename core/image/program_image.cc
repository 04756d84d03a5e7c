#include "core/image/program_image.h"

#include <algorithm>
#include <link.h>
#include <set>
#include <string_view>
#include <utility>

namespace fleetadm::image {
namespace {

constexpr std::string_view kProgram = "usr/bin/fleetadm";

/// Where a loader looks without being told: /lib, /usr/lib, the same with 64, and the folders of an architecture below.
bool searched_by_default(std::string_view folder) {
  if (folder.starts_with("/usr/")) folder.remove_prefix(4);
  if (folder == "/lib" || folder == "/lib64") return true;
  return folder.starts_with("/lib/") && folder.ends_with("-linux-gnu") && folder.find('/', 5) == std::string_view::npos;
}

void add_system_files(FileTree& files, const std::string& ca_certificates) {
  const std::string user = std::to_string(kUser);
  files.add_file("etc/passwd", "root:x:0:0:root:/root:/sbin/nologin\nfleetadm:x:" + user + ":" + user +
                                   ":fleetadm:/home/fleetadm:/sbin/nologin\n");
  files.add_file("etc/group", "root:x:0:\nfleetadm:x:" + user + ":\n");
  files.add_file("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
  files.add_folder("home/fleetadm", 0750, kUser);
  files.add_folder("tmp", 01777);
  if (!ca_certificates.empty()) files.add_file("etc/ssl/certs/ca-certificates.crt", ca_certificates);
}

/// The folders in which the loader of the image would not look for these libraries.
std::set<std::string> further_folders(const std::vector<std::string>& libraries) {
  std::set<std::string> folders;
  for (const std::string& library : libraries) {
    const std::string folder = library.substr(0, library.rfind('/'));
    if (!searched_by_default(folder)) folders.insert(folder);
  }
  return folders;
}

}  // namespace

std::vector<std::string> loaded_libraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        // The program itself has no name, and what the kernel lends it no folder.
        const std::string path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
        if (path.starts_with('/')) static_cast<std::vector<std::string>*>(into)->push_back(path);
        return 0;
      },
      &paths);
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<PlatformImage> make_program_image(ProgramFiles files) {
  RunConfig config;
  config.entry_point = "/" + std::string(kProgram);
  config.environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/home/fleetadm",
                        "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"};
  config.labels = {{"org.opencontainers.image.title", "fleetadm"},
                   {"org.opencontainers.image.description", "Multi-cluster manager: hub controllers, agent and command line"},
                   {"org.opencontainers.image.version", FLEETADM_VERSION}};
  // What seldom changes is the lower layer: a new binary alone is sent then.
  FileTree system;
  add_system_files(system, files.ca_certificates);
  for (const std::string& library : files.libraries) FLEETADM_CHECK(system.copy(library));
  std::string folders;
  for (const std::string& folder : further_folders(files.libraries)) folders += (folders.empty() ? "" : ":") + folder;
  if (!folders.empty()) config.environment.push_back("LD_LIBRARY_PATH=" + folders);
  FileTree program;
  program.add_file(std::string(kProgram), std::move(files.binary), 0755);

  std::vector<Layer> layers;
  for (const FileTree* tree : {&system, &program}) {
    FLEETADM_TRY(Layer layer, make_layer(*tree));
    layers.push_back(std::move(layer));
  }
  return make_platform_image(files.architecture, std::move(layers), config);
}

}  // namespace fleetadm::image
