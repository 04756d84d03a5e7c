#include "cli/render/tree.h"

#include <unordered_map>

#include "kubeclient/base/log.h"

namespace fleetadm::cli {
namespace {

struct TreeNode {
  std::vector<std::string> names;  // of the children
  std::vector<TreeNode> children;
  std::unordered_map<std::string, std::size_t> places;

  TreeNode& child(const std::string& name) {
    const auto [found, added] = places.try_emplace(name, children.size());
    if (added) {
      names.push_back(name);
      children.emplace_back();
    }
    return children[found->second];
  }
};

struct Signs {
  std::string_view branch, last, go_on, nothing = "    ";
};

void put_children(std::string& out, const TreeNode& node, const std::string& indent, const Signs& signs) {
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const bool last = i + 1 == node.children.size();
    out += indent;
    out += last ? signs.last : signs.branch;
    out += log::escape_terminal(node.names[i]) + "\n";
    put_children(out, node.children[i], indent + std::string(last ? signs.nothing : signs.go_on), signs);
  }
}

}  // namespace

std::string tree_of(const std::vector<std::vector<std::string>>& paths, bool utf8) {
  TreeNode root;
  for (const auto& path : paths) {
    TreeNode* node = &root;
    for (const std::string& name : path) node = &node->child(name);
  }
  const Signs signs = utf8 ? Signs{"├── ", "└── ", "│   "} : Signs{"|-- ", "`-- ", "|   "};
  std::string out;
  for (std::size_t i = 0; i < root.children.size(); ++i) {
    out += log::escape_terminal(root.names[i]) + "\n";
    put_children(out, root.children[i], "", signs);
  }
  return out;
}

}  // namespace fleetadm::cli
