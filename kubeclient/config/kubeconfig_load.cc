// Which kubeconfig files are read, their shape, and how several become one.
#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "kubeclient/base/log.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/config/files.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::kube {
namespace {

enum class Shape { kString, kBool, kStrings, kObject, kObjects, kStringLists };
struct Field {
  std::string_view name;
  Shape shape;
};
constexpr std::array<Field, 9> kClusterFields = {{{"server", Shape::kString},
                                                  {"tls-server-name", Shape::kString},
                                                  {"insecure-skip-tls-verify", Shape::kBool},
                                                  {"certificate-authority", Shape::kString},
                                                  {"certificate-authority-data", Shape::kString},
                                                  {"proxy-url", Shape::kString},
                                                  {"disable-compression", Shape::kBool},
                                                  {"extensions", Shape::kObjects},
                                                  {"location-of-origin", Shape::kString}}};
constexpr std::array<Field, 14> kUserFields = {{{"client-certificate", Shape::kString},
                                                {"client-certificate-data", Shape::kString},
                                                {"client-key", Shape::kString},
                                                {"client-key-data", Shape::kString},
                                                {"token", Shape::kString},
                                                {"tokenFile", Shape::kString},
                                                {"as", Shape::kString},
                                                {"as-uid", Shape::kString},
                                                {"as-groups", Shape::kStrings},
                                                {"as-user-extra", Shape::kStringLists},
                                                {"username", Shape::kString},
                                                {"password", Shape::kString},
                                                {"auth-provider", Shape::kObject},
                                                {"exec", Shape::kObject}}};
constexpr std::array<Field, 4> kContextFields = {
    {{"cluster", Shape::kString}, {"user", Shape::kString}, {"namespace", Shape::kString}, {"extensions", Shape::kObjects}}};
constexpr std::array<Field, 7> kExecFields = {{{"command", Shape::kString},
                                               {"args", Shape::kStrings},
                                               {"env", Shape::kObjects},
                                               {"apiVersion", Shape::kString},
                                               {"installHint", Shape::kString},
                                               {"provideClusterInfo", Shape::kBool},
                                               {"interactiveMode", Shape::kString}}};

bool all_of_list(const Json& value, bool (*test)(const Json&)) {
  return value.is_array() && std::all_of(value.begin(), value.end(), test);
}
bool is_text(const Json& value) { return value.is_string(); }
bool is_object(const Json& value) { return value.is_object(); }
bool is_texts(const Json& value) { return all_of_list(value, is_text); }

bool has_shape(const Json& value, Shape shape) {
  switch (shape) {
    case Shape::kString: return value.is_string();
    case Shape::kBool: return value.is_boolean();
    case Shape::kStrings: return is_texts(value);
    case Shape::kObject: return value.is_object();
    case Shape::kObjects: return all_of_list(value, is_object);
    case Shape::kStringLists: return value.is_object() && std::all_of(value.begin(), value.end(), is_texts);
  }
  return false;
}

std::string_view describe(Shape shape) {
  switch (shape) {
    case Shape::kString: return "text";
    case Shape::kBool: return "true or false";
    case Shape::kStrings: return "a list of texts";
    case Shape::kObject: return "a mapping";
    case Shape::kObjects: return "a list of mappings";
    case Shape::kStringLists: return "a mapping of lists of texts";
  }
  return "";
}

template <std::size_t N>
Status check_fields(const Json& object, const std::array<Field, N>& fields, const std::string& where) {
  for (const Field& field : fields) {
    const Json* value = find(object, {field.name});
    if (value == nullptr || value->is_null() || has_shape(*value, field.shape)) continue;
    return fail(Category::kUsage, where + "." + std::string(field.name) + " is not " + std::string(describe(field.shape)));
  }
  return {};
}

// A named list ("clusters" of {name, cluster}): its entries' shape, and no name twice.
template <std::size_t N>
Status check_list(Json& document, const char* list, const char* entry, const std::array<Field, N>& fields) {
  Json& items = document[list];
  if (items.is_null()) items = Json::array();
  if (!items.is_array()) return fail(Category::kUsage, std::string(list) + " is not a list");
  std::set<std::string> names;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Json& item = items[i];
    const std::string where = std::string(list) + "[" + std::to_string(i) + "]";
    if (!item.is_object()) return fail(Category::kUsage, where + " is not a mapping");
    const Json* name = find(item, {"name"});
    if (name == nullptr || !name->is_string()) return fail(Category::kUsage, where + ".name is not text");
    if (!names.insert(name->get<std::string>()).second) {
      return fail(Category::kUsage, std::string(list) + " holds the name \"" + name->get<std::string>() + "\" twice");
    }
    Json& body = item[entry];
    if (body.is_null()) body = Json::object();
    if (!body.is_object()) return fail(Category::kUsage, where + "." + entry + " is not a mapping");
    FLEETADM_CHECK(check_fields(body, fields, where + "." + entry));
    if (const Json* exec = find(body, {"exec"}); exec != nullptr && exec->is_object()) {
      FLEETADM_CHECK(check_fields(*exec, kExecFields, where + "." + entry + ".exec"));
    }
  }
  return {};
}

Status check_shape(Json& document) {
  if (!document.is_object()) return fail(Category::kUsage, "not a mapping");
  const std::string kind = str(document, {"kind"});
  const std::string version = str(document, {"apiVersion"});
  if ((!kind.empty() && kind != "Config") || (!version.empty() && version != "v1")) {
    return fail(Category::kUsage, "not a kubeconfig but " + version + " " + kind);
  }
  FLEETADM_CHECK(check_list(document, "clusters", "cluster", kClusterFields));
  FLEETADM_CHECK(check_list(document, "users", "user", kUserFields));
  FLEETADM_CHECK(check_list(document, "contexts", "context", kContextFields));
  const Json* current = find(document, {"current-context"});
  if (current != nullptr && !current->is_null() && !current->is_string()) {
    return fail(Category::kUsage, "current-context is not text");
  }
  return {};
}

void resolve_path(Json& object, const char* field, const std::string& folder) {
  const std::string path = str(object, {field});
  if (!path.empty()) object[field] = absolute_path(path, folder);
}

void resolve_paths(Json& document, const std::string& folder) {
  for (Json& item : document["clusters"]) resolve_path(item["cluster"], "certificate-authority", folder);
  for (Json& item : document["users"]) {
    Json& user = item["user"];
    for (const char* field : {"client-certificate", "client-key", "tokenFile"}) resolve_path(user, field, folder);
    // A bare name is looked up in PATH.
    const std::string command = str(user, {"exec", "command"});
    if (command.find('/') != std::string::npos) user["exec"]["command"] = absolute_path(command, folder);
  }
}

// Whole entries of `from` under names that `into` lacks; the current context where `into` has none.
void merge(Json& into, const Json& from) {
  for (const char* list : {"clusters", "users", "contexts"}) {
    Json& items = into[list];
    std::set<std::string> known;
    for (const Json& item : items) known.insert(str(item, {"name"}));
    for (const Json& item : list_at(from, {list})) {
      if (known.insert(str(item, {"name"})).second) items.push_back(item);
    }
  }
  if (str(into, {"current-context"}).empty()) into["current-context"] = str(from, {"current-context"});
}

Json empty_document() {
  Json document = Json::object();
  for (const char* list : {"clusters", "users", "contexts"}) document[list] = Json::array();
  document["current-context"] = "";
  return document;
}

std::vector<std::string> split_paths(const std::string& list) {
  std::vector<std::string> paths;
  std::size_t at = 0;
  while (at <= list.size()) {
    const std::size_t end = std::min(list.find(':', at), list.size());
    std::string path = list.substr(at, end - at);
    if (!path.empty() && std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(std::move(path));
    at = end + 1;
  }
  return paths;
}

std::string here() {
  std::error_code ignored;
  return std::filesystem::current_path(ignored).string();
}

Result<Json> read_document(std::string_view yaml, std::string_view file_name, const std::string& folder) {
  auto documents = parse_yaml_documents(yaml);
  if (!documents) {
    Error error = documents.error().wrap(file_name);
    error.category = Category::kUsage;
    return fail(std::move(error));
  }
  if (documents->size() > 1) return fail(Category::kUsage, std::string(file_name) + ": holds more than one document");
  Json document = documents->empty() ? Json::object() : std::move(documents->front().value);
  if (auto shape = check_shape(document); !shape) return fail(shape.error().wrap(file_name));
  resolve_paths(document, folder);
  return document;
}

}  // namespace

Result<Kubeconfig> Kubeconfig::from_text(std::string_view yaml, std::string_view file_name) {
  FLEETADM_TRY(Json document, read_document(yaml, file_name, here()));
  Kubeconfig config;
  config.document_ = empty_document();
  merge(config.document_, document);
  return config;
}

Result<Kubeconfig> Kubeconfig::load(const ConfigOverrides& overrides) {
  const std::string variable = environment("KUBECONFIG");
  std::vector<std::string> paths;
  if (!overrides.kubeconfig.empty()) {
    paths = {overrides.kubeconfig};
  } else if (!variable.empty()) {
    paths = split_paths(variable);
  } else if (const std::string home = environment("HOME"); !home.empty()) {
    paths = {home + "/.kube/config"};
  }
  Kubeconfig config;
  config.document_ = empty_document();
  std::size_t missing = 0;
  for (const std::string& path : paths) {
    const std::string full = absolute_path(path, here());
    const auto text = read_file(full);
    if (!text) {
      if (text.error().category != Category::kNotFound) {
        return fail(text.error().with_hint("name a kubeconfig that can be read with --kubeconfig or KUBECONFIG"));
      }
      if (!overrides.kubeconfig.empty()) {
        return fail(Error(text.error()).with_hint("check --kubeconfig"));
      }
      ++missing;
      continue;
    }
    const auto document = read_document(*text, path, folder_of(full));
    if (!document) {
      return fail(document.error().with_hint("correct that file, or name another with --kubeconfig or KUBECONFIG"));
    }
    merge(config.document_, *document);
  }
  if (!variable.empty() && overrides.kubeconfig.empty() && missing == paths.size() && missing > 0) {
    log::warn("config", "none of the files that KUBECONFIG names exists: " + variable);
  }
  return config;
}

bool Kubeconfig::empty() const {
  return list_at(document_, {"clusters"}).empty() && list_at(document_, {"users"}).empty() &&
         list_at(document_, {"contexts"}).empty();
}

std::string Kubeconfig::current_context() const { return str(document_, {"current-context"}); }

std::vector<std::string> Kubeconfig::contexts() const {
  std::vector<std::string> names;
  for (const Json& item : list_at(document_, {"contexts"})) names.push_back(str(item, {"name"}));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace fleetadm::kube
