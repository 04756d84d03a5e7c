// Which image init and join deploy, and how the kubelets get it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/framework/command.h"
#include "core/install/image_pull.h"

namespace fleetadm::commands {

struct ImageOptions {
  std::string image;     // empty: the default one
  std::string registry;  // that the default one is in
  std::string policy;
  std::vector<std::string> secrets;
  std::string credential_file;
};

/// `what`: "the hub controllers"
void image_flags(FlagSet& flags, ImageOptions& options, const std::string& what);
Status validate_image_options(const ImageOptions& options);

struct DeployedImage {
  std::string image;
  install::ImagePull pull;
  std::optional<Json> secret;  // to be made in the namespace before the pods
};

/// Of pods in the namespace. Reads the file of --image-pull-credential-file, and asks the helpers that it names.
Result<DeployedImage> deployed_image(Context& context, const ImageOptions& options, std::string_view ns);

/// Warns where nodes of the cluster cannot get the image, as far as that is known: they do not have it, and may not pull it or
/// are told no registry that has it.
void warn_of_missing_image(Context& context, const kube::Client& cluster, const DeployedImage& image);

}  // namespace fleetadm::commands
