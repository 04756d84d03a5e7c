#include "tests/kubelet/images.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "core/image/archive.h"
#include "core/image/elf.h"
#include "core/image/layer.h"
#include "tests/support/fleet.h"
#include "tests/support/shell.h"

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

Result<std::string> save_former_image(const TemporaryFolder& folder) {
  // The first bytes alone: compilers keep short texts in instructions, in pieces.
  static constexpr std::string_view kThis = "v0.1";
  static constexpr std::string_view kFormer = "v0.0";
  static_assert(std::string_view(FLEETADM_VERSION).starts_with(kThis), "name the digits of this version");
  std::string program = read_file(Fleet::binary());
  for (auto at = program.find(kThis); at != std::string::npos; at = program.find(kThis, at + 1))
    program.replace(at, kFormer.size(), kFormer);
  const std::string file = folder.write("former", program);
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  const auto archive = folder.path() / "former.tar";
  const Ran saved = run_shell("HOME='" + folder.path().string() + "' '" + file + "' image save '" + archive.string() + "'",
                              (folder.path() / "former.log").string());
  if (saved.code == 0 && saved.out.find(kFormerVersion) != std::string::npos) return archive.string();
  return fail(Category::kInternal, "image save of a former version: " + saved.both());
}

}  // namespace fleetadm::testkit
