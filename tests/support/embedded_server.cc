#include "tests/support/embedded_server.h"

#include "kubeclient/base/encoding.h"
#include "kubeclient/base/yaml.h"

namespace fleetadm::testkit {
namespace {

bool is_read(std::string_view verb) { return verb == "get" || verb == "list" || verb == "watch"; }

Json parsed(const std::string& text) {
  if (auto json = parse_json(text)) return std::move(*json);
  if (auto yaml = parse_yaml(text)) return std::move(*yaml);
  return nullptr;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// audit.k8s.io/v1, as far as tests read it.
Json audit_event(const serve::ApiRequest& request, const serve::HttpResponse& response) {
  const auto& what = request.what;
  const auto& http = *request.http;
  Json event = {{"auditID", random_uuid()},
                {"stage", response.stream ? "ResponseStarted" : "ResponseComplete"},
                {"verb", what.verb},
                {"requestURI", http.path + (http.query.empty() ? "" : "?" + http.query)},
                {"user", {{"username", request.user.name}, {"groups", request.user.groups}}},
                {"userAgent", std::string(http.header("user-agent"))},
                {"responseStatus", {{"code", response.status}}}};
  if (what.resource_request) {
    event["objectRef"] = {{"apiGroup", what.group},
                          {"resource", what.resource},
                          {"subresource", what.subresource},
                          {"namespace", what.ns},
                          {"name", what.name}};
  }
  if (is_read(what.verb)) return event;
  if (Json body = parsed(http.body); body.is_structured()) {
    if (what.name.empty() && what.resource_request) event["objectRef"]["name"] = name_of(body);
    event["requestObject"] = std::move(body);
  }
  if (Json body = parsed(response.body); body.is_structured()) event["responseObject"] = std::move(body);
  return event;
}

}  // namespace

void KubeServer::Embedded::note(const serve::ApiRequest& request, const serve::HttpResponse& response) {
  if (request.http == nullptr || !request.what.resource_request || request.user.name == "test-fixture") return;
  const auto line = dump_json(audit_event(request, response)) + "\n";
  const std::lock_guard lock(mutex);
  log << line << std::flush;
}

Status KubeServer::prepare_embedded() {
  embedded_ = std::make_unique<Embedded>();
  embedded_->log.open(audit_file(), std::ios::binary | std::ios::app);
  embedded_->options.name = options_.name;
  embedded_->options.folder = folder() / "cluster";
  embedded_->options.port = free_port();
  embedded_->options.controllers = on_sandbox() || !options_.controller_manager;
  embedded_->options.containers = options_.containers;
  embedded_->options.seen = [embedded = embedded_.get()](const serve::ApiRequest& request, const serve::HttpResponse& response) {
    embedded->note(request, response);
  };
  FLEETADM_CHECK(start_embedded());
  port_ = embedded_->cluster->port();
  url_ = embedded_->cluster->url();
  ca_ = embedded_->cluster->ca();
  folder_.write("service-account.key", read_text(embedded_->options.folder / "tokens.key"));
  return make_clients({});
}

Status KubeServer::start_embedded() {
  if (embedded_->cluster) return {};
  FLEETADM_TRY(embedded_->cluster, sandbox::Cluster::start(embedded_->runtime, embedded_->options));
  return {};
}

void KubeServer::write_embedded_ca(const std::string& other_cas) const {
  const auto& folder = embedded_->options.folder;
  std::ofstream(folder / "ca.crt", std::ios::binary | std::ios::trunc) << ca_.certificate;
  std::ofstream(folder / "ca.key", std::ios::binary | std::ios::trunc) << ca_.key;
  embedded_->options.former_cas = other_cas;
}

void KubeServer::stop_embedded() { embedded_->cluster.reset(); }

}  // namespace fleetadm::testkit
