// image load: the image of this program into the containerd of this machine.
#include <filesystem>
#include <system_error>

#include "commands/framework/dry_run.h"
#include "commands/image/archive_file.h"
#include "commands/image/build.h"
#include "commands/image/image.h"
#include "core/image/archive.h"
#include "kubeclient/base/ascii.h"
#include "kubeclient/config/process.h"

namespace fleetadm::commands {
namespace {

struct LoadOptions {
  ImageContents contents;
  std::string name = kDefaultImage;
  std::string address;
  std::string containerd_namespace = "k8s.io";
};

Status validate_load(const LoadOptions& options, const std::vector<std::string>&) {
  FLEETADM_TRY(const image::Reference name, image::parse_reference(options.name));
  if (!name.digest.empty()) return fail(Category::kUsage, "--name cannot have a digest: it follows from the image's content");
  if (options.containerd_namespace.empty()) return fail(Category::kUsage, "--containerd-namespace is empty");
  return validate_image_contents(options.contents);
}

Result<std::string> ctr_program(const Context& context) {
  std::string program = kube::find_executable("ctr", context.env("PATH"));
  if (!program.empty()) return program;
  return fail(Category::kNotFound, "ctr, containerd's command line, is not on the PATH",
              "install containerd, or write a file and load it by other means: fleetadm image save FILE");
}

std::filesystem::path temporary_folder(const Context& context) {
  const std::string chosen = context.env("TMPDIR");
  return chosen.empty() ? "/tmp" : chosen;
}

Status import_with_ctr(Context& context, const LoadOptions& options, const std::string& program, const std::string& archive) {
  kube::ProcessOptions call;
  call.command = program;
  if (!options.address.empty()) call.args = {"--address", options.address};
  for (const char* arg : {"--namespace", options.containerd_namespace.c_str(), "images", "import", "--all-platforms"})
    call.args.emplace_back(arg);
  call.args.push_back(archive);
  call.timeout = std::chrono::minutes(5);
  call.stop = context.stop();
  FLEETADM_TRY(const auto done, kube::run_process(call));
  if (done.exit_code == 0) return {};
  // Its own words went to stderr.
  return fail(Category::kUnavailable, "ctr did not import the image (exit code " + std::to_string(done.exit_code) + ")",
              "is containerd running, and may this user write to its socket? --address names another one");
}

Result<Report> run_load(Context& context, const LoadOptions& options, const std::vector<std::string>&) {
  FLEETADM_TRY(const std::string program, ctr_program(context));
  FLEETADM_TRY(const image::Reference name, image::parse_reference(options.name));
  FLEETADM_TRY(const image::Image image, build_image(context, options.contents));
  if (!is_dry(context)) {
    FLEETADM_TRY(ArchiveFile file, ArchiveFile::create((temporary_folder(context) / "fleetadm-image.tar").string()));
    FLEETADM_CHECK(
        image::write_archive(image, name, image::ArchiveFormat::kOci, [&](std::string_view piece) { return file.write(piece); }));
    context.progress().begin("Importing it into containerd");
    Status imported = import_with_ctr(context, options, program, file.unfinished_path());
    if (!imported) {
      context.progress().failed(imported.error().message);
      return fail(imported.error());
    }
    context.progress().done();
  }
  Report report;
  report.data = image_report(image, name.full());
  report.names.push_back(image.top().digest);
  report.lines.push_back("image " + name.full() + " loaded into containerd" + dry_run_mark(context));
  for (std::string& line : digest_lines(image)) report.lines.push_back(std::move(line));
  return report;
}

}  // namespace

void register_image_load(Registry& registry) {
  Command command;
  command.path = "image load";
  command.group = "Programs";
  command.summary = "Load the image of this program into containerd";
  command.description =
      std::string(
          "Makes the image and imports it into the containerd of this machine, where the kubelet finds it without a registry. This "
          "runs `ctr images import`, containerd's own command line, which has to be installed; fleetadm does not speak containerd's "
          "API. Do this on every node that pods may run on.\n\n") +
      kImageContentsText;
  command.target = Target::kSilent;
  command.examples = {{"On a node, before `fleetadm init`", "fleetadm image load"},
                      {"Into the containerd of k3s", "fleetadm image load --address /run/k3s/containerd/containerd.sock"}};
  command.make = invocation<LoadOptions>(
      [](FlagSet& flags, LoadOptions& options) {
        image_contents_flags(flags, options.contents);
        Flag& name = flags.text(&options.name, "name", "Name of the image in containerd");
        name.value_name = "IMAGE";
        name.default_text = options.name;
        flags.text(&options.address, "address", "containerd's socket (default: the one of ctr)").value_name = "SOCKET";
        Flag& space =
            flags.text(&options.containerd_namespace, "containerd-namespace", "containerd's namespace; the kubelet uses k8s.io");
        space.value_name = "NAME";
        space.default_text = options.containerd_namespace;
      },
      validate_load, run_load);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
