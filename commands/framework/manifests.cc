#include "commands/framework/manifests.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "commands/framework/files.h"
#include "commands/framework/grammar.h"
#include "core/work/rules/names.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::commands {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFile = 64ULL << 20U;

bool is_manifest_file(const fs::path& path) {
  const std::string ending = path.extension().string();
  return ending == ".yaml" || ending == ".yml" || ending == ".json";
}

Result<std::vector<fs::path>> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error) && is_manifest_file(it->path())) files.push_back(it->path());
  }
  if (error) return fail(Category::kUsage, "cannot read the folder " + folder.string() + ": " + error.message());
  if (files.empty()) {
    return fail(Category::kUsage, "the folder " + folder.string() + " has no .yaml, .yml or .json file");
  }
  std::sort(files.begin(), files.end());
  return files;
}

Status add_documents(const std::string& text, const std::string& file, std::vector<LoadedManifest>& into) {
  Result<std::vector<YamlDocument>> documents = parse_yaml_documents(text);
  if (!documents) {
    Error error = documents.error().wrap(file == "-" ? "stdin" : file);
    error.category = Category::kUsage;  // what was given is wrong; no server has refused anything
    return tl::unexpected(std::move(error));
  }
  for (YamlDocument& document : *documents) {
    if (document.value.is_null()) continue;
    LoadedManifest manifest{std::move(document.value), file, document.line};
    if (!manifest.object.is_object()) {
      return fail(Category::kUsage, manifest.where() + ": the document is not a Kubernetes object");
    }
    const bool list = str(manifest.object, {"kind"}) == "List" && str(manifest.object, {"apiVersion"}) == "v1";
    if (!list) {
      into.push_back(std::move(manifest));
      continue;
    }
    for (const Json& item : list_at(manifest.object, {"items"})) into.push_back({item, file, manifest.line});
  }
  return {};
}

std::string identity_of(const Json& object) {
  return str(object, {"apiVersion"}) + " " + str(object, {"kind"}) + " " + namespace_of(object) + "/" + name_of(object);
}

}  // namespace

Flag& manifests_flag(FlagSet& flags, std::vector<std::string>& into) {
  return filenames_flag(flags, &into, "file or folder with manifests, or - for stdin; may be repeated");
}

std::string LoadedManifest::where() const { return (file == "-" ? std::string("stdin") : file) + ":" + std::to_string(line); }

Result<std::vector<LoadedManifest>> load_manifests(Context& context, const std::vector<std::string>& files) {
  std::vector<LoadedManifest> manifests;
  for (const std::string& name : files) {
    if (name == "-") {
      FLEETADM_TRY(const std::string text, read_file_or_stdin(context, name, kMaxFile));
      FLEETADM_CHECK(add_documents(text, "-", manifests));
      continue;
    }
    if (name.starts_with("http://") || name.starts_with("https://")) {
      return fail(Category::kUsage, "-f does not accept URLs: " + name, "download and review it first, then pass the file");
    }
    std::error_code error;
    const fs::file_status status = fs::status(name, error);
    if (status.type() == fs::file_type::not_found) {
      return fail(Category::kUsage, "no such file or folder: " + name, "check -f");
    }
    std::vector<fs::path> paths{name};
    if (fs::is_directory(status)) {
      FLEETADM_TRY(paths, files_below(name));
    }
    for (const fs::path& path : paths) {
      FLEETADM_TRY(const std::string text, read_whole_file(path.string(), kMaxFile));
      FLEETADM_CHECK(add_documents(text, path.string(), manifests));
    }
  }
  return manifests;
}

Status check_manifests(const std::vector<LoadedManifest>& manifests) {
  if (manifests.empty()) return fail(Category::kUsage, "no manifests found in the -f files", "a work needs at least one object");
  std::map<std::string, std::string> seen;
  for (const LoadedManifest& manifest : manifests) {
    const Json& object = manifest.object;
    const std::string where = manifest.where() + ": ";
    if (!object.is_object() || str(object, {"apiVersion"}).empty() || str(object, {"kind"}).empty()) {
      return fail(Category::kUsage, where + "the manifest has no apiVersion or kind");
    }
    if (!str(object, {"metadata", "generateName"}).empty()) {
      return fail(Category::kUsage,
                  where + "the " + str(object, {"kind"}) + " has generateName, which a work cannot keep track of",
                  "give it metadata.name");
    }
    if (name_of(object).empty()) return fail(Category::kUsage, where + "the " + str(object, {"kind"}) + " has no metadata.name");
    const auto [first, added] = seen.emplace(identity_of(object), manifest.where());
    if (!added) return fail(Category::kUsage, where + identity_of(object) + " is already in " + first->second);
    // A work of this one object alone would be refused by every hub.
    if (const std::size_t bytes = dump_json(object).size(); bytes > work::kManifestLimit) {
      return fail(Category::kInvalid,
                  where + "the " + str(object, {"kind"}) + " is " + std::to_string((bytes + 1023) / 1024) +
                      " KiB, which exceeds the limit of " + std::to_string(work::kManifestLimit / 1024) + " KiB per work",
                  "make the object smaller, or store its content where the cluster can fetch it");
    }
  }
  return {};
}

Json manifest_list(const std::vector<LoadedManifest>& manifests) {
  Json list = Json::array();
  for (const LoadedManifest& manifest : manifests) list.push_back(manifest.object);
  return list;
}

}  // namespace fleetadm::commands
