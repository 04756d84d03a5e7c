#include "tests/support/stream_lab.h"

#include <gtest/gtest.h>

#include "tests/support/https.h"
#include "tests/support/kube_servers.h"

namespace fleetadm::testkit {
namespace {

constexpr const char* kPodsPath = "/api/v1/namespaces/default/pods";

}  // namespace

StreamLab::StreamLab(const serve::HttpLimits& limits) {
  ca_ = *pki::make_ca("streams", std::chrono::hours(1));
  host_.node = {.name = "n1", .api_host = "127.0.0.1", .api_port = "6443"};
  host_.executable = "/bin/sh";
  host_.state_folder = folder_.path() / "state";
  host_.log_folder = folder_.path();
  host_.free_port = [this] {
    const int port = free_port();
    if (on_port_) on_port_(port);
    return port;
  };
  host_.watch = [](int /*pidfd*/, const std::string& /*key*/) {};
  host_.lookup.secret = [](std::string_view, std::string_view) -> Result<std::optional<Json>> { return std::optional<Json>(); };
  host_.lookup.config_map = host_.lookup.secret;
  host_.lookup.token = [](const sandbox::TokenAsk&) -> Result<std::string> { return std::string("token"); };
  host_.containers = containers_;
  api_ = std::move(
      *sandbox::ApiServer::open({.ca_pem = ca_.certificate, .token_key = *pki::generate_key(), .containers = containers_}));
  pki::LeafOptions leaf;
  leaf.dns_names = {"kubernetes.default.svc"};
  leaf.ip_addresses = {"127.0.0.1"};
  leaf.server = true;
  serve::ListenOptions options;
  options.certificate = *pki::issue(ca_, leaf);
  options.client_ca = ca_.certificate;
  options.limits = limits;
  listener_ = std::move(*serve::HttpListener::start(runtime_, options,
                                                    [this](const serve::HttpRequest& request) { return api_->handle(request); }));
  ask("POST", "/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
}

StreamLab::~StreamLab() {
  listener_.reset();
  runtime_.stop();
  pods_.clear();
}

pki::KeyPair StreamLab::user(const std::string& name) const {
  pki::LeafOptions leaf;
  leaf.subject.common_name = name;
  if (name == "admin") leaf.subject.organizations = {"system:masters"};
  leaf.client = true;
  leaf.validity = std::chrono::minutes(30);
  return *pki::issue(ca_, leaf);
}

std::unique_ptr<RawClient> StreamLab::client(const std::string& name) {
  return std::make_unique<RawClient>(port(), ca_.certificate, user(name));
}

kube::RestConfig StreamLab::config(const std::string& name) const {
  const auto who = user(name);
  kube::RestConfig config;
  config.name = "lab";
  config.server = url();
  config.ca_data = ca_.certificate;
  config.credentials = kube::static_credentials({.client_certificate = who.certificate, .client_key = who.key});
  return config;
}

std::pair<int, std::string> StreamLab::ask(const std::string& method, const std::string& path, const std::string& body) {
  const auto admin = user("admin");
  const auto answer = https({.url = url() + path,
                             .method = method,
                             .body = body,
                             .ca = ca_.certificate,
                             .certificate = admin.certificate,
                             .key = admin.key});
  return {answer.status, answer.body};
}

void StreamLab::add_pod(const std::string& name, const std::string& script, const Json& more, const Json& spec,
                        const std::string& image) {
  Json container = {{"name", "main"}, {"image", image}, {"args", Json::array({"-c", script})}};
  container.update(more);
  Json pod = {{"metadata", {{"name", name}, {"namespace", "default"}}},
              {"spec",
               {{"nodeName", "n1"},
                {"restartPolicy", "Never"},
                {"automountServiceAccountToken", false},
                {"containers", Json::array({std::move(container)})}}}};
  pod["spec"].update(spec);
  const auto [status, body] = ask("POST", kPodsPath, dump_json(pod));
  ASSERT_EQ(status, 201) << body;
  objects_[name] = *parse_json(body);
  pods_[name] = std::make_unique<sandbox::Pod>(host_, objects_[name]);
  sync_pod(name);
}

void StreamLab::sync_pod(const std::string& name) { pods_.at(name)->sync(objects_.at(name), Clock::system()->now()); }

void StreamLab::stop_pod(const std::string& name) { pods_.erase(name); }

void StreamLab::allow(const std::string& user_name, const std::vector<std::string>& verbs,
                      const std::vector<std::string>& resources) {
  const std::string role = "role-" + std::to_string(++roles_);
  const Json rule = {{"apiGroups", Json::array({""})}, {"resources", resources}, {"verbs", verbs}};
  const Json definition = {{"metadata", {{"name", role}}}, {"rules", Json::array({rule})}};
  const Json subject = {{"kind", "User"}, {"name", user_name}, {"apiGroup", "rbac.authorization.k8s.io"}};
  const Json binding = {{"metadata", {{"name", role}}},
                        {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", role}}},
                        {"subjects", Json::array({subject})}};
  EXPECT_EQ(ask("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", dump_json(definition)).first, 201);
  EXPECT_EQ(ask("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", dump_json(binding)).first, 201);
}

}  // namespace fleetadm::testkit
