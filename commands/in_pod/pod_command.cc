#include "commands/in_pod/pod_command.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "kubeclient/base/json.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::commands {
namespace {

constexpr std::size_t kMaxFileName = 60;

/// The longest beginning of `args` that is a command, and how many words it has.
std::pair<const Command*, std::size_t> command_of(const Registry& registry, const std::vector<std::string>& args) {
  std::pair<const Command*, std::size_t> found = {nullptr, 0};
  std::string path;
  for (std::size_t words = 1; words <= args.size() && !args[words - 1].starts_with("-"); ++words) {
    path += (path.empty() ? "" : " ") + args[words - 1];
    if (const Command* command = registry.find(path)) found = {command, words};
  }
  return found;
}

/// The base name of a path in characters that the key of a Secret may have.
std::string file_name(std::size_t number, const std::string& path) {
  std::string name = path == "-" ? "stdin" : path.substr(path.rfind('/') + 1);
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-' && c != '_') c = '_';
  if (name.size() > kMaxFileName) name.erase(0, name.size() - kMaxFileName);
  return std::to_string(number) + "-" + name;
}

/// Kubernetes replaces $(NAME) in arguments; "$$" is one "$".
std::string literal(std::string_view text) {
  std::string out;
  for (const char c : text) out.append(c == '$' ? 2 : 1, c);
  return out;
}

class Rewriter {
 public:
  Rewriter(const Command& command, PodCommand& into) : call_(command.make()), into_(into) {}

  void take(const std::vector<std::string>& args, std::size_t from) {
    bool over = false;  // flags, after "--"
    for (std::size_t i = from; i < args.size(); ++i) {
      const std::string& word = args[i];
      over = over || word == "--";
      const auto found = over ? std::nullopt : value_of(word);
      if (!found) {
        into_.args.push_back(literal(word));
      } else if (found->inside) {
        into_.args.push_back(literal(word.substr(0, found->begin)) + there(*found, word.substr(found->begin)));
      } else {
        into_.args.push_back(literal(word));
        if (i + 1 < args.size()) into_.args.push_back(there(*found, args[++i]));
      }
    }
  }

 private:
  enum class Kind { kPlain, kFile, kKubeconfig, kSecret };
  struct Value {
    Kind kind;
    bool inside;  // of this word, from `begin`; else the next word is it
    std::size_t begin;
  };

  static Kind kind_of(const Flag& flag) {
    if (flag.complete == Complete::kFiles) return flag.name.ends_with("kubeconfig") ? Kind::kKubeconfig : Kind::kFile;
    return flag.name.ends_with("token") ? Kind::kSecret : Kind::kPlain;
  }

  /// Nothing where the word is no flag that takes a value.
  std::optional<Value> value_of(const std::string& word) {
    if (word.starts_with("--")) return value_of_long(word);
    if (word.size() < 2 || word.front() != '-') return std::nullopt;
    for (std::size_t at = 1; at < word.size(); ++at) {
      const Flag* flag = by_letter(word[at]);
      if (flag == nullptr) return std::nullopt;  // one of all commands: none of them is about a file
      if (flag->arity != Arity::kValue) continue;
      const std::size_t begin = at + 1 + (at + 1 < word.size() && word[at + 1] == '=' ? 1 : 0);
      return Value{kind_of(*flag), begin < word.size(), begin};
    }
    return std::nullopt;
  }

  std::optional<Value> value_of_long(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    // The one flag of all commands that names a file to be read.
    Kind kind = name == "kubeconfig" ? Kind::kKubeconfig : Kind::kPlain;
    if (const Flag* flag = by_name(name)) {
      if (flag->arity != Arity::kValue) return std::nullopt;
      kind = kind_of(*flag);
    } else if (kind == Kind::kPlain) {
      return std::nullopt;
    }
    return Value{kind, equals != std::string::npos, equals + 1};
  }

  const Flag* by_name(const std::string& name) {
    if (const Flag* flag = call_.flags.find(name)) return flag;
    for (const Flag& flag : call_.flags.flags())
      if (std::find(flag.aliases.begin(), flag.aliases.end(), name) != flag.aliases.end()) return &flag;
    return nullptr;
  }
  const Flag* by_letter(char letter) const {
    for (const Flag& flag : call_.flags.flags())
      if (flag.letter == letter) return &flag;
    return nullptr;
  }

  /// The value as the container is given it.
  std::string there(const Value& what, const std::string& value) {
    const bool url = value.starts_with("http://") || value.starts_with("https://");
    if ((what.kind == Kind::kFile || what.kind == Kind::kKubeconfig) && !value.empty() && !url) {
      const std::string name = file_name(into_.files.size(), value);
      into_.files[name] = value;
      if (what.kind == Kind::kKubeconfig) into_.kubeconfigs.insert(name);
      return std::string(kPodFiles) + "/" + name;
    }
    if (what.kind == Kind::kSecret && !value.empty()) {
      const std::string name = "IN_POD_" + std::to_string(into_.variables.size());
      into_.variables[name] = value;
      return "$(" + name + ")";
    }
    return literal(value);
  }

  Invocation call_;
  PodCommand& into_;
};

}  // namespace

Status stands_alone(const std::string& kubeconfig, const std::string& path) {
  const auto document = parse_yaml(kubeconfig);
  if (!document) return fail(document.error().wrap(path));
  const auto check = [&](const char* list, const char* entry, std::initializer_list<std::string_view> fields) -> Status {
    for (const Json& one : list_at(*document, {list}))
      for (const std::string_view field : fields)
        if (find(one, {entry, field}) != nullptr)
          return fail(Category::kUsage,
                      path + ": " + entry + " \"" + str(one, {"name"}) + "\" has " + std::string(field) +
                          ", and a pod has neither files nor programs of this machine",
                      "put what it leads to into the file, as \"kubectl config view --flatten --minify\" does");
    return {};
  };
  FLEETADM_CHECK(check("clusters", "cluster", {"certificate-authority"}));
  return check("users", "user", {"client-certificate", "client-key", "tokenFile", "exec"});
}

Result<PodCommand> pod_command(const Registry& registry, const std::vector<std::string>& args) {
  if (args.empty()) return fail(Category::kUsage, "no command to run", "write it after \"--\": fleetadm in-pod -- get clusters");
  const auto [command, words] = command_of(registry, args);
  if (command == nullptr)
    return fail(Category::kUsage, "\"" + args.front() + "\" does not begin a command of fleetadm",
                "list the commands with: fleetadm help");
  static constexpr std::array<std::string_view, 2> kHereOnly = {"in-pod", "sandbox"};
  for (const std::string_view path : kHereOnly)
    if (command->path == path || command->path.starts_with(std::string(path) + " "))
      return fail(Category::kUsage, command->path + " does not run in a pod");
  PodCommand out;
  out.path = command->path;
  for (std::size_t i = 0; i < words; ++i) out.args.push_back(args[i]);
  Rewriter(*command, out).take(args, words);
  const auto inputs = std::count_if(out.files.begin(), out.files.end(), [](const auto& file) { return file.second == "-"; });
  if (inputs > 1) return fail(Category::kUsage, "standard input can be read only once");
  return out;
}

}  // namespace fleetadm::commands
