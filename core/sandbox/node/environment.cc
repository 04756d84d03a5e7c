#include "core/sandbox/node/environment.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "kubeclient/base/encoding.h"
#include "kubeclient/config/plugin_policy.h"

namespace fleetadm::sandbox {
namespace {

// "metadata.labels['app']" → app; empty where the path is not of that shape.
std::optional<std::string> subscript(std::string_view path, std::string_view of) {
  if (!path.starts_with(of)) return std::nullopt;
  path.remove_prefix(of.size());
  if (!path.starts_with("['") || !path.ends_with("']") || path.size() < 5) return std::nullopt;
  return std::string(path.substr(2, path.size() - 4));
}

// kubectl's and the kubelet's way to write a map into one file or variable.
std::string map_text(const std::map<std::string, std::string>& map) {
  std::string text;
  for (const auto& [key, value] : map) {
    if (!text.empty()) text += '\n';
    text += key + "=" + dump_json(Json(value));
  }
  return text;
}

// The decoded data of a Secret or ConfigMap.
std::map<std::string, std::string> data_of(const Json& object) {
  std::map<std::string, std::string> result;
  if (str(object, {"kind"}) == "Secret" || find(object, {"type"}) != nullptr) {
    for (const auto& [key, value] : strings_at(object, {"data"})) {
      if (auto decoded = base64_decode(value)) result[key] = std::move(*decoded);
    }
    return result;
  }
  result = strings_at(object, {"data"});
  for (const auto& [key, value] : strings_at(object, {"binaryData"})) {
    if (auto decoded = base64_decode(value)) result[key] = std::move(*decoded);
  }
  return result;
}

enum class Source { kSecret, kConfigMap };

Result<std::map<std::string, std::string>> read_source(Source source, std::string_view ns, const std::string& name, bool optional,
                                                       const Lookup& lookup) {
  const auto& get = source == Source::kSecret ? lookup.secret : lookup.config_map;
  FLEETADM_TRY(const auto object, get(ns, name));
  if (object) return data_of(*object);
  if (optional) return std::map<std::string, std::string>{};
  return fail(Category::kNotFound,
              std::string(source == Source::kSecret ? "secret" : "configmap") + " \"" + name + "\" not found");
}

Result<std::optional<std::string>> key_ref(Source source, const Json& reference, std::string_view ns, const Lookup& lookup) {
  const bool optional = flag(reference, {"optional"});
  FLEETADM_TRY(const auto data, read_source(source, ns, str(reference, {"name"}), optional, lookup));
  const auto found = data.find(str(reference, {"key"}));
  if (found != data.end()) return found->second;
  if (optional) return std::optional<std::string>();
  return fail(Category::kNotFound, "couldn't find key " + str(reference, {"key"}) + " in " + str(reference, {"name"}));
}

Result<std::optional<std::string>> value_from(const Json& pod, const Json& from, const NodeFacts& node, const Lookup& lookup) {
  const std::string ns = namespace_of(pod);
  if (const Json* reference = find(from, {"secretKeyRef"})) return key_ref(Source::kSecret, *reference, ns, lookup);
  if (const Json* reference = find(from, {"configMapKeyRef"})) return key_ref(Source::kConfigMap, *reference, ns, lookup);
  if (find(from, {"fieldRef"}) != nullptr) return field_of(pod, str(from, {"fieldRef", "fieldPath"}), node);
  return fail(Category::kUnsupported, "the process node knows no such source of a variable");
}

// items: [{key, path}] picks and renames; without it every key is a file of its own name.
Status pick(const Json& items, const std::map<std::string, std::string>& data, bool optional,
            std::map<std::string, std::string>& files) {
  if (items.empty()) {
    files.insert(data.begin(), data.end());
    return {};
  }
  for (const Json& item : items) {
    const auto found = data.find(str(item, {"key"}));
    if (found == data.end() && !optional) return fail(Category::kNotFound, "references non-existent key " + str(item, {"key"}));
    if (found != data.end()) files[str(item, {"path"})] = found->second;
  }
  return {};
}

Status add_source(const Json& pod, const Json& source, const NodeFacts& node, const Lookup& lookup,
                  std::map<std::string, std::string>& files) {
  const std::string ns = namespace_of(pod);
  for (const auto kind : {Source::kSecret, Source::kConfigMap}) {
    const Json* body = find(source, {kind == Source::kSecret ? "secret" : "configMap"});
    if (body == nullptr) continue;
    const bool optional = flag(*body, {"optional"});
    FLEETADM_TRY(const auto data, read_source(kind, ns, str(*body, {"name"}, str(*body, {"secretName"})), optional, lookup));
    FLEETADM_CHECK(pick(list_at(*body, {"items"}), data, optional, files));
  }
  for (const Json& item : list_at(source, {"downwardAPI", "items"})) {
    FLEETADM_TRY(files[str(item, {"path"})], field_of(pod, str(item, {"fieldRef", "fieldPath"}), node));
  }
  if (const Json* token = find(source, {"serviceAccountToken"})) {
    TokenAsk ask{.ns = ns,
                 .service_account = str(pod, {"spec", "serviceAccountName"}, "default"),
                 .pod_name = name_of(pod),
                 .pod_uid = uid_of(pod),
                 .audience = str(*token, {"audience"}),
                 .seconds = num(*token, {"expirationSeconds"}, 3600)};
    FLEETADM_TRY(files[str(*token, {"path"})], lookup.token(ask));
  }
  return {};
}

bool ends_name(char c) { return c == '/' || c == ':' || c == ',' || c == ';' || c == '"' || c == '\'' || c == ' '; }
bool starts_path(char before) { return std::isalnum(static_cast<unsigned char>(before)) == 0 && before != '/' && before != '.'; }

}  // namespace

std::string expand(std::string_view text, const Variables& values) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '$' || at + 1 == text.size()) {
      result += text[at];
    } else if (text[at + 1] == '$') {
      result += text[++at];
    } else if (const auto end = text[at + 1] == '(' ? text.find(')', at) : std::string_view::npos;
               end != std::string_view::npos) {
      const auto found = values.find(std::string(text.substr(at + 2, end - at - 2)));
      result += found == values.end() ? std::string(text.substr(at, end - at + 1)) : found->second;
      at = end;
    } else {
      result += text[at];
    }
  }
  return result;
}

Result<std::string> field_of(const Json& pod, std::string_view path, const NodeFacts& node) {
  if (path == "metadata.name") return name_of(pod);
  if (path == "metadata.namespace") return namespace_of(pod);
  if (path == "metadata.uid") return uid_of(pod);
  if (path == "metadata.labels") return map_text(strings_at(pod, {"metadata", "labels"}));
  if (path == "metadata.annotations") return map_text(strings_at(pod, {"metadata", "annotations"}));
  if (const auto key = subscript(path, "metadata.labels")) return label_of(pod, *key);
  if (const auto key = subscript(path, "metadata.annotations")) return annotation_of(pod, *key);
  if (path == "spec.nodeName") return node.name;
  if (path == "spec.serviceAccountName") return str(pod, {"spec", "serviceAccountName"}, "default");
  if (path == "status.podIP" || path == "status.hostIP" || path == "status.podIPs" || path == "status.hostIPs") return node.ip;
  return fail(Category::kUsage, "unknown field path \"" + std::string(path) + "\"");
}

Result<Variables> environment_of(const Json& pod, const Json& container, const NodeFacts& node, const Lookup& lookup) {
  Variables result{{"KUBERNETES_SERVICE_HOST", node.api_host},
                   {"KUBERNETES_SERVICE_PORT", node.api_port},
                   {"KUBERNETES_SERVICE_PORT_HTTPS", node.api_port},
                   {"HOSTNAME", name_of(pod)}};
  for (const Json& source : list_at(container, {"envFrom"})) {
    for (const auto kind : {Source::kSecret, Source::kConfigMap}) {
      const Json* reference = find(source, {kind == Source::kSecret ? "secretRef" : "configMapRef"});
      if (reference == nullptr) continue;
      FLEETADM_TRY(const auto data,
                   read_source(kind, namespace_of(pod), str(*reference, {"name"}), flag(*reference, {"optional"}), lookup));
      for (const auto& [key, value] : data) result[str(source, {"prefix"}) + key] = value;
    }
  }
  for (const Json& variable : list_at(container, {"env"})) {
    const std::string name = str(variable, {"name"});
    if (const Json* from = find(variable, {"valueFrom"})) {
      FLEETADM_TRY(auto value, value_from(pod, *from, node, lookup));
      if (value) result[name] = std::move(*value);
    } else {
      result[name] = expand(str(variable, {"value"}), result);
    }
  }
  return result;
}

void confine(Variables& variables) {
  std::erase_if(variables, [](const auto& variable) {
    static constexpr std::array<std::string_view, 5> kBegins = {"LD_", "GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH", "OPENSSL_"};
    return std::any_of(kBegins.begin(), kBegins.end(), [&](std::string_view begin) { return variable.first.starts_with(begin); });
  });
  variables[std::string(kube::kPluginPolicyVariable)] = "DenyAll";
  variables["FLEETADM_PLUGINS"] = "false";
  variables["FLEETADM_PAGER"] = "cat";
}

Result<std::map<std::string, std::string>> files_of(const Json& pod, const Json& volume, const NodeFacts& node,
                                                    const Lookup& lookup) {
  std::map<std::string, std::string> files;
  FLEETADM_CHECK(add_source(pod, volume, node, lookup, files));
  for (const Json& source : list_at(volume, {"projected", "sources"})) {
    FLEETADM_CHECK(add_source(pod, source, node, lookup, files));
  }
  return files;
}

std::string relocate(std::string_view text, const std::map<std::string, std::string>& folders) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    std::string_view best;
    if (text[at] == '/' && (at == 0 || starts_path(text[at - 1]))) {
      for (const auto& [from, to] : folders) {
        const std::string_view rest = text.substr(at);
        const bool whole = rest.starts_with(from) && (rest.size() == from.size() || ends_name(rest[from.size()]));
        if (whole && from.size() > best.size()) best = from;
      }
    }
    if (best.empty()) {
      result += text[at++];
    } else {
      result += folders.find(std::string(best))->second;
      at += best.size();
    }
  }
  return result;
}

std::string renumber(std::string_view text, const std::map<int, int>& ports) {
  for (const auto& [from, to] : ports) {
    const std::string tail = ":" + std::to_string(from);
    if (text.ends_with(tail)) return std::string(text.substr(0, text.size() - tail.size())) + ":" + std::to_string(to);
  }
  return std::string(text);
}

bool can_be_pulled(std::string_view image) {
  const auto slash = image.find('/');
  if (slash == std::string_view::npos) return true;
  const std::string_view registry = image.substr(0, slash);
  return !registry.substr(0, registry.find(':')).ends_with(".invalid");
}

std::string image_base(std::string_view image) {
  if (const auto digest = image.find('@'); digest != std::string_view::npos) image = image.substr(0, digest);
  if (const auto slash = image.rfind('/'); slash != std::string_view::npos) image.remove_prefix(slash + 1);
  if (const auto tag = image.find(':'); tag != std::string_view::npos) image = image.substr(0, tag);
  return std::string(image);
}

}  // namespace fleetadm::sandbox
