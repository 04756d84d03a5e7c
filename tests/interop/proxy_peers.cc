#include "tests/interop/proxy_peers.h"

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::testkit {
namespace {

constexpr const char* kConfigurationKind = R"(apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: managedproxyconfigurations.proxy.open-cluster-management.io}
spec:
  group: proxy.open-cluster-management.io
  names: {kind: ManagedProxyConfiguration, listKind: ManagedProxyConfigurationList, plural: managedproxyconfigurations, singular: managedproxyconfiguration}
  scope: Cluster
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
)";

std::string port_flag(const char* flag, int port) { return std::string("--") + flag + "=" + std::to_string(port); }
std::string address_flag(const char* flag) { return std::string("--") + flag + "=127.0.0.1:" + std::to_string(free_port()); }

Status make(const KubeServer& hub, const std::string& collection, std::string_view yaml) {
  const auto parsed = parse_yaml(yaml);
  if (!parsed) return fail(parsed.error());
  const auto answer = hub.create(collection, *parsed);
  if (answer.status != 201 && answer.status != 409) return fail(Category::kInvalid, collection + ": " + answer.body);
  return {};
}

}  // namespace

std::string ProxyPeers::secret(const std::string& name, const char* key) const {
  const Json found = hub_.get("/api/v1/namespaces/" + std::string(kProxyNamespace) + "/secrets/" + name);
  return base64_decode(str(found, {"data", key})).value_or("");
}

std::string ProxyPeers::file(const std::string& secret_name, const char* key) const {
  return folder_.write(secret_name + "." + key, secret(secret_name, key));
}

Status ProxyPeers::start_manager(const std::string& install_namespace) {
  FLEETADM_CHECK(make(hub_, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", kConfigurationKind));
  const std::string configurations = "/apis/proxy.open-cluster-management.io/v1alpha1/managedproxyconfigurations";
  if (!eventually([&] { return hub_.request("GET", configurations).status == 200; }))
    return fail(Category::kTimeout, "ManagedProxyConfiguration is not served");
  FLEETADM_CHECK(make(hub_, "/api/v1/namespaces",
                      std::string("{apiVersion: v1, kind: Namespace, metadata: {name: ") + kProxyNamespace + "}}"));
  FLEETADM_CHECK(make(hub_, configurations,
                      std::string(R"(apiVersion: proxy.open-cluster-management.io/v1alpha1
kind: ManagedProxyConfiguration
metadata: {name: cluster-proxy}
spec:
  authentication:
    signer: {type: SelfSigned}
    dump:
      secrets:
        signingProxyServerSecretName: proxy-server
        signingProxyClientSecretName: proxy-client
        signingAgentServerSecretName: agent-server
  proxyServer:
    image: "example.invalid/not-run:1"
    replicas: 1
    inClusterServiceName: proxy-entrypoint
    namespace: )") + kProxyNamespace +
                          R"(
    entrypoint: {type: Hostname, hostname: {value: ")" +
                          address_ + R"("}, port: )" + std::to_string(agent_port_) + R"(}
  proxyAgent: {image: "example.invalid/not-run:1", replicas: 0}
  userServer: {}
)"));
  FLEETADM_CHECK(make(hub_, "/apis/addon.open-cluster-management.io/v1beta1/clustermanagementaddons",
                      R"(apiVersion: addon.open-cluster-management.io/v1beta1
kind: ClusterManagementAddOn
metadata: {name: cluster-proxy}
spec:
  addOnMeta: {displayName: cluster-proxy, description: cluster-proxy}
  defaultConfigs: [{group: proxy.open-cluster-management.io, resource: managedproxyconfigurations, name: cluster-proxy}]
)"));
  const std::string ns = kProxyNamespace;
  FLEETADM_CHECK(peers_.launch(
      "upstream-proxy-manager", "cluster-proxy-manager",
      {"--kubeconfig=" + hub_.kubeconfig_file_for("upstream-proxy-manager", {"system:masters"}), "--leader-elect=false",
       address_flag("metrics-bind-address"), address_flag("health-probe-bind-address"), "--signer-secret-namespace=" + ns,
       "--enable-service-proxy=true", "--agent-install-namespace=" + install_namespace},
      ns));
  for (const char* name :
       {"cluster-proxy-signer", "proxy-client", "proxy-server", "agent-server", "cluster-proxy-user-serving-cert"}) {
    const char* key = std::string_view(name) == "cluster-proxy-signer" ? "ca.crt" : "tls.crt";
    if (!eventually([&] { return !secret(name, key).empty(); }, std::chrono::seconds(60)))
      return fail(Category::kTimeout, std::string("no Secret ") + name + ": " + log("upstream-proxy-manager"));
  }
  FLEETADM_CHECK(peers_.launch("upstream-proxy-controllers", "cluster-proxy",
                               {"controllers", "--certificates-namespace=" + ns, "--signer-secret-namespace=" + ns,
                                address_flag("metrics-addr"), address_flag("health-probe-addr")},
                               ns, {"KUBECONFIG=" + hub_.kubeconfig_file_for("upstream-proxy-controllers", {"system:masters"})}));
  if (!eventually([&] { return !secret("cluster-proxy-service-proxy-server-cert", "tls.crt").empty(); },
                  std::chrono::seconds(60)))
    return fail(Category::kTimeout, "no certificate of service proxies: " + log("upstream-proxy-controllers"));
  return {};
}

Status ProxyPeers::start_servers(const std::string& install_namespace) {
  const std::string ca = "=" + file("proxy-server-ca", "ca.crt");
  FLEETADM_CHECK(peers_.launch(
      "upstream-proxy-server", "proxy-server",
      {"--server-count=1", "--proxy-strategies=destHost", "--server-bind-address=127.0.0.1",
       port_flag("server-port", front_port_), "--agent-bind-address=" + address_, port_flag("agent-port", agent_port_),
       "--health-bind-address=127.0.0.1", port_flag("health-port", free_port()), port_flag("admin-port", free_port()),
       "--server-ca-cert" + ca, "--server-cert=" + file("proxy-server", "tls.crt"),
       "--server-key=" + file("proxy-server", "tls.key"), "--cluster-ca-cert" + ca,
       "--cluster-cert=" + file("agent-server", "tls.crt"), "--cluster-key=" + file("agent-server", "tls.key")},
      kProxyNamespace));
  return start_user_server(install_namespace);
}

Status ProxyPeers::start_agent(const std::string& identifiers, const pki::KeyPair& certificate) {
  return peers_.launch("upstream-proxy-agent", "proxy-agent",
                       {"--proxy-server-host=" + address_, port_flag("proxy-server-port", agent_port_),
                        "--agent-identifiers=" + identifiers, port_flag("health-server-port", free_port()),
                        port_flag("admin-server-port", free_port()), "--ca-cert=" + file("proxy-server-ca", "ca.crt"),
                        "--agent-cert=" + folder_.write("proxy-agent.crt", certificate.certificate),
                        "--agent-key=" + folder_.write("proxy-agent.key", certificate.key)},
                       kProxyNamespace);
}

Status ProxyPeers::start_user_server(const std::string& install_namespace) {
  const std::string ca = "=" + file("proxy-server-ca", "ca.crt");
  return peers_.launch(
      "upstream-user-server", "cluster-proxy",
      {"user-server", "--host=127.0.0.1", port_flag("port", front_port_), "--proxy-ca-cert" + ca,
       "--proxy-cert=" + file("proxy-client", "tls.crt"), "--proxy-key=" + file("proxy-client", "tls.key"),
       port_flag("server-port", user_port_), "--server-cert=" + file("cluster-proxy-user-serving-cert", "tls.crt"),
       "--server-key=" + file("cluster-proxy-user-serving-cert", "tls.key"), "--service-proxy-ca-cert" + ca,
       "--agent-install-namespace=" + install_namespace},
      kProxyNamespace, {"KUBECONFIG=" + hub_.kubeconfig_file_for("upstream-user-server", {"system:masters"})});
}

}  // namespace fleetadm::testkit
