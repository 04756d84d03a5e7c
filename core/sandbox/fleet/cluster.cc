#include "core/sandbox/fleet/cluster.h"

#include <fcntl.h>
#include <functional>
#include <optional>
#include <unistd.h>

#include "core/sandbox/controllers/manager.h"
#include "kubeclient/config/files.h"

namespace fleetadm::sandbox {
namespace {

namespace fs = std::filesystem;
constexpr auto kYears = std::chrono::hours(24 * 365 * 10);

Status write_secret(const fs::path& file, const std::string& text) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return fail(Category::kInternal, "cannot write " + file.string());
  std::size_t done = 0;
  while (done < text.size()) {
    const auto count = ::write(descriptor, text.data() + done, text.size() - done);
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  const bool synced = ::fsync(descriptor) == 0;
  ::close(descriptor);
  if (done < text.size() || !synced) return fail(Category::kInternal, "cannot write " + file.string());
  return {};
}

/// A file's text, made once where the folder keeps anything.
Result<std::string> kept(const fs::path& folder, const char* name, const std::function<Result<std::string>()>& make) {
  if (folder.empty()) return make();
  if (auto text = kube::read_file(folder / name).value_or(std::string()); !text.empty()) return text;
  FLEETADM_TRY(auto text, make());
  FLEETADM_CHECK(write_secret(folder / name, text));
  return text;
}

}  // namespace

struct Cluster::Inner {
  std::string name;
  pki::KeyPair ca;
  std::unique_ptr<ApiServer> api;
  std::unique_ptr<ControllerManager> controllers;
  std::unique_ptr<HttpListener> listener;
};

Cluster::Cluster(std::unique_ptr<Inner> inner) : inner_(std::move(inner)) {}

Cluster::~Cluster() {
  inner_->listener.reset();  // no new requests
  inner_->controllers.reset();
}

Result<std::unique_ptr<Cluster>> Cluster::start(HttpRuntime& runtime, const ClusterOptions& options) {
  auto inner = std::make_unique<Inner>();
  inner->name = options.name;
  ApiOptions api;
  api.clock = options.clock;
  api.store = options.store;
  api.seen = options.seen;
  if (!options.folder.empty()) {
    std::error_code failed;
    fs::create_directories(options.folder, failed);
    fs::permissions(options.folder, fs::perms::owner_all, failed);
    FLEETADM_TRY(api.journal, open_sqlite_journal((options.folder / "objects.db").string()));
  }
  std::optional<pki::KeyPair> made;
  FLEETADM_TRY(inner->ca.certificate, kept(options.folder, "ca.crt", [&]() -> Result<std::string> {
                 FLEETADM_TRY(made, pki::make_ca("fleetadm sandbox " + options.name, kYears));
                 if (!options.folder.empty()) FLEETADM_CHECK(write_secret(options.folder / "ca.key", made->key));
                 return made->certificate;
               }));
  inner->ca.key = made ? made->key : kube::read_file(options.folder / "ca.key").value_or(std::string());
  if (!pki::key_matches(inner->ca.certificate, inner->ca.key)) {
    return fail(Category::kTls, "the CA of sandbox cluster \"" + options.name + "\" and its key do not belong together",
                "remove the sandbox and make it anew");
  }
  FLEETADM_TRY(api.token_key, kept(options.folder, "tokens.key", [] { return pki::generate_key(); }));
  api.ca_pem = inner->ca.certificate;
  ListenOptions listen;
  listen.port = options.port;
  listen.client_ca = inner->ca.certificate;
  pki::LeafOptions leaf;
  leaf.subject.common_name = "kube-apiserver";
  leaf.dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
                    "kubernetes.default.svc.cluster.local"};
  leaf.ip_addresses = {"127.0.0.1", "::1"};
  leaf.server = true;
  FLEETADM_TRY(listen.certificate, pki::issue(inner->ca, leaf));
  FLEETADM_TRY(inner->api, ApiServer::open(std::move(api)));
  inner->controllers = std::make_unique<ControllerManager>(
      *inner->api, inner->ca, [&runtime](std::function<void()> task) { return runtime.work(std::move(task)); });
  if (options.controllers) inner->controllers->start();
  FLEETADM_TRY(inner->listener, HttpListener::start(runtime, listen, [server = inner->api.get()](const HttpRequest& request) {
                 return server->handle(request);
               }));
  return std::unique_ptr<Cluster>(new Cluster(std::move(inner)));
}

const std::string& Cluster::name() const { return inner_->name; }
int Cluster::port() const { return inner_->listener->port(); }
std::string Cluster::url() const { return "https://127.0.0.1:" + std::to_string(port()); }
const pki::KeyPair& Cluster::ca() const { return inner_->ca; }
ApiServer& Cluster::api() { return *inner_->api; }
bool Cluster::settled() const { return inner_->controllers->idle(); }

Result<Json> Cluster::admin_user() const {
  pki::LeafOptions leaf;
  leaf.subject = {"sandbox-admin", {"system:masters"}, {}};
  leaf.client = true;
  FLEETADM_TRY(const auto pair, pki::issue(inner_->ca, leaf));
  return Json{{"client-certificate-data", pki::base64_encode(pair.certificate)},
              {"client-key-data", pki::base64_encode(pair.key)}};
}

}  // namespace fleetadm::sandbox
