#include "core/image/registry/push.h"

#include <map>
#include <utility>

namespace fleetadm::image {
namespace {

/// The digest under which the registry has it; empty where it has none.
Result<std::string> digest_at(RegistryClient& registry, const std::string& target, const std::string& accept) {
  return registry.repeat([&](int) -> Result<std::string> {
    RegistryRequest look;
    look.method = kube::Method::kHead;
    look.target = target;
    look.accept = accept;
    const auto answer = registry.send(look);
    if (!answer && answer.error().code == 404) return std::string();
    if (!answer) return fail(answer.error());
    const auto header = answer->headers.find("docker-content-digest");
    return header == answer->headers.end() ? std::string("unknown") : header->second;
  });
}

Result<bool> has_blob(RegistryClient& registry, const std::string& digest) {
  FLEETADM_TRY(const std::string found, digest_at(registry, registry.path("blobs/" + digest), "*/*"));
  return !found.empty();
}

Result<kube::Response> upload(RegistryClient& registry, const Blob& blob) {
  RegistryRequest begin;
  begin.method = kube::Method::kPost;
  begin.target = registry.path("blobs/uploads/");
  FLEETADM_TRY(const kube::Response begun, registry.send(begin));
  const auto location = begun.headers.find("location");
  if (location == begun.headers.end())
    return fail(Category::kInvalid, "the registry " + registry.registry() + " does not say where to upload to");
  FLEETADM_TRY(Url url, resolve_url({registry.base().origin, begin.target}, location->second));
  url.target = with_parameter(url.target, "digest", blob.digest);
  RegistryRequest send;
  send.method = kube::Method::kPut;
  send.elsewhere = &url;
  send.body = blob.content;
  auto sent = registry.send(send);
  if (!sent && sent.error().code == 404) {
    // An upload that was cut is not always there for a second request. A new one is.
    Error error = std::move(sent).error();
    error.code = 0;
    error.category = Category::kUnavailable;
    return fail(std::move(error));
  }
  return sent;
}

Status send_blob(RegistryClient& registry, const Blob& blob) {
  return registry.repeat([&](int number) -> Status {
    if (number > 1) {
      // The answer may have been lost, not the blob.
      FLEETADM_TRY(const bool there, has_blob(registry, blob.digest));
      if (there) return {};
    }
    const auto sent = upload(registry, blob);
    if (!sent) return fail(sent.error().wrap("blob " + blob.digest + " was not uploaded"));
    return {};
  });
}

Status send_manifest(RegistryClient& registry, const Blob& manifest, const std::string& name) {
  return registry.repeat([&](int) -> Status {
    RegistryRequest send;
    send.method = kube::Method::kPut;
    send.target = registry.path("manifests/" + name);
    send.body = manifest.content;
    send.content_type = manifest.media_type;
    const auto sent = registry.send(send);
    if (!sent) return fail(sent.error().wrap("the manifest " + manifest.digest + " was not published"));
    return {};
  });
}

/// Each once: platforms may share layers.
std::map<std::string, const Blob*> blobs_of(const Image& image) {
  std::map<std::string, const Blob*> blobs;
  for (const PlatformImage& one : image.platforms) {
    for (const Layer& layer : one.layers) blobs[layer.blob.digest] = &layer.blob;
    blobs[one.config.digest] = &one.config;
  }
  return blobs;
}

}  // namespace

Result<PushResult> push_image(RegistryClient& registry, const Image& image, const PushOptions& options) {
  const auto tell = [&](const std::string& text) {
    if (options.told) options.told(text);
  };
  PushResult result;
  const auto blobs = blobs_of(image);
  for (const auto& [digest, blob] : blobs) {
    FLEETADM_TRY(const bool there, has_blob(registry, digest));
    if (there) {
      ++result.blobs_present;
      continue;
    }
    tell("blob " + std::to_string(result.blobs_sent + result.blobs_present + 1) + " of " + std::to_string(blobs.size()));
    if (!options.dry_run) FLEETADM_CHECK(send_blob(registry, *blob));
    ++result.blobs_sent;
    result.bytes_sent += blob->content.size();
  }
  if (image.index) {
    for (const PlatformImage& one : image.platforms) {
      FLEETADM_TRY(const std::string found,
                   digest_at(registry, registry.path("manifests/" + one.manifest.digest), one.manifest.media_type));
      if (!found.empty() || options.dry_run) continue;
      FLEETADM_CHECK(send_manifest(registry, one.manifest, one.manifest.digest));
    }
  }
  const Blob& top = image.top();
  const std::string name = registry.path("manifests/" + options.tag);
  FLEETADM_TRY(const std::string before, digest_at(registry, name, top.media_type));
  result.tag_moved = before != top.digest;
  if (!result.tag_moved || options.dry_run) return result;
  FLEETADM_CHECK(send_manifest(registry, top, options.tag));
  FLEETADM_TRY(const std::string after, digest_at(registry, name, top.media_type));
  if (after == top.digest || after == "unknown") return result;
  return fail(Category::kConflict,
              "the tag " + options.tag + " was written but now leads to " + (after.empty() ? "nothing" : after),
              "another push to the same tag may have come between");
}

}  // namespace fleetadm::image
