#include "commands/fleet/join_file.h"

#include <algorithm>
#include <utility>

#include "commands/framework/files.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::commands {

Result<JoinFile> read_join_file(Context& context, JoinOptions& options) {
  if (options.filename.empty()) return JoinFile{};
  const std::string name = options.filename == "-" ? "standard input" : "\"" + options.filename + "\"";
  if (options.filename == "-" && options.hub_token_file == "-")
    return fail(Category::kUsage, "-f and --hub-token-file cannot both read standard input", "put one of them into a file");
  FLEETADM_TRY(const std::string text, read_file_or_stdin(context, options.filename));
  auto documents = parse_yaml_documents(text);
  if (!documents) return fail(documents.error().wrap(name));
  std::vector<Json> objects;
  for (YamlDocument& document : *documents) {
    if (str(document.value, {"kind"}) != "List") {
      objects.push_back(std::move(document.value));
      continue;
    }
    for (const Json& item : list_at(document.value, {"items"})) objects.push_back(item);
  }
  auto read = join::read_klusterlet(objects, is_hosted_mode(options.member));
  if (!read) return fail(read.error().wrap(name));
  if (read->hosted && options.member.mode == "default")
    return fail(Category::kUsage, name + " is of hosted mode, and --mode default is not", "choose one of them");
  if (read->hosted) options.member.mode = "hosted";
  options.member.text = read->member_kubeconfig;
  JoinFile file;
  const bool other_hub = !options.hub_apiserver.empty() && options.hub_apiserver != read->hub_server;
  if (options.cluster_name.empty()) options.cluster_name = read->cluster_name;
  if (options.hub_apiserver.empty()) options.hub_apiserver = read->hub_server;
  const bool told_trust = !options.ca_cert_hash.empty() || !options.ca_file.empty() || options.system_roots;
  if (!other_hub && !told_trust && !read->hub_ca_pem.empty()) {
    file.hub_ca_pem = read->hub_ca_pem;
    options.hub_in_file = true;
  }
  if (!other_hub && options.hub_token.empty() && options.hub_token_file.empty() && context.env(kHubTokenVariable).empty())
    options.hub_token = read->hub_token;
  if (!other_hub && options.proxy_url.empty()) options.proxy_url = read->hub_proxy_url;
  if (options.external_server_urls.empty()) options.external_server_urls = read->external_server_urls;
  options.network_policy = options.network_policy || read->network_policy;
  if (!read->registration_auth.empty() && options.hub_cluster_arn.empty() && options.managed_cluster_arn.empty()) {
    options.registration_auth = read->registration_auth;
    options.hub_cluster_arn = read->hub_cluster_arn;
    options.managed_cluster_arn = read->managed_cluster_arn;
  }
  // What comes last counts: first the file, then the flags.
  options.agent_args.insert(options.agent_args.begin(), read->agent_args.begin(), read->agent_args.end());
  for (const auto& [claim, value] : read->claims) {
    const bool given = std::ranges::any_of(claims_of(options), [&](const auto& one) { return one.first == claim; });
    if (!given) options.claims.push_back(claim + "=" + value);
  }
  file.pods = std::move(read->pods);
  file.fields = std::move(read->fields);
  return file;
}

install::PodSettings pods_of(const JoinOptions& options, const JoinFile& file) {
  install::PodSettings pods = pod_settings(options.pods);
  if (pods.node_selector.empty()) pods.node_selector = file.pods.node_selector;
  if (pods.tolerations.empty()) pods.tolerations = file.pods.tolerations;
  if (pods.priority_class.empty()) pods.priority_class = file.pods.priority_class;
  if (pods.resources.is_null()) pods.resources = file.pods.resources;
  pods.host_aliases = file.pods.host_aliases;
  return pods;
}

}  // namespace fleetadm::commands
