#include "commands/image/build.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "commands/framework/files.h"
#include "core/image/elf.h"
#include "core/image/program_image.h"
#include "kubeclient/pki/system_roots.h"

namespace fleetadm::commands {
namespace {

constexpr std::size_t kMaxBinary = 1U << 30U;
constexpr std::size_t kMaxBundle = 8U << 20U;
constexpr std::string_view kSystemBundle = "system";
constexpr std::string_view kNoBundle = "none";
constexpr std::array<std::string_view, 2> kPlatforms = {"linux/amd64", "linux/arm64"};

bool known_platform(std::string_view platform) {
  return std::find(kPlatforms.begin(), kPlatforms.end(), platform) != kPlatforms.end();
}

Status check_platform(const std::string& flag, const std::string& platform) {
  if (known_platform(platform)) return {};
  return fail(Category::kUsage, flag + ": \"" + platform + "\" is not a platform of fleetadm", "use linux/amd64 or linux/arm64");
}

/// By platform.
Result<std::map<std::string, std::string>> named_binaries(const ImageContents& contents) {
  std::map<std::string, std::string> files;
  for (const std::string& text : contents.binaries) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals + 1 == text.size())
      return fail(Category::kUsage, "--binary \"" + text + "\" is not PLATFORM=FILE",
                  "for example: --binary linux/arm64=./fleetadm");
    FLEETADM_CHECK(check_platform("--binary", text.substr(0, equals)));
    if (!files.emplace(text.substr(0, equals), text.substr(equals + 1)).second)
      return fail(Category::kUsage, "--binary names two files for " + text.substr(0, equals));
  }
  return files;
}

Result<std::string> ca_bundle(const ImageContents& contents) {
  if (contents.ca_certificates == kNoBundle) return std::string();
  std::string path = contents.ca_certificates;
  if (path == kSystemBundle) {
    path = pki::system_roots_file();
    if (path.empty()) {
      return fail(Category::kUsage, "this machine has no bundle of CA certificates",
                  "name one with --ca-certificates, or make an image without: --ca-certificates none");
    }
  }
  FLEETADM_TRY(std::string bundle, read_whole_file(path, kMaxBundle));
  if (bundle.find("-----BEGIN CERTIFICATE-----") == std::string::npos)
    return fail(Category::kUsage, "--ca-certificates: \"" + path + "\" holds no PEM certificate");
  // An image is read by everybody who can pull it.
  if (bundle.find("PRIVATE KEY-----") != std::string::npos)
    return fail(Category::kUsage, "--ca-certificates: \"" + path + "\" holds a private key");
  return bundle;
}

Result<image::PlatformImage> platform_image(Context& context, const std::string& platform, const std::string& file,
                                            const std::string& bundle) {
  const bool own = file.empty();
  const std::string path = own ? context.executable() : file;
  image::ProgramFiles files;
  FLEETADM_TRY(files.binary, read_whole_file(path, kMaxBinary));
  const auto executable = image::read_executable(files.binary);
  if (!executable) {
    Error error = executable.error().wrap("\"" + path + "\"");
    error.category = Category::kUsage;
    return fail(std::move(error));
  }
  if ("linux/" + executable->architecture != platform)
    return fail(Category::kUsage, "\"" + path + "\" is for linux/" + executable->architecture + ", not for " + platform);
  files.architecture = executable->architecture;
  files.ca_certificates = bundle;
  if (!executable->interpreter.empty()) {
    if (!own) {
      return fail(Category::kUsage, "\"" + path + "\" needs shared libraries, which are known of the running program only",
                  "name a binary that is linked statically, or run that binary's own `image` command on its platform");
    }
    if (!context.env("LD_PRELOAD").empty())
      return fail(Category::kUsage, "LD_PRELOAD is set: its libraries would become part of the image", "unset LD_PRELOAD");
    files.libraries = image::loaded_libraries();
  }
  return image::make_program_image(std::move(files));
}

}  // namespace

const char* const kImageContentsText =
    "The image holds this very binary, the shared libraries that it has loaded (none if it is linked statically), a bundle of CA "
    "certificates, and a user without privileges (65532). It is made without a container engine, and the same files give the same "
    "digest. For another platform, name its binary with --binary; that one has to be linked statically.";

void image_contents_flags(FlagSet& flags, ImageContents& contents) {
  Flag& platforms =
      flags.comma_texts(&contents.platforms, "platform",
                        "Platforms of the image: linux/amd64, linux/arm64 (default: this program's and those of --binary)");
  platforms.value_name = "OS/ARCH[,OS/ARCH...]";
  flags.texts(&contents.binaries, "binary", "fleetadm binary for a platform; repeatable").value_name = "PLATFORM=FILE";
  Flag& bundle =
      flags.text(&contents.ca_certificates, "ca-certificates",
                 "CA certificates (PEM) that the image trusts: a file, \"system\" (the bundle of this machine) or \"none\"");
  bundle.value_name = "FILE|system|none";
  bundle.default_text = contents.ca_certificates;
  bundle.complete = Complete::kFiles;
}

Status validate_image_contents(const ImageContents& contents) {
  FLEETADM_TRY(const auto binaries, named_binaries(contents));
  const std::string own = "linux/" + image::own_architecture();
  for (const std::string& platform : contents.platforms) {
    FLEETADM_CHECK(check_platform("--platform", platform));
    if (platform != own && !binaries.contains(platform)) {
      return fail(Category::kUsage, "the binary for " + platform + " is not named: this one is for " + own,
                  "add --binary " + platform + "=FILE");
    }
  }
  for (const auto& [platform, file] : binaries) {
    if (!contents.platforms.empty() &&
        std::find(contents.platforms.begin(), contents.platforms.end(), platform) == contents.platforms.end())
      return fail(Category::kUsage, "--binary names a file for " + platform + ", which --platform leaves out");
  }
  if (contents.ca_certificates.empty()) return fail(Category::kUsage, "--ca-certificates is empty", "use \"none\" for no CA");
  return {};
}

Result<image::Image> build_image(Context& context, const ImageContents& contents) {
  FLEETADM_TRY(const auto binaries, named_binaries(contents));
  std::set<std::string> platforms(contents.platforms.begin(), contents.platforms.end());
  if (platforms.empty()) {
    platforms.insert("linux/" + image::own_architecture());
    for (const auto& [platform, file] : binaries) platforms.insert(platform);
  }
  context.progress().begin("Making the image");
  auto made = [&]() -> Result<image::Image> {
    FLEETADM_TRY(const std::string bundle, ca_bundle(contents));
    std::vector<image::PlatformImage> images;
    for (const std::string& platform : platforms) {
      if (context.stop().stop_requested()) return fail(Category::kCancelled, "cancelled");
      const auto named = binaries.find(platform);
      FLEETADM_TRY(auto one, platform_image(context, platform, named == binaries.end() ? std::string() : named->second, bundle));
      images.push_back(std::move(one));
    }
    return image::make_image(std::move(images));
  }();
  if (made) {
    context.progress().done(made->top().digest);
  } else {
    context.progress().failed(made.error().message);
  }
  return made;
}

Json image_report(const image::Image& image, const std::string& name) {
  Json platforms = Json::array();
  for (const image::PlatformImage& one : image.platforms) {
    std::uint64_t size = one.config.content.size();
    for (const image::Layer& layer : one.layers) size += layer.blob.content.size();
    platforms.push_back({{"platform", one.platform}, {"digest", one.manifest.digest}, {"size", size}});
  }
  return {{"kind", "ImageReport"},
          {"image", name},
          {"digest", image.top().digest},
          {"mediaType", image.top().media_type},
          {"platforms", std::move(platforms)}};
}

std::vector<std::string> digest_lines(const image::Image& image) {
  std::vector<std::string> lines;
  for (const image::PlatformImage& one : image.platforms) lines.push_back(one.platform + " " + one.manifest.digest);
  if (image.index) lines.push_back("all platforms " + image.index->digest);
  return lines;
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kKibi = 1024;
  if (bytes < kKibi * kKibi) return std::to_string((bytes + kKibi - 1) / kKibi) + " KiB";
  const std::uint64_t tenths = bytes * 10 / (kKibi * kKibi);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MiB";
}

}  // namespace fleetadm::commands
