#include "core/image/file_tree.h"

#include <deque>
#include <filesystem>
#include <system_error>

#include "kubeclient/config/files.h"

namespace fleetadm::image {
namespace {

constexpr std::size_t kMaxFile = 1U << 30U;
constexpr int kMaxLinks = 40;  // of one path, as Linux

void prepend(std::deque<std::string>& steps, const std::string& path) {
  std::deque<std::string> more;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end > at) more.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  steps.insert(steps.begin(), more.begin(), more.end());
}

}  // namespace

void FileTree::add(TarEntry head, std::string content) {
  for (std::size_t slash = head.path.find('/'); slash != std::string::npos; slash = head.path.find('/', slash + 1)) {
    const std::string folder = head.path.substr(0, slash);
    if (!entries_.contains(folder)) entries_[folder] = {{folder, TarEntry::Kind::kFolder, 0755, 0, {}}, {}};
  }
  std::string path = head.path;
  entries_[std::move(path)] = {std::move(head), std::move(content)};
}

void FileTree::add_folder(const std::string& path, unsigned mode, unsigned owner) {
  add({path, TarEntry::Kind::kFolder, mode, owner, {}});
}

void FileTree::add_file(const std::string& path, std::string content, unsigned mode) {
  add({path, TarEntry::Kind::kFile, mode, 0, {}}, std::move(content));
}

void FileTree::add_link(const std::string& path, const std::string& target) {
  add({path, TarEntry::Kind::kLink, 0777, 0, target});
}

Status FileTree::copy(const std::string& path) {
  std::deque<std::string> steps;
  prepend(steps, path);
  std::string reached;  // without a slash in front
  for (int links = 0; !steps.empty();) {
    const std::string step = steps.front();
    steps.pop_front();
    if (step == ".") continue;
    if (step == "..") {
      const std::size_t slash = reached.rfind('/');
      reached.resize(slash == std::string::npos ? 0 : slash);
      continue;
    }
    const std::string next = reached.empty() ? step : reached + "/" + step;
    std::error_code problem;
    const std::filesystem::path here("/" + next);
    const bool link = std::filesystem::is_symlink(std::filesystem::symlink_status(here, problem));
    if (!link) {
      reached = next;
      continue;
    }
    const std::string target = std::filesystem::read_symlink(here, problem).string();
    if (problem || ++links > kMaxLinks)
      return fail(Category::kUsage, "cannot follow the link \"" + here.string() + "\" of \"" + path + "\"");
    add_link(next, target);
    if (target.starts_with('/')) reached.clear();
    prepend(steps, target);
  }
  FLEETADM_TRY(std::string content, kube::read_file("/" + reached, kMaxFile));
  add_file(reached, std::move(content), 0755);
  return {};
}

Status FileTree::write(const Sink& sink) const {
  TarWriter tar(sink);
  for (const auto& [path, entry] : entries_) FLEETADM_CHECK(tar.add(entry.head, entry.content));
  return tar.finish();
}

}  // namespace fleetadm::image
