#include "core/image/archive.h"

#include <map>
#include <string_view>

namespace fleetadm::image {
namespace {

std::string path_of(const Blob& blob) { return "blobs/sha256/" + blob.digest.substr(blob.digest.find(':') + 1); }

Json layout_index(const Image& image, const Reference& name) {
  Json top = image.index ? descriptor_of(*image.index) : manifest_descriptor(image.platforms.front());
  top["annotations"] = {{"io.containerd.image.name", name.full()}, {"org.opencontainers.image.ref.name", name.tag_or_latest()}};
  return {{"schemaVersion", 2},
          {"mediaType", "application/vnd.oci.image.index.v1+json"},
          {"manifests", Json::array({std::move(top)})}};
}

Json docker_list(const PlatformImage& image, const Reference& name) {
  Json layers = Json::array();
  for (const Layer& layer : image.layers) layers.push_back(path_of(layer.blob));
  return Json::array(
      {{{"Config", path_of(image.config)}, {"RepoTags", Json::array({name.familiar()})}, {"Layers", std::move(layers)}}});
}

}  // namespace

Status write_archive(const Image& image, const Reference& name, ArchiveFormat format, const Sink& sink) {
  if (format == ArchiveFormat::kDocker && image.platforms.size() != 1) {
    return fail(Category::kUsage, "an archive in docker's format holds one platform",
                "write one archive for each --platform, or use --format oci");
  }
  std::map<std::string, const Blob*> blobs;
  const auto take = [&](const Blob& blob) { blobs[path_of(blob)] = &blob; };
  for (const PlatformImage& one : image.platforms) {
    for (const Layer& layer : one.layers) take(layer.blob);
    take(one.config);
    take(one.manifest);
  }
  take(image.top());

  TarWriter tar(sink);
  for (const char* folder : {"blobs", "blobs/sha256"}) FLEETADM_CHECK(tar.add({folder, TarEntry::Kind::kFolder, 0755, 0, {}}));
  for (const auto& [path, blob] : blobs) FLEETADM_CHECK(tar.add({path}, blob->content));
  FLEETADM_CHECK(tar.add({"index.json"}, dump_json(layout_index(image, name))));
  if (format == ArchiveFormat::kDocker)
    FLEETADM_CHECK(tar.add({"manifest.json"}, dump_json(docker_list(image.platforms.front(), name))));
  FLEETADM_CHECK(tar.add({"oci-layout"}, dump_json({{"imageLayoutVersion", "1.0.0"}})));
  return tar.finish();
}

}  // namespace fleetadm::image
