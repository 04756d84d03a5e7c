// The files of a pod: volumes as folders, tokens that are renewed.
#include <fstream>
#include <sstream>
#include <sys/stat.h>

#include "core/sandbox/node/pod.h"

namespace fleetadm::sandbox {
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kAccountPath = "/var/run/secrets/kubernetes.io/serviceaccount";

bool stays_inside(const fs::path& path) {
  if (path.empty() || path.is_absolute()) return false;
  for (const auto& part : path) {
    if (part == "..") return false;
  }
  return true;
}

std::optional<std::string> read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

Status write_files(const fs::path& folder, const std::map<std::string, std::string>& files) {
  std::error_code error;
  fs::create_directories(folder, error);
  for (const auto& [name, content] : files) {
    if (!stays_inside(name)) return fail(Category::kInvalid, "the path \"" + name + "\" leaves its volume");
    const fs::path file = folder / name;
    if (read_file(file) == content) continue;
    fs::create_directories(file.parent_path(), error);
    const fs::path part = file.string() + ".part";
    {
      std::ofstream out(part, std::ios::binary | std::ios::trunc);
      chmod(part.c_str(), S_IRUSR | S_IWUSR);
      out << content;
      out.close();
      if (!out) return fail(Category::kInternal, "cannot write " + file.string());
    }
    fs::rename(part, file, error);
    if (error) return fail(Category::kInternal, "cannot write " + file.string() + ": " + error.message());
  }
  std::vector<fs::path> stale;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    if (entry.is_regular_file() && !files.contains(entry.path().lexically_relative(folder).string()))
      stale.push_back(entry.path());
  }
  for (const fs::path& file : stale) fs::remove(file, error);
  return {};
}

Status Pod::refresh_files(const Json& pod, Instant now) {
  Lookup lookup = host_.lookup;
  lookup.token = [&](const TokenAsk& ask) -> Result<std::string> {
    Token& token = tokens_[ask.audience + "/" + std::to_string(ask.seconds)];
    if (token.text.empty() || now >= token.renew_at) {
      FLEETADM_TRY(token.text, host_.lookup.token(ask));
      token.renew_at = now + std::chrono::seconds(ask.seconds) * 4 / 5;
    }
    return token.text;
  };
  for (const Json& volume : list_at(pod, {"spec", "volumes"})) {
    const fs::path folder = volume_folder(str(volume, {"name"}));
    if (find(volume, {"hostPath"}) != nullptr) continue;
    if (find(volume, {"emptyDir"}) != nullptr) {
      std::error_code error;
      fs::create_directories(folder, error);
      continue;
    }
    auto files = files_of(pod, volume, host_.node, lookup);
    if (!files) return tl::unexpected(files.error().wrap("volume \"" + str(volume, {"name"}) + "\""));
    FLEETADM_CHECK(write_files(folder, *files));
  }
  return {};
}

std::map<std::string, std::string> Pod::folders_of(const Json& pod, const Json& container) const {
  std::map<std::string, std::string> folders;
  for (const Json& mount : list_at(container, {"volumeMounts"})) {
    fs::path from = volume_folder(str(mount, {"name"}));
    for (const Json& volume : list_at(pod, {"spec", "volumes"})) {
      const std::string host = str(volume, {"hostPath", "path"});
      if (str(volume, {"name"}) == str(mount, {"name"}) && !host.empty()) from = host;
    }
    if (const std::string part = str(mount, {"subPath"}); !part.empty()) from /= part;
    std::string at = str(mount, {"mountPath"});
    while (at.size() > 1 && at.back() == '/') at.pop_back();
    folders[at] = from.string();
  }
  return folders;
}

Result<ChildSpec> Pod::command_of(Container& container, const Json& pod) {
  FLEETADM_TRY(auto variables, environment_of(pod, container.spec, host_.node, host_.lookup));
  const auto folders = folders_of(pod, container.spec);
  // Ports of pods on all nodes of a machine meet on one loopback address: each run gets numbers of its own.
  if (container.ports.empty()) {
    auto add = [&](std::int64_t port) {
      if (port > 0) container.ports.try_emplace(static_cast<int>(port), host_.free_port());
    };
    for (const Json& port : list_at(container.spec, {"ports"})) add(num(port, {"containerPort"}));
    for (const char* probe : {"startupProbe", "readinessProbe", "livenessProbe"}) {
      add(num(container.spec, {probe, "httpGet", "port"}));
      add(num(container.spec, {probe, "tcpSocket", "port"}));
    }
  }
  auto adapt = [&](const std::string& text) { return renumber(relocate(text, folders), container.ports); };

  std::vector<std::string> words;
  for (const char* member : {"command", "args"}) {
    for (const std::string& word : string_list_at(container.spec, {member})) words.push_back(adapt(expand(word, variables)));
  }
  if (find(container.spec, {"command"}) != nullptr && !words.empty()) {
    if (image_base(words.front()) != "fleetadm") {
      return fail(Category::kNotFound, "exec: \"" + words.front() + "\": executable file not found in the image");
    }
    words.erase(words.begin());
  }

  ChildSpec spec;
  spec.program = host_.executable;
  spec.args = std::move(words);
  spec.output_file = (host_.log_folder / (namespace_of(pod) + "_" + name_of(pod) + "_" + container.view.name + ".log")).string();
  spec.folder = folder_.string();
  variables.try_emplace("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  variables.try_emplace("HOME", folder_.string());
  variables.try_emplace("TMPDIR", folder_.string());
  if (const auto account = folders.find(std::string(kAccountPath)); account != folders.end()) {
    variables["FLEETADM_SERVICEACCOUNT_DIR"] = account->second;
    std::error_code refused;
    fs::create_directories(kAccountPath, refused);  // an empty folder to mount on; only where we may
    if (fs::is_directory(kAccountPath, refused))
      spec.mounts.push_back({.from = account->second, .to = std::string(kAccountPath)});
  }
  confine(variables);
  for (const auto& [name, value] : variables) spec.environment.push_back(name + "=" + adapt(value));
  return spec;
}

}  // namespace fleetadm::sandbox
