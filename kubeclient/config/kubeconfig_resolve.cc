// One context of a kubeconfig as a RestConfig, and as a document of its own. See docs/reference/kubeconfig.md.
#include <algorithm>
#include <array>

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/config/credentials.h"
#include "kubeclient/config/files.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/config/plugin_policy.h"
#include "kubeclient/pki/pki.h"

namespace fleetadm::kube {
namespace {

constexpr std::string_view kExecV1 = "client.authentication.k8s.io/v1";
constexpr std::string_view kExecV1Beta1 = "client.authentication.k8s.io/v1beta1";

const Json* named(const Json& document, const char* list, const char* entry, std::string_view name) {
  for (const Json& item : list_at(document, {list})) {
    const Json* known = find(item, {"name"});
    if (known != nullptr && known->is_string() && known->get_ref<const std::string&>() == name) return find(item, {entry});
  }
  return nullptr;
}

struct Selection {
  std::string context_name;
  std::string cluster_name;
  std::string user_name;
  std::string ns;
  const Json* cluster = nullptr;
  const Json* user = nullptr;
};

tl::unexpected<Error> absent(std::string_view kind, const std::string& name, std::string hint = {}) {
  return fail(Category::kNotFound, std::string(kind) + " \"" + name + "\" does not exist in the kubeconfig", std::move(hint));
}

Result<Selection> select(const Kubeconfig& config, const ConfigOverrides& overrides) {
  const Json& document = config.document();
  Selection out;
  out.context_name = overrides.context.empty() ? config.current_context() : overrides.context;
  const auto known = [&] {
    const std::vector<std::string> contexts = config.contexts();
    return contexts.empty() ? "" : "contexts: " + joined(contexts, ", ");
  };
  if (!out.context_name.empty()) {
    const Json* context = named(document, "contexts", "context", out.context_name);
    if (context == nullptr) return absent("context", out.context_name, known());
    out.cluster_name = str(*context, {"cluster"});
    out.user_name = str(*context, {"user"});
    out.ns = str(*context, {"namespace"});
  } else if (overrides.cluster.empty()) {
    const std::string contexts = known();
    return fail(Category::kUsage, "the kubeconfig has no current context",
                contexts.empty() ? contexts : "choose one with --context; " + contexts);
  }
  if (!overrides.cluster.empty()) out.cluster_name = overrides.cluster;
  if (!overrides.user.empty()) out.user_name = overrides.user;
  if (!overrides.ns.empty()) out.ns = overrides.ns;
  out.cluster = named(document, "clusters", "cluster", out.cluster_name);
  if (out.cluster == nullptr) return absent("cluster", out.cluster_name);
  if (!out.user_name.empty()) {
    out.user = named(document, "users", "user", out.user_name);
    if (out.user == nullptr) return absent("user", out.user_name);
  }
  return out;
}

// Everything that is wrong with an entry, told at once.
class Problems {
 public:
  void add(std::string text) { texts_.push_back(std::move(text)); }
  bool none() const { return texts_.empty(); }
  tl::unexpected<Error> error() const {
    const std::string all = joined(texts_, ", ");
    return fail(Category::kUsage, "invalid configuration: " + (texts_.size() > 1 ? "[" + all + "]" : all),
                "correct the kubeconfig, or choose another context with --context");
  }

 private:
  std::vector<std::string> texts_;
};

// The PEM of a `field` (a path) or `field-data` (base64); both is an error, as kubectl has it. Empty where there is neither.
std::string pem_of(const Json& entry, const std::string& field, const std::string& whose, Problems& problems) {
  const std::string path = str(entry, {field});
  const std::string data = str(entry, {field + "-data"});
  if (!path.empty() && !data.empty()) {
    problems.add(field + " and " + field + "-data are both given for " + whose);
    return {};
  }
  if (!data.empty()) {
    auto pem = base64_decode(data);
    if (!pem) problems.add(field + "-data of " + whose + " is not base64");
    return pem ? std::move(*pem) : std::string();
  }
  if (path.empty()) return {};
  auto pem = read_file(path);
  if (!pem) problems.add(field + " of " + whose + ": " + pem.error().message);
  return pem ? std::move(*pem) : std::string();
}

// A host without a scheme is https where anything of TLS is configured, else http.
std::string complete_server(std::string server, bool tls, const std::string& whose, Problems& problems) {
  if (server.find("://") == std::string::npos) {
    if (server.find('/') != std::string::npos) problems.add("server of " + whose + " is neither a URL nor a host");
    server = (tls ? "https://" : "http://") + server;
  }
  server.resize(std::min(server.find_first_of("?#"), server.size()));
  while (server.ends_with('/') && !server.ends_with("://")) server.pop_back();
  return server;
}

void read_cluster(const Selection& selection, RestConfig& config, Problems& problems) {
  const Json& cluster = *selection.cluster;
  const std::string whose = "cluster \"" + selection.cluster_name + "\"";
  config.insecure = flag(cluster, {"insecure-skip-tls-verify"});
  config.disable_compression = flag(cluster, {"disable-compression"});
  config.ca_data = pem_of(cluster, "certificate-authority", whose, problems);
  const bool ca_given = !str(cluster, {"certificate-authority"}).empty() || !str(cluster, {"certificate-authority-data"}).empty();
  // A CA that is named and empty must not become "no CA", which means the system's roots.
  if (ca_given && config.ca_data.empty() && problems.none()) {
    problems.add("certificate-authority of " + whose + " is empty");
  }
  if (ca_given && config.insecure) problems.add("insecure-skip-tls-verify is combined with a certificate-authority in " + whose);
  if (!config.ca_data.empty() && !pki::parse_certificates(config.ca_data)) {
    problems.add("certificate-authority of " + whose + " holds no readable certificate");
  }
  config.tls_server_name = str(cluster, {"tls-server-name"});
  config.proxy_url = str(cluster, {"proxy-url"});
  static constexpr std::array<std::string_view, 3> kSchemes = {"http://", "https://", "socks5://"};
  const bool proxy_good = std::any_of(kSchemes.begin(), kSchemes.end(), [&](std::string_view scheme) {
    return config.proxy_url.starts_with(scheme) && config.proxy_url.size() > scheme.size();
  });
  if (!config.proxy_url.empty() && !proxy_good) problems.add("proxy-url of " + whose + " is no http, https or socks5 URL");
  const std::string server = str(cluster, {"server"});
  if (server.empty()) {
    problems.add("no server found for " + whose);
    return;
  }
  const Json nothing = Json::object();
  const Json& user = selection.user == nullptr ? nothing : *selection.user;
  const bool tls = ca_given || config.insecure || !str(user, {"client-certificate"}).empty() ||
                   !str(user, {"client-certificate-data"}).empty();
  config.server = complete_server(server, tls, whose, problems);
}

void read_impersonation(const Selection& selection, const ConfigOverrides& overrides, RestConfig& config, Problems& problems) {
  if (selection.user != nullptr) {
    config.impersonate_user = str(*selection.user, {"as"});
    config.impersonate_uid = str(*selection.user, {"as-uid"});
    config.impersonate_groups = string_list_at(*selection.user, {"as-groups"});
    const Json& extra = object_at(*selection.user, {"as-user-extra"});
    for (auto it = extra.begin(); it != extra.end(); ++it)
      config.impersonate_extra.emplace_back(it.key(), string_list_at(*it, {}));
  }
  if (!overrides.as.empty()) config.impersonate_user = overrides.as;
  if (!overrides.as_uid.empty()) config.impersonate_uid = overrides.as_uid;
  if (!overrides.as_groups.empty()) config.impersonate_groups = overrides.as_groups;
  const bool more = !config.impersonate_uid.empty() || !config.impersonate_groups.empty() || !config.impersonate_extra.empty();
  if (!config.impersonate_user.empty() || !more) return;
  const bool asked = !overrides.as_uid.empty() || !overrides.as_groups.empty();
  problems.add(asked ? "--as-uid and --as-group need --as" : "a uid, groups or extra are impersonated without a user (as)");
}

// spec.cluster of what a plugin is told.
Json exec_cluster(const RestConfig& config, const Json& cluster) {
  Json out = {{"server", config.server}};
  if (!config.tls_server_name.empty()) out["tls-server-name"] = config.tls_server_name;
  if (config.insecure) out["insecure-skip-tls-verify"] = true;
  if (!config.ca_data.empty()) out["certificate-authority-data"] = base64_encode(config.ca_data);
  if (!config.proxy_url.empty()) out["proxy-url"] = config.proxy_url;
  if (flag(cluster, {"disable-compression"})) out["disable-compression"] = true;
  for (const Json& item : list_at(cluster, {"extensions"})) {
    const Json* extension = find(item, {"extension"});
    if (str(item, {"name"}) == "client.authentication.k8s.io/exec" && extension != nullptr) out["config"] = *extension;
  }
  return out;
}

ExecPlugin read_exec(const Selection& selection, const ConfigOverrides& overrides, const RestConfig& config, Problems& problems) {
  const Json& exec = object_at(*selection.user, {"exec"});
  const std::string whose = "user \"" + selection.user_name + "\"";
  ExecPlugin plugin;
  plugin.command = str(exec, {"command"});
  plugin.args = string_list_at(exec, {"args"});
  plugin.api_version = str(exec, {"apiVersion"});
  plugin.install_hint = str(exec, {"installHint"});
  plugin.interactive_mode = str(exec, {"interactiveMode"});
  plugin.terminal = overrides.interactive;
  if (plugin.command.empty()) problems.add("exec of " + whose + " has no command");
  if (plugin.api_version.empty()) {
    problems.add("exec of " + whose + " has no apiVersion");
  } else if (plugin.api_version != kExecV1 && plugin.api_version != kExecV1Beta1) {
    problems.add("exec plugin: invalid apiVersion \"" + plugin.api_version + "\" for " + whose);
  }
  if (plugin.interactive_mode.empty() && plugin.api_version == kExecV1Beta1) plugin.interactive_mode = "IfAvailable";
  if (plugin.interactive_mode.empty()) {
    problems.add("exec of " + whose + " has no interactiveMode, which " + std::string(kExecV1) + " asks for");
  } else if (plugin.interactive_mode != "Never" && plugin.interactive_mode != "IfAvailable" &&
             plugin.interactive_mode != "Always") {
    problems.add("interactiveMode of " + whose + " is not Never, IfAvailable or Always");
  }
  for (const Json& item : list_at(exec, {"env"})) {
    const std::string name = str(item, {"name"});
    if (name.empty()) problems.add("exec of " + whose + " has an env entry without a name");
    plugin.env.emplace_back(name, str(item, {"value"}));
  }
  if (flag(exec, {"provideClusterInfo"})) plugin.cluster = exec_cluster(config, *selection.cluster);
  return plugin;
}

void read_user(const Selection& selection, const ConfigOverrides& overrides, RestConfig& config, Problems& problems) {
  if (selection.user == nullptr) return;
  const Json& user = *selection.user;
  const std::string whose = "user \"" + selection.user_name + "\"";
  FileCredentials files;
  files.fixed.client_certificate = pem_of(user, "client-certificate", whose, problems);
  files.fixed.client_key = pem_of(user, "client-key", whose, problems);
  files.fixed.token = str(user, {"token"});
  files.fixed.username = str(user, {"username"});
  files.fixed.password = str(user, {"password"});
  files.token_file = str(user, {"tokenFile"});
  const auto given = [&](const char* file, const char* data) { return !str(user, {file}).empty() || !str(user, {data}).empty(); };
  const bool certificate = given("client-certificate", "client-certificate-data");
  const bool key = given("client-key", "client-key-data");
  const bool token = !files.fixed.token.empty() || !files.token_file.empty();
  const bool basic = !files.fixed.username.empty() || !files.fixed.password.empty();
  const bool exec = !object_at(user, {"exec"}).empty();
  if (certificate && !key) problems.add("client-key or client-key-data is missing for " + whose);
  if (key && !certificate) problems.add("client-certificate or client-certificate-data is missing for " + whose);
  if (token && basic) problems.add("more than one way of authentication for " + whose + ": a token and a password");
  const std::string provider = str(user, {"auth-provider", "name"});
  if (!object_at(user, {"auth-provider"}).empty()) {
    problems.add(exec ? "auth-provider and exec are both given for " + whose
                      : "auth-provider \"" + provider + "\" of " + whose + " is not supported; use an exec plugin");
  }
  ExecPlugin plugin;
  if (exec) plugin = read_exec(selection, overrides, config, problems);
  if (!problems.none()) return;
  if (certificate && !pki::key_matches(files.fixed.client_certificate, files.fixed.client_key)) {
    problems.add("the client certificate of " + whose + " does not belong to its key");
    return;
  }
  // No credential travels in clear text.
  if (!config.server.starts_with("https://")) return;
  if (exec && !certificate && !token && !basic) {
    const auto policy = credential_plugin_policy();
    auto command = policy ? allowed_plugin(*policy, plugin.command, environment("PATH")) : fail(policy.error());
    if (!command) {
      problems.add("exec of " + whose + " is not run: " + command.error().message);
      return;
    }
    plugin.command = std::move(*command);
    config.credentials = shared_exec_credentials(std::move(plugin));
    return;
  }
  // Only a pair that stands in files altogether is watched: data beside a file would never fit the file's next content.
  if (!str(user, {"client-certificate"}).empty() && !str(user, {"client-key"}).empty()) {
    files.certificate_file = str(user, {"client-certificate"});
    files.key_file = str(user, {"client-key"});
  }
  if (files.certificate_file.empty() && files.token_file.empty()) {
    if (certificate || token || basic) config.credentials = static_credentials(std::move(files.fixed));
    return;
  }
  config.credentials = file_credentials(std::move(files));
}

// FIELD (a path) replaced by FIELD-data with the file's content.
void inline_pem(Json& entry, const std::string& field, const std::string& whose, Problems& problems) {
  const std::string pem = pem_of(entry, field, whose, problems);
  entry.erase(field);
  if (!pem.empty()) entry[field + "-data"] = base64_encode(pem);
}

// The first of --context, --cluster and --user that is given, with its kind.
std::optional<std::pair<std::string_view, std::string>> named_entry(const ConfigOverrides& overrides) {
  if (!overrides.context.empty()) return std::pair{std::string_view("context"), overrides.context};
  if (!overrides.cluster.empty()) return std::pair{std::string_view("cluster"), overrides.cluster};
  if (!overrides.user.empty()) return std::pair{std::string_view("user"), overrides.user};
  return std::nullopt;
}

// What cannot be found while the connection is chosen is configuration: kNotFound is for objects on a server.
template <class T>
Result<T> as_configuration(Result<T> result) {
  if (!result && result.error().category == Category::kNotFound) result.error().category = Category::kUsage;
  return result;
}

}  // namespace

Result<RestConfig> Kubeconfig::resolve(const ConfigOverrides& overrides) const {
  if (const auto entry = named_entry(overrides); empty() && entry) {
    return absent(entry->first, entry->second, "no kubeconfig with entries was found: name one with --kubeconfig or KUBECONFIG");
  }
  if (empty()) {
    Error error;
    error.category = Category::kUsage;
    error.reason = "EmptyConfig";
    error.message = "invalid configuration: no configuration has been provided";
    error.hint = "name a kubeconfig with --kubeconfig or KUBECONFIG";
    return fail(std::move(error));
  }
  FLEETADM_TRY(const Selection selection, select(*this, overrides));
  RestConfig config;
  config.name = selection.context_name.empty() ? selection.cluster_name : selection.context_name;
  config.default_namespace = selection.ns;
  Problems problems;
  read_cluster(selection, config, problems);
  read_impersonation(selection, overrides, config, problems);
  if (!overrides.tls_server_name.empty()) config.tls_server_name = overrides.tls_server_name;
  read_user(selection, overrides, config, problems);
  if (!problems.none()) return problems.error();
  return config;
}

Result<Json> Kubeconfig::flatten(std::string_view context) const {
  ConfigOverrides overrides;
  overrides.context = std::string(context);
  FLEETADM_TRY(const Selection selection, select(*this, overrides));
  Problems problems;
  Json cluster = *selection.cluster;
  inline_pem(cluster, "certificate-authority", "cluster \"" + selection.cluster_name + "\"", problems);
  Json document = {{"apiVersion", "v1"}, {"kind", "Config"}, {"current-context", selection.context_name}};
  document["clusters"] = Json::array({{{"name", selection.cluster_name}, {"cluster", std::move(cluster)}}});
  document["contexts"] = Json::array();
  document["users"] = Json::array();
  document["contexts"].push_back(
      {{"name", selection.context_name}, {"context", *named(document_, "contexts", "context", selection.context_name)}});
  if (selection.user != nullptr) {
    const std::string whose = "user \"" + selection.user_name + "\"";
    Json user = *selection.user;
    inline_pem(user, "client-certificate", whose, problems);
    inline_pem(user, "client-key", whose, problems);
    if (const std::string path = str(user, {"tokenFile"}); !path.empty()) {
      auto token = read_file(path);
      if (!token) problems.add("tokenFile of " + whose + ": " + token.error().message);
      if (token) user["token"] = token->substr(0, token->find_last_not_of(" \t\r\n") + 1);
      user.erase("tokenFile");
    }
    document["users"].push_back({{"name", selection.user_name}, {"user", std::move(user)}});
  }
  if (!problems.none()) return problems.error();
  return document;
}

Result<RestConfig> load_rest_config(const ConfigOverrides& overrides) {
  FLEETADM_TRY(const Kubeconfig config, as_configuration(Kubeconfig::load(overrides)));
  // A pod's own cluster stands in for a kubeconfig only when nothing of one was asked for.
  const bool asked = !overrides.kubeconfig.empty() || named_entry(overrides).has_value();
  if (!config.empty() || asked || !in_cluster()) return as_configuration(config.resolve(overrides));
  FLEETADM_TRY(RestConfig rest, in_cluster_config());
  Problems problems;
  read_impersonation({}, overrides, rest, problems);
  if (!problems.none()) return problems.error();
  if (!overrides.ns.empty()) rest.default_namespace = overrides.ns;
  if (!overrides.tls_server_name.empty()) rest.tls_server_name = overrides.tls_server_name;
  return rest;
}

}  // namespace fleetadm::kube
