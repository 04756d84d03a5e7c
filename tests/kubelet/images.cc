#include "tests/kubelet/images.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "core/image/archive.h"
#include "core/image/elf.h"
#include "core/image/layer.h"
#include "tests/support/fleet.h"

namespace fleetadm::testkit {

Result<std::string> save_workload_image(const TemporaryFolder& folder) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "container_workload";
  std::string content = read_file(program.string());
  if (content.empty()) return fail(Category::kNotFound, program.string() + " is missing", "build the target container_workload");
  image::FileTree files;
  files.add_file("workload", std::move(content), 0755);
  FLEETADM_TRY(image::Layer layer, image::make_layer(files));
  std::vector<image::Layer> layers;
  layers.push_back(std::move(layer));
  std::vector<image::PlatformImage> platforms;
  platforms.push_back(image::make_platform_image(image::own_architecture(), std::move(layers),
                                                 {.entry_point = "/workload", .environment = {}, .labels = {}}));
  FLEETADM_TRY(const image::Reference name, image::parse_reference(kWorkloadImage));
  const auto archive = folder.path() / "workload.tar";
  std::ofstream out(archive, std::ios::binary);
  FLEETADM_CHECK(image::write_archive(image::make_image(std::move(platforms)), name, image::ArchiveFormat::kOci,
                                      [&](std::string_view piece) -> Status {
                                        out << piece;
                                        if (out) return {};
                                        return fail(Category::kInternal, "cannot write " + archive.string());
                                      }));
  return archive.string();
}

}  // namespace fleetadm::testkit
