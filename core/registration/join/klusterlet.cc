#include "core/registration/join/klusterlet.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>

#include "core/api/cluster_claim.h"
#include "core/api/hosted_member.h"
#include "core/api/kinds.h"
#include "core/registration/join/klusterlet_fields.h"
#include "core/registration/join/klusterlet_gates.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/joined.h"
#include "kubeclient/base/yaml.h"
#include "kubeclient/config/data_only.h"
#include "kubeclient/rest/resource.h"

namespace fleetadm::join {
namespace {

constexpr std::string_view kAgentAnnotations = "agent.open-cluster-management.io";
constexpr std::string_view kMemberKubeconfig = "external-managed-kubeconfig";
constexpr const char* kNoLimit = "the agent does not limit its own requests; priority and fairness of the API server do";
constexpr const char* kOtherImage = "it names an image of upstream's agents; choose that of fleetadm with --image";

tl::unexpected<Error> not_had(const std::string& field, const std::string& value, const std::string& hint) {
  return fail(Category::kUnsupported, field + " is \"" + value + "\", which the agent of fleetadm does not have", hint);
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : dump_json(value); }

void argument(KlusterletFields& fields, const char* name, const char* flag, KlusterletSettings& settings,
              bool zero_is_unset = false) {
  const Json value = fields.take(name);
  if (value.is_null()) return;
  if (zero_is_unset && value == Json(0)) return fields.without_effect(name, "0 leaves it to the hub, as without it");
  settings.agent_args.push_back(std::string(flag) + "=" + text_of(value));
  fields.becomes(name, "the agent's " + settings.agent_args.back());
}

void read_deploy_option(KlusterletFields fields, KlusterletSettings& settings) {
  const std::string mode = fields.take_text("mode");
  settings.hosted = settings.hosted || mode == "Hosted" || mode == "SingletonHosted";
  if (settings.hosted) {
    fields.becomes("mode",
                   "--mode hosted: one Deployment on the hosting cluster, whose process has the agents of all its members");
  } else if (!mode.empty()) {
    fields.becomes("mode", "one Deployment, whose process has the duties of all of upstream's agents");
  }
  fields.end();
}

/// Arguments of the process, which other members share.
void drop_shared_args(KlusterletSettings& settings) {
  std::erase_if(settings.agent_args, [&](const std::string& arg) {
    if (api::check_hosted_member_arg(arg)) return false;
    for (FieldOutcome& field : settings.fields) {
      if (field.outcome != "the agent's " + arg) continue;
      field.effective = false;
      field.outcome = "in hosted mode " + arg.substr(0, arg.find('=')) + " is the same for all members: set it on the Deployment";
    }
    return true;
  });
}

void read_placement(KlusterletFields fields, KlusterletSettings& settings) {
  if (Json selector = fields.take("nodeSelector", Json::value_t::object); !selector.is_null()) {
    settings.pods.node_selector = std::move(selector);
    fields.becomes("nodeSelector", "the nodeSelector of the agent's pod");
  }
  if (Json tolerations = fields.take("tolerations", Json::value_t::array); !tolerations.is_null()) {
    settings.pods.tolerations = std::move(tolerations);
    fields.becomes("tolerations", "the tolerations of the agent's pod");
  }
  fields.end();
}

void read_resources(KlusterletFields fields, KlusterletSettings& settings) {
  const std::string type = fields.take_text("type");
  Json given = fields.take("resourceRequirements", Json::value_t::object);
  if (type == "BestEffort") {
    settings.pods.resources = Json::object();
    fields.becomes("type", "no requests and limits of the agent's container");
  } else if (type == "ResourceRequirement") {
    settings.pods.resources = given.is_null() ? Json::object() : std::move(given);
    fields.becomes("resourceRequirements", "the resources of the agent's container");
  } else {
    if (!type.empty()) fields.becomes("type", "the requests and limits that fleetadm sets");
    if (!given.is_null())
      fields.without_effect("resourceRequirements", "spec.resourceRequirement.type is not ResourceRequirement");
  }
  fields.end();
}

void read_external_urls(const Json& list, const KlusterletFields& fields, KlusterletSettings& settings) {
  bool bundle = false;
  for (const Json& entry : list) {
    const std::string url = str(entry, {"url"});
    bundle = bundle || !str(entry, {"caBundle"}).empty();
    if (url.empty()) continue;
    if (url.starts_with("https://")) {
      settings.external_server_urls.push_back(url);
    } else {
      fields.without_effect("externalServerURLs", "\"" + url + "\" is not an https URL, and hubs refuse others");
    }
  }
  if (!settings.external_server_urls.empty())
    fields.becomes("externalServerURLs", "--external-server-urls " + joined(settings.external_server_urls));
  if (bundle)
    fields.without_effect("externalServerURLs.caBundle",
                          "the agent tells the CA by which it reaches this cluster's API server itself");
}

void read_map(KlusterletFields& fields, const char* name, const std::string& flag, std::string_view prefix,
              KlusterletSettings& settings) {
  const Json map = fields.take(name, Json::value_t::object);
  for (const auto& item : map.items()) {
    const std::string field = std::string(name) + "." + item.key();
    if (!item.key().starts_with(prefix)) {
      fields.without_effect(field, "agents may set only annotations below " + std::string(prefix));
      continue;
    }
    settings.agent_args.push_back(flag + "=" + item.key() + "=" + text_of(item.value()));
    fields.becomes(field, "the agent's " + settings.agent_args.back());
  }
}

/// The Secret of the first hub, which join writes by its own name; those of others have to be there.
std::string read_bootstrap(KlusterletFields fields, bool several, KlusterletSettings& settings) {
  const std::string type = fields.take_text("type");
  const Json local = fields.take("localSecretsConfig", Json::value_t::object);
  const Json& secrets = list_at(local, {"kubeConfigSecrets"});
  fields.end();
  if (type != "LocalSecrets" || secrets.empty()) return std::string(api::kBootstrapSecret);
  constexpr const char* kSecrets = "localSecretsConfig.kubeConfigSecrets";
  constexpr const char* kTimeout = "localSecretsConfig.hubConnectionTimeoutSeconds";
  std::string first = str(secrets.front(), {"name"});
  std::vector<std::string> others;
  for (const Json& secret : secrets) others.push_back(str(secret, {"name"}));
  others.erase(others.begin());
  const bool used = several && !others.empty() && !settings.hosted;
  fields.becomes(kSecrets, "the hub of the first Secret, " + first +
                               (used ? ", and after it those of " + joined(others, ", ") + ", which have to be in namespace " +
                                           std::string(api::kAgentNamespace)
                                     : ""));
  if (!others.empty() && several && settings.hosted)
    fields.without_effect(kSecrets, "in hosted mode give the kubeconfigs of " + joined(others, ", ") + " with --fallback-hub");
  if (!others.empty() && !several)
    fields.without_effect(kSecrets, "without the feature gate MultipleHubs, " + joined(others, ", ") + " is not used");
  if (used) {
    settings.agent_args.push_back("--bootstrap-secret=" + std::string(api::kBootstrapSecret));
    for (const std::string& other : others) settings.agent_args.push_back("--bootstrap-secret=" + other);
  }
  const Json* timeout = find(local, {"hubConnectionTimeoutSeconds"});
  if (timeout == nullptr) return first;
  if (used) {
    settings.agent_args.push_back("--hub-connection-timeout=" + text_of(*timeout) + "s");
    fields.becomes(kTimeout, "the agent's " + settings.agent_args.back());
  } else {
    fields.without_effect(kTimeout, "the agent has one hub to connect to");
  }
  return first;
}

constexpr const char* kAwsIrsaDriver = "awsirsa";

Status read_drivers(KlusterletFields& fields, KlusterletSettings& settings) {
  KlusterletFields driver = fields.inside("registrationDriver");
  const std::string type = driver.take_text("authType");
  if (!type.empty() && type != "csr" && type != kAwsIrsaDriver)
    return not_had("spec.registrationConfiguration.registrationDriver.authType", type, "use csr, or on EKS awsirsa");
  if (type == kAwsIrsaDriver) {
    settings.registration_auth = type;
    driver.becomes("authType", "an IAM role of the cluster's own (--registration-auth)");
    KlusterletFields irsa = driver.inside("awsIrsa");
    for (const auto& [name, flag, into] :
         {std::tuple{"hubClusterArn", "--hub-cluster-arn", &settings.hub_cluster_arn},
          std::tuple{"managedClusterArn", "--managed-cluster-arn", &settings.managed_cluster_arn}}) {
      *into = irsa.take_text(name);
      if (!into->empty()) irsa.becomes(name, std::string("as with ") + flag);
    }
    irsa.end();
  } else {
    if (!type.empty()) driver.becomes("authType", "a client certificate, by a certificate request");
    driver.ignore("awsIrsa", "the driver is csr");
  }
  driver.end();
  KlusterletFields addons = fields.inside("addOnKubeClientRegistrationDriver");
  argument(addons, "authType", "--addon-driver", settings);
  KlusterletFields token = addons.inside("token");
  argument(token, "expirationSeconds", "--addon-token-expiration-seconds", settings, true);
  token.end();
  addons.end();
  return {};
}

/// Answers the name of the bootstrap Secret.
Result<std::string> read_registration(KlusterletFields fields, KlusterletSettings& settings) {
  FLEETADM_CHECK(read_drivers(fields, settings));
  const Json gates = fields.take("featureGates", Json::value_t::array);
  const bool several = std::any_of(gates.begin(), gates.end(), [](const Json& gate) {
    return str(gate, {"feature"}) == "MultipleHubs" && str(gate, {"mode"}) == "Enable";
  });
  std::string secret = read_bootstrap(fields.inside("bootstrapKubeConfigs"), several, settings);
  argument(fields, "clientCertExpirationSeconds", "--client-cert-expiration-seconds", settings, true);
  read_map(fields, "clusterAnnotations", "--cluster-annotations", kAgentAnnotations, settings);
  read_map(fields, "clusterLabels", "--cluster-labels", "", settings);
  KlusterletFields claims = fields.inside("clusterClaimConfiguration");
  argument(claims, "maxCustomClusterClaims", "--max-custom-cluster-claims", settings);
  if (const Json suffixes = claims.take("reservedClusterClaimSuffixes", Json::value_t::array); !suffixes.is_null()) {
    settings.agent_args.push_back("--reserved-cluster-claim-suffixes=" + joined(string_list_at(suffixes, {})));
    claims.becomes("reservedClusterClaimSuffixes", "the agent's " + settings.agent_args.back());
  }
  claims.end();
  read_registration_gates(gates, fields,
                          {{"NetworkPolicies", {"--network-policy", [&] { settings.network_policy = true; }}},
                           {"MultipleHubs", {"the hubs of bootstrapKubeConfigs", [] {}}}});
  fields.ignore("kubeAPIQPS", kNoLimit);
  fields.ignore("kubeAPIBurst", kNoLimit);
  fields.end();
  return secret;
}

void read_work(KlusterletFields fields, KlusterletSettings& settings) {
  argument(fields, "appliedManifestWorkEvictionGracePeriod", "--work-eviction-grace", settings);
  read_work_gates(
      fields.take("featureGates", Json::value_t::array), fields,
      {{"RawFeedbackJsonString", {"the agent's --raw-feedback", [&] { settings.agent_args.emplace_back("--raw-feedback"); }}}});
  for (const char* name : {"hubKubeAPIQPS", "hubKubeAPIBurst", "kubeAPIQPS", "kubeAPIBurst"}) fields.ignore(name, kNoLimit);
  fields.ignore("statusSyncInterval", "the agent watches what it has applied, and reports changes as they happen");
  fields.end();
}

/// Answers the name of the bootstrap Secret.
Result<std::string> read_spec(const Json& spec, KlusterletSettings& settings) {
  KlusterletFields fields(spec, "spec", settings.fields);
  if (settings.cluster_name = fields.take_text("clusterName"); !settings.cluster_name.empty()) {
    fields.becomes("clusterName", "--cluster-name " + settings.cluster_name);
  }
  if (const std::string ns = fields.take_text("namespace"); !ns.empty()) {
    if (ns == api::kAgentNamespace) {
      fields.becomes("namespace", "the agent's namespace");
    } else {
      fields.without_effect("namespace", "the agent runs in " + std::string(api::kAgentNamespace));
    }
  }
  read_deploy_option(fields.inside("deployOption"), settings);
  read_external_urls(fields.take("externalServerURLs", Json::value_t::array), fields, settings);
  if (const Json alias = fields.take("hubApiServerHostAlias", Json::value_t::object); !alias.is_null()) {
    settings.pods.host_aliases =
        Json::array({{{"ip", str(alias, {"ip"})}, {"hostnames", Json::array({str(alias, {"hostname"})})}}});
    fields.becomes("hubApiServerHostAlias", "the hostAliases of the agent's pod");
  }
  read_placement(fields.inside("nodePlacement"), settings);
  if (settings.pods.priority_class = fields.take_text("priorityClassName"); !settings.pods.priority_class.empty())
    fields.becomes("priorityClassName", "--priority-class " + settings.pods.priority_class);
  read_resources(fields.inside("resourceRequirement"), settings);
  for (const char* image : {"imagePullSpec", "registrationImagePullSpec", "workImagePullSpec"}) fields.ignore(image, kOtherImage);
  FLEETADM_TRY(std::string secret, read_registration(fields.inside("registrationConfiguration"), settings));
  read_work(fields.inside("workConfiguration"), settings);
  fields.end();
  return secret;
}

/// The entry that a kubeconfig's current context names.
Json entry_of(const Json& kubeconfig, const char* list, const char* member) {
  std::string wanted;
  for (const Json& context : list_at(kubeconfig, {"contexts"})) {
    if (str(context, {"name"}) == str(kubeconfig, {"current-context"})) wanted = str(context, {"context", member});
  }
  for (const Json& entry : list_at(kubeconfig, {list})) {
    if (str(entry, {"name"}) == wanted) return object_at(entry, {member});
  }
  return Json::object();
}

Result<std::string> kubeconfig_in(const Json& secret) {
  std::string text = str(secret, {"stringData", "kubeconfig"});
  if (text.empty()) text = base64_decode(str(secret, {"data", "kubeconfig"})).value_or("");
  if (text.empty() || !parse_yaml(text))
    return fail(Category::kUsage, "Secret " + name_of(secret) + " holds no kubeconfig", "give the cluster by flags");
  return text;
}

/// Only what is in the Secret itself: a file that it names is none of this machine's.
Status read_hub(const Json& secret, KlusterletSettings& settings) {
  const std::string where = "Secret " + name_of(secret);
  FLEETADM_TRY(const std::string text, kubeconfig_in(secret));
  FLEETADM_TRY(const std::optional<Json> kubeconfig, parse_yaml(text));
  const Json cluster = entry_of(*kubeconfig, "clusters", "cluster");
  settings.hub_server = str(cluster, {"server"});
  settings.hub_proxy_url = str(cluster, {"proxy-url"});
  settings.hub_ca_pem = base64_decode(str(cluster, {"certificate-authority-data"})).value_or("");
  settings.hub_token = str(entry_of(*kubeconfig, "users", "user"), {"token"});
  if (settings.hub_server.empty()) return fail(Category::kUsage, where + ": its kubeconfig names no server");
  settings.fields.push_back({where, true, "the hub " + settings.hub_server});
  if (settings.hub_token.empty())
    settings.fields.push_back({where, false, "its kubeconfig has no token, and the agent joins with one: give it by flags"});
  if (flag(cluster, {"insecure-skip-tls-verify"}))
    settings.fields.push_back({where, false, "insecure-skip-tls-verify: the hub's certificate is always verified"});
  return {};
}

Status read_others(const std::vector<Json>& documents, const std::string& secret, KlusterletSettings& settings) {
  for (const Json& document : documents) {
    const std::string kind = str(document, {"kind"});
    if (kind == "Klusterlet") continue;
    if (kind == "Secret" && name_of(document) == secret) {
      FLEETADM_CHECK(read_hub(document, settings));
    } else if (settings.hosted && kind == "Secret" && name_of(document) == kMemberKubeconfig) {
      FLEETADM_TRY(settings.member_kubeconfig, kubeconfig_in(document));
      if (Status good = kube::check_holds_data_only(settings.member_kubeconfig); !good)
        return fail(good.error().wrap("Secret " + name_of(document)));
      settings.fields.push_back(
          {"Secret " + name_of(document), true, "the managed cluster, in place of --managed-cluster-kubeconfig"});
    } else if (kind == "ClusterClaim") {
      const std::string value = str(document, {"spec", "value"});
      FLEETADM_CHECK(api::check_claim(name_of(document), value));
      settings.claims.emplace_back(name_of(document), value);
      settings.fields.push_back({"ClusterClaim " + name_of(document), true, "--claim " + name_of(document) + "=" + value});
    } else {
      settings.fields.push_back({kind + " " + kube::object_key(document), false, "only what the Klusterlet needs is read"});
    }
  }
  return {};
}

}  // namespace

Result<KlusterletSettings> read_klusterlet(const std::vector<Json>& documents, bool hosted) {
  std::vector<const Json*> found;
  for (const Json& document : documents) {
    if (str(document, {"kind"}) == "Klusterlet" &&
        str(document, {"apiVersion"}).starts_with("operator.open-cluster-management.io/"))
      found.push_back(&document);
  }
  if (found.size() != 1) {
    return fail(Category::kUsage, found.empty() ? "there is no Klusterlet" : "there are several Klusterlets",
                "one Klusterlet of operator.open-cluster-management.io/v1 tells how the cluster joins");
  }
  KlusterletSettings settings;
  settings.hosted = hosted;
  FLEETADM_TRY(const std::string secret, read_spec(object_at(*found.front(), {"spec"}), settings));
  if (settings.hosted) drop_shared_args(settings);
  FLEETADM_CHECK(read_others(documents, secret, settings));
  return settings;
}

}  // namespace fleetadm::join
