#include "core/image/registry/login.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "kubeclient/base/ascii.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/json.h"
#include "kubeclient/config/files.h"
#include "kubeclient/config/process.h"

namespace fleetadm::image {
namespace {

constexpr std::size_t kMaxConfig = 4U << 20U;
constexpr std::string_view kDockerHub = "docker.io";
constexpr std::string_view kDockerHubKey = "https://index.docker.io/v1/";
constexpr std::string_view kTokenUser = "<token>";  // a helper's way to say that the secret is an identity token

/// "https://host/v1/" and "host" are the same registry.
std::string registry_of_key(std::string_view key) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (key.starts_with(scheme)) key.remove_prefix(scheme.size());
  }
  for (const std::string_view end : {"/", "/v1", "/v2"}) {
    if (key.ends_with(end)) key.remove_suffix(end.size());
  }
  return std::string(key == "index.docker.io" ? kDockerHub : key);
}

std::string helper_key(const std::string& registry) { return registry == kDockerHub ? std::string(kDockerHubKey) : registry; }

/// The member whose key means the registry; the exact one before others.
const Json* entry_of(const Json& object, const std::string& registry) {
  if (const auto exact = object.find(registry); exact != object.end()) return &*exact;
  for (const auto& [key, value] : object.items()) {
    if (registry_of_key(key) == registry) return &value;
  }
  return nullptr;
}

Result<Login> login_of_entry(const Json& entry, const std::string& registry, const std::string& file) {
  Login login;
  login.identity_token = str(entry, {"identitytoken"});
  login.username = str(entry, {"username"});
  login.password = str(entry, {"password"});
  const std::string encoded = str(entry, {"auth"});
  if (encoded.empty()) return login;
  const auto decoded = base64_decode(encoded);
  const std::size_t colon = decoded ? decoded->find(':') : std::string::npos;
  if (colon == std::string::npos)
    return fail(Category::kUsage, "\"" + file + "\": auths[\"" + registry + "\"].auth is not base64 of USER:PASSWORD");
  login.username = decoded->substr(0, colon);
  login.password = decoded->substr(colon + 1);
  // docker pads the text with NULs.
  while (login.password.ends_with('\0')) login.password.pop_back();
  return login;
}

bool is_helper_name(std::string_view name) {
  return !name.empty() && name.front() != '-' && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

Result<Login> login_of_helper(const std::string& name, const std::string& registry, const LoginSource& source) {
  if (!is_helper_name(name))
    return fail(Category::kUsage,
                "\"" + source.config_file + "\" names a credential helper that cannot be one: \"" + name + "\"");
  const std::string program = "docker-credential-" + name;
  kube::ProcessOptions call;
  call.command = kube::find_executable(program, source.search_path);
  if (call.command.empty()) {
    return fail(Category::kNotFound, "the credential helper " + program + " is not on the PATH",
                "\"" + source.config_file + "\" names it for " + registry);
  }
  call.args = {"get"};
  call.input = helper_key(registry) + "\n";
  call.stop = source.stop;
  FLEETADM_TRY(const auto done, kube::run_process(call));
  if (done.exit_code != 0) {
    // The protocol has no code for it: this is what every helper says.
    if (done.output.find("credentials not found") != std::string::npos) return Login{};
    return fail(Category::kAuth, program + " failed with exit code " + std::to_string(done.exit_code),
                "run it by itself: echo " + helper_key(registry) + " | " + program + " get");
  }
  const auto answer = parse_json(done.output);
  if (!answer) return fail(Category::kAuth, program + " did not answer with JSON");
  Login login{str(*answer, {"Username"}), str(*answer, {"Secret"}), {}};
  if (login.username == kTokenUser) login = {{}, {}, std::move(login.password)};
  return login;
}

}  // namespace

Result<Login> find_login(const std::string& registry, const LoginSource& source) {
  const auto text = kube::read_file(source.config_file, kMaxConfig);
  if (!text) {
    if (text.error().category == Category::kNotFound && !source.required) return Login{};
    Error error = text.error();
    error.category = Category::kUsage;
    return fail(std::move(error));
  }
  const auto config = parse_json(*text);
  // The parser's message may repeat what it stumbled on.
  if (!config || !config->is_object())
    return fail(Category::kUsage, "\"" + source.config_file + "\" is not docker's config.json");

  if (const Json* helper = entry_of(object_at(*config, {"credHelpers"}), registry); helper != nullptr && helper->is_string())
    return login_of_helper(helper->get<std::string>(), registry, source);
  if (const Json* entry = entry_of(object_at(*config, {"auths"}), registry); entry != nullptr && entry->is_object()) {
    FLEETADM_TRY(Login login, login_of_entry(*entry, registry, source.config_file));
    if (!login.empty()) return login;
  }
  const std::string store = str(*config, {"credsStore"});
  return store.empty() ? Login{} : login_of_helper(store, registry, source);
}

}  // namespace fleetadm::image
