// image save: the image of this program as a file.
#include "commands/framework/dry_run.h"
#include "commands/image/archive_file.h"
#include "commands/image/build.h"
#include "commands/image/image.h"
#include "core/image/archive.h"

namespace fleetadm::commands {
namespace {

constexpr std::string_view kStdout = "-";

struct SaveOptions {
  ImageContents contents;
  std::string format = "oci";
  std::string name = kDefaultImage;
};

Status validate_save(const SaveOptions& options, const std::vector<std::string>&) {
  FLEETADM_TRY(const image::Reference name, image::parse_reference(options.name));
  if (!name.digest.empty()) return fail(Category::kUsage, "--name cannot have a digest: it follows from the image's content");
  return validate_image_contents(options.contents);
}

Result<Report> run_save(Context& context, const SaveOptions& options, const std::vector<std::string>& args) {
  const std::string& path = args.front();
  const bool to_stdout = path == kStdout;
  if (to_stdout && context.terminal().stdout_is_terminal())
    return fail(Category::kUsage, "an image is not written to a terminal", "redirect stdout, or name a file");
  if (to_stdout && !context.global().output.empty())
    return fail(Category::kUsage, "--output cannot be combined with an image on stdout", "name a file");
  FLEETADM_TRY(const image::Reference name, image::parse_reference(options.name));
  FLEETADM_TRY(const image::Image image, build_image(context, options.contents));
  const auto format = options.format == "docker" ? image::ArchiveFormat::kDocker : image::ArchiveFormat::kOci;

  Report report;
  if (to_stdout) {
    FLEETADM_CHECK(image::write_archive(image, name, format, [&](std::string_view piece) -> Status {
      if (is_dry(context) || context.terminal().write_stdout(piece)) return {};
      return fail(Category::kUsage, "cannot write the image to stdout: its reader is gone, or the disk is full");
    }));
    report.notes.push_back("Saved " + name.familiar() + " (" + image.top().digest + ")" + dry_run_mark(context) + ".");
    return report;
  }
  std::uint64_t size = 0;
  if (is_dry(context)) {
    FLEETADM_CHECK(image::write_archive(image, name, format, [&](std::string_view piece) -> Status {
      size += piece.size();
      return {};
    }));
  } else {
    FLEETADM_TRY(ArchiveFile file, ArchiveFile::create(path));
    FLEETADM_CHECK(image::write_archive(image, name, format, [&](std::string_view piece) { return file.write(piece); }));
    FLEETADM_CHECK(file.commit());
    size = file.size();
  }
  report.data = image_report(image, name.familiar());
  report.data["file"] = path;
  report.data["fileSize"] = size;
  report.names.push_back(image.top().digest);
  report.lines.push_back("image " + name.familiar() + " saved to " + path + " (" + size_text(size) + ")" + dry_run_mark(context));
  for (std::string& line : digest_lines(image)) report.lines.push_back(std::move(line));
  return report;
}

}  // namespace

void register_image_save(Registry& registry) {
  Command command;
  command.path = "image save";
  command.group = "Programs";
  command.summary = "Write the image of this program to a file";
  command.description =
      std::string(
          "Writes an OCI image layout as a tar archive, which containerd, podman and skopeo read, or with --format docker one that "
          "`docker load` reads, too. \"-\" is stdout.\n\n") +
      kImageContentsText;
  command.args = {"FILE", 1, 1, false, Complete::kFiles};
  command.target = Target::kSilent;
  command.examples = {
      {"An image for containerd", "fleetadm image save fleetadm.tar"},
      {"For docker, under the name of a registry",
       "fleetadm image save fleetadm.tar --format docker --name registry.example.com/fleetadm:1.0"},
      {"Its digest, for a script", "fleetadm image save fleetadm.tar -o jsonpath={.digest}"},
      {"For both platforms",
       "fleetadm image save fleetadm.tar --platform linux/amd64,linux/arm64 --binary linux/arm64=fleetadm-arm64"}};
  command.make = invocation<SaveOptions>(
      [](FlagSet& flags, SaveOptions& options) {
        image_contents_flags(flags, options.contents);
        flags.choice(&options.format, "format", {"oci", "docker"}, "Format of the archive").default_text = options.format;
        Flag& name = flags.text(&options.name, "name", "Name of the image in the archive");
        name.value_name = "IMAGE";
        name.default_text = options.name;
      },
      validate_save, run_save);
  registry.add(std::move(command));
}

}  // namespace fleetadm::commands
