// image push: the image of this program to a registry.
#include "core/image/registry/push.h"

#include "commands/framework/dry_run.h"
#include "commands/framework/files.h"
#include "commands/image/build.h"
#include "commands/image/image.h"
#include "core/image/reference.h"
#include "kubeclient/base/plural.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::commands {
namespace {

constexpr std::size_t kMaxCaFile = 1U << 20U;

struct PushCommandOptions {
  ImageContents contents;
  std::string ca_file;
  std::string auth_file;
  bool plain_http = false;
};

Result<image::Reference> destination(const std::string& text) {
  FLEETADM_TRY(image::Reference reference, image::parse_reference(text));
  if (!reference.digest.empty())
    return fail(Category::kUsage, "\"" + text + "\" has a digest, which follows from the image's content",
                "name a tag, or nothing");
  // docker.io has to be named: a name without a registry is more often a slip than a wish to publish.
  if (text.find('/') == std::string::npos || (reference.registry == "docker.io" && text.find("docker.io/") == std::string::npos))
    return fail(Category::kUsage, "\"" + text + "\" names no registry", "for example: registry.example.com/" + text);
  if (reference.tag.empty()) reference.tag = FLEETADM_VERSION;
  return reference;
}

Status validate_push(const PushCommandOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const auto reference, destination(args.front()));
  if (options.plain_http && !options.ca_file.empty())
    return fail(Category::kUsage, "--plain-http cannot be combined with --ca-file", "use only one of them");
  return validate_image_contents(options.contents);
}

/// docker's file, where docker looks for it.
image::LoginSource login_source(const Context& context, const std::string& chosen) {
  image::LoginSource source;
  source.config_file = chosen;
  source.required = !chosen.empty();
  if (chosen.empty()) {
    const std::string folder = context.env("DOCKER_CONFIG");
    source.config_file = (folder.empty() ? context.env("HOME") + "/.docker" : folder) + "/config.json";
  }
  source.search_path = context.env("PATH");
  return source;
}

Result<image::RegistryClient> registry_client(Context& context, const image::Reference& reference,
                                              const PushCommandOptions& options) {
  image::RegistryOptions how;
  how.plain_http = options.plain_http;
  how.stop = context.stop();
  if (context.global().request_timeout > Duration::zero()) how.answer_timeout = context.global().request_timeout;
  if (!options.ca_file.empty()) {
    FLEETADM_TRY(how.ca_data, read_whole_file(options.ca_file, kMaxCaFile));
    if (auto certificates = pki::parse_certificates(how.ca_data); !certificates) {
      Error error = certificates.error().wrap("--ca-file \"" + options.ca_file + "\"");
      error.category = Category::kUsage;
      return fail(std::move(error));
    }
  }
  image::LoginSource source = login_source(context, options.auth_file);
  source.stop = context.stop();
  FLEETADM_TRY(how.login, image::find_login(reference.registry, source));
  how.on_retry = [&context](const Error& error, Duration delay) {
    context.progress().warn(error.message + "; next try in " + format_duration(std::chrono::ceil<std::chrono::seconds>(delay)));
  };
  return image::RegistryClient::make(reference, std::move(how));
}

Result<Report> run_push(Context& context, const PushCommandOptions& options, const std::vector<std::string>& args) {
  FLEETADM_TRY(const image::Reference reference, destination(args.front()));
  FLEETADM_TRY(image::RegistryClient registry, registry_client(context, reference, options));
  FLEETADM_TRY(const image::Image image, build_image(context, options.contents));
  const std::string name = reference.full();
  context.progress().begin("Pushing to " + name);
  image::PushOptions push;
  push.tag = reference.tag;
  push.dry_run = is_dry(context);
  push.told = [&context](const std::string& text) { context.progress().note(text); };
  const auto pushed = image::push_image(registry, image, push);
  if (!pushed) {
    context.progress().failed(pushed.error().message);
    return fail(pushed.error());
  }
  context.progress().done();

  const std::string pinned = reference.name() + "@" + image.top().digest;
  Report report;
  report.data = image_report(image, name);
  report.data["reference"] = pinned;
  report.data["blobsSent"] = pushed->blobs_sent;
  report.data["blobsPresent"] = pushed->blobs_present;
  report.data["bytesSent"] = pushed->bytes_sent;
  report.names.push_back(pinned);
  if (pushed->blobs_sent == 0 && !pushed->tag_moved) {
    report.lines.push_back("image " + name + " is already there; nothing was sent" + dry_run_mark(context));
  } else {
    report.lines.push_back("image " + name + " pushed: " + pluralize(static_cast<std::uint64_t>(pushed->blobs_sent), "blob") +
                           " sent (" + size_text(pushed->bytes_sent) + "), " + std::to_string(pushed->blobs_present) +
                           " already there" + dry_run_mark(context));
  }
  for (std::string& line : digest_lines(image)) report.lines.push_back(std::move(line));
  if (!is_dry(context)) report.notes.push_back("Deploy it with: fleetadm init --image " + pinned);
  return report;
}

}  // namespace

void register_image_push(Registry& registry) {
  Command command;
  command.path = "image push";
  command.group = "Programs";
  command.summary = "Push the image of this program to a registry";
  command.description =
      std::string(
          "Sends the image to a registry. Blobs that the registry already has are not sent again, and the tag is set last, so that "
          "nothing incomplete can be pulled. If no tag is given, it is this program's version.\n\n"
          "The login is the one that `docker login` or `podman login` has stored (--auth-file, $DOCKER_CONFIG/config.json, "
          "~/.docker/config.json), including credential helpers. It is sent to the registry and to the token service that the "
          "registry names, and to no other host. The registry's certificate is always verified.\n\n") +
      kImageContentsText;
  command.args = {"REGISTRY/REPOSITORY[:TAG]", 1, 1};
  command.target = Target::kSilent;
  command.examples = {
      {"To a registry with a public certificate", "fleetadm image push registry.example.com/team/fleetadm"},
      {"To one with a CA of its own", "fleetadm image push registry.example.com:5000/fleetadm:1.0 --ca-file registry-ca.crt"},
      {"The digest that was pushed, for `fleetadm init --image`",
       "fleetadm image push registry.example.com/fleetadm:1.0 -o jsonpath={.reference}"}};
  command.make = invocation<PushCommandOptions>(
      [](FlagSet& flags, PushCommandOptions& options) {
        image_contents_flags(flags, options.contents);
        file_flag(flags, &options.ca_file, "ca-file", "CA of the registry (PEM), trusted instead of the system's");
        file_flag(flags, &options.auth_file, "auth-file",
                  "Docker config.json with the login (default: $DOCKER_CONFIG/config.json or ~/.docker/config.json)");
        flags.boolean(&options.plain_http, "plain-http", "Do not use TLS; only for a registry on this machine");
      },
      validate_push, run_push);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
