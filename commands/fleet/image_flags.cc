#include "commands/fleet/image_flags.h"

#include <utility>

#include "core/image/reference.h"
#include "core/image/registry/login.h"
#include "core/install/image_presence.h"
#include "kubeclient/base/names.h"

namespace fleetadm::commands {
namespace {

constexpr std::string_view kDefaultImageName = "fleetadm:" FLEETADM_VERSION;
// The name that Open Cluster Management's own installers give it.
constexpr std::string_view kPullSecret = "open-cluster-management-image-pull-credentials";

std::string image_of(const ImageOptions& options) {
  if (!options.image.empty()) return options.image;
  if (options.registry.empty()) return std::string(kDefaultImageName);
  std::string registry = options.registry;
  while (registry.ends_with('/')) registry.pop_back();
  return registry + "/" + std::string(kDefaultImageName);
}

Result<Json> credential_secret(Context& context, const ImageOptions& options, const std::string& image, std::string_view ns) {
  FLEETADM_TRY(const image::Reference reference, image::parse_reference(image));
  FLEETADM_TRY(const image::Login login,
               image::find_login(reference.registry, {options.credential_file, true, context.env("PATH"), context.stop()}));
  if (login.username.empty() || login.password.empty()) {
    return fail(Category::kUsage,
                "--image-pull-credential-file: \"" + options.credential_file + "\" has no user name and password for " +
                    reference.registry,
                "log in with an account that may pull: docker login " + reference.registry);
  }
  return install::image_pull_secret(std::string(ns), std::string(kPullSecret), reference.registry, login.username,
                                    login.password);
}

}  // namespace

void image_flags(FlagSet& flags, ImageOptions& options, const std::string& what) {
  Flag& image = flags.text(&options.image, "image", "fleetadm image for " + what + ", by tag or as REPOSITORY@sha256:DIGEST");
  image.default_text = kDefaultImageName;
  image.value_name = "IMAGE";
  flags.text(&options.registry, "image-registry", "Registry, with a path if need be, that has the default image").value_name =
      "REGISTRY[/PATH]";
  flags
      .texts(&options.secrets, "image-pull-secret",
             "Existing Secret in the pods' namespace with the login to the image's registry; repeatable")
      .value_name = "NAME";
  Flag& file = flags.text(&options.credential_file, "image-pull-credential-file",
                          "Docker config.json with the login to the image's registry, which is stored in a Secret for the pods");
  file.value_name = "FILE";
  file.complete = Complete::kFiles;
  flags.choice(&options.policy, "image-pull-policy", {"Always", "IfNotPresent", "Never"},
               "When nodes pull the image (default: IfNotPresent, or Always for the tag latest)");
}

Status validate_image_options(const ImageOptions& options) {
  if (!options.image.empty() && !options.registry.empty()) {
    return fail(Category::kUsage, "--image cannot be combined with --image-registry",
                "--image-registry is where the default image is; --image names all of it");
  }
  if (const auto image = image::parse_reference(image_of(options)); !image)
    return fail(image.error().wrap(options.registry.empty() ? "--image" : "--image-registry"));
  for (const std::string& name : options.secrets) {
    if (!is_dns_subdomain(name))
      return fail(Category::kUsage, "--image-pull-secret \"" + name + "\" is not a valid name of a Secret",
                  "use lowercase letters, digits, '-' and '.'");
  }
  return {};
}

Result<DeployedImage> deployed_image(Context& context, const ImageOptions& options, std::string_view ns) {
  DeployedImage deployed{image_of(options), {options.policy, options.secrets}, std::nullopt};
  if (options.credential_file.empty()) return deployed;
  FLEETADM_TRY(deployed.secret, credential_secret(context, options, deployed.image, ns));
  deployed.pull.secrets.emplace_back(kPullSecret);
  return deployed;
}

void warn_of_missing_image(Context& context, const kube::Client& cluster, const DeployedImage& image) {
  const auto reference = image::parse_reference(image.image);
  if (!reference) return;
  const bool never = image.pull.policy == "Never";
  // Docker Hub stands for "no registry was named"; nobody publishes fleetadm there under the name of the default image.
  const bool unpublished = image.image == kDefaultImageName;
  if (!never && !unpublished) return;
  const auto presence = install::image_presence(
      cluster, reference->digest.empty() ? reference->full() : reference->name() + "@" + reference->digest);
  if (!presence || presence->without.empty()) return;  // who may not read nodes is told nothing
  const std::size_t missing = presence->without.size();
  const std::string where =
      presence->with == 0 ? "no node lists"
      : missing == 1      ? "node " + presence->without.front() + " does not list"
                          : std::to_string(missing) + " of " + std::to_string(missing + presence->with) + " nodes do not list";
  context.progress().warn(where + " the image " + image.image +
                          (never ? ", and --image-pull-policy Never forbids pulling it" : ", and no registry is named for it") +
                          ": load it on each node (`fleetadm image load`), which then lists it within a minute" +
                          (never ? "" : ", or push it (`fleetadm image push`) and use --image-registry"));
}

}  // namespace fleetadm::commands
