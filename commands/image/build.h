// What all image verbs have in common: what goes into the image, and what is told of it.
#pragma once

#include <string>
#include <vector>

#include "commands/framework/command.h"
#include "core/image/image.h"

namespace fleetadm::commands {

struct ImageContents {
  std::vector<std::string> platforms;  // "linux/amd64"; empty: this program's and those of the binaries
  std::vector<std::string> binaries;   // PLATFORM=FILE
  std::string ca_certificates = "system";
};

void image_contents_flags(FlagSet& flags, ImageContents& contents);
Status validate_image_contents(const ImageContents& contents);
/// Reads the binaries and what they need, and makes the image; told as a step.
Result<image::Image> build_image(Context& context, const ImageContents& contents);

/// {"kind": "ImageReport", "image", "digest", "mediaType", "platforms"}
Json image_report(const image::Image& image, const std::string& name);
/// "linux/amd64  sha256:…", and the index's where there are several.
std::vector<std::string> digest_lines(const image::Image& image);
/// "12.5 MiB"
std::string size_text(std::uint64_t bytes);

/// What an image is called unless told otherwise: what init and join deploy.
inline constexpr const char* kDefaultImage = "fleetadm:" FLEETADM_VERSION;

/// The end of the description of save, push and load.
extern const char* const kImageContentsText;

}  // namespace fleetadm::commands
