#include "core/sandbox/fleet/cluster.h"

#include <atomic>
#include <fcntl.h>
#include <functional>
#include <optional>
#include <unistd.h>

#include "core/sandbox/controllers/manager.h"
#include "core/sandbox/controllers/timers.h"
#include "kubeclient/base/encoding.h"
#include "kubeclient/base/log.h"
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

/// The time of a cluster whose clock may be wrong on purpose.
class OffsetClock final : public Clock {
 public:
  explicit OffsetClock(std::shared_ptr<Clock> right) : right_(std::move(right)) {}
  Instant now() const override { return right_->now() + Duration(offset_.load(std::memory_order_relaxed)); }
  void set(Duration offset) { offset_ = offset.count(); }

 private:
  std::shared_ptr<Clock> right_;
  std::atomic<Duration::rep> offset_{0};
};

Result<pki::KeyPair> serving_certificate(const pki::KeyPair& ca, bool expired) {
  pki::LeafOptions leaf;
  leaf.subject.common_name = "kube-apiserver";
  leaf.dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
                    "kubernetes.default.svc.cluster.local"};
  leaf.ip_addresses = {"127.0.0.1", "::1"};
  leaf.server = true;
  leaf.backdate = pki::kClocksApart;
  if (expired) {
    leaf.backdate = std::chrono::hours(48);
    leaf.validity = -std::chrono::hours(24);
  }
  return pki::issue(ca, leaf);
}

std::function<FaultInjection(const serve::ApiRequest&)> disturber(std::string cluster, std::shared_ptr<FaultBoard> board) {
  return [cluster = std::move(cluster), board = std::move(board)](const serve::ApiRequest& request) {
    const auto& what = request.what;
    const RequestFacts facts = {cluster, what.verb, what.group, what.resource, what.subresource, request.user.name};
    FaultInjection out;
    const auto strike = board->strike(facts);
    out.delay = strike.delay;
    if (strike.code != 0) {
      ApiError refusal;
      refusal.code = strike.code;
      refusal.retry_after = strike.retry_after;
      refusal.reason = strike.code == 429 ? "TooManyRequests" : "InternalError";
      refusal.message = strike.code == 429 ? "Too many requests, please try again later."
                                           : "Internal error occurred: fault " + strike.fault + " of this sandbox";
      if (strike.retry_after > 0) refusal.details["retryAfterSeconds"] = strike.retry_after;
      out.refusal = std::move(refusal);
    }
    out.stream = [board, facts](std::shared_ptr<serve::BodyStream> body) { return breakable(std::move(body), board, facts); };
    return out;
  };
}

/// One line a request, for -v 6 and above.
serve::HttpResponse answer_and_tell(const std::string& cluster, const ApiServer& api, const serve::HttpRequest& request) {
  const auto began = std::chrono::steady_clock::now();
  auto response = api.handle(request);
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - began).count();
  log::info(6, cluster,
            request.method + " " + request.path + (request.query.empty() ? "" : "?" + request.query) + " " +
                std::to_string(response.status) + " " + std::to_string(took) + "us");
  return response;
}

}  // namespace

struct Cluster::Inner {
  std::string name;
  std::shared_ptr<OffsetClock> clock;
  std::shared_ptr<FaultBoard> faults;
  ClusterTrouble trouble;  // as it is made now
  pki::KeyPair ca;
  std::unique_ptr<ApiServer> api;
  std::shared_ptr<Timers> timers;
  std::unique_ptr<ControllerManager> controllers;
  std::unique_ptr<serve::HttpListener> listener;
};

Cluster::Cluster(std::unique_ptr<Inner> inner) : inner_(std::move(inner)) {}

Cluster::~Cluster() {
  inner_->api->end_calls();  // requests must not wait for what is outside
  inner_->listener.reset();  // no new requests
  inner_->controllers.reset();
}

Result<std::unique_ptr<Cluster>> Cluster::start(serve::HttpRuntime& runtime, const ClusterOptions& options) {
  auto inner = std::make_unique<Inner>();
  inner->name = options.name;
  ApiOptions api;
  inner->clock = std::make_shared<OffsetClock>(options.clock ? options.clock : Clock::system());
  inner->faults = options.faults;
  api.clock = inner->clock;
  if (options.faults) api.disturb = disturber(options.name, options.faults);
  api.store = options.store;
  api.seen = options.seen;
  api.containers = options.containers;
  api.wait_outside = [&runtime](const std::function<void()>& wait) { runtime.wait_outside(wait); };
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
  if (!made && !pki::key_matches(inner->ca.certificate, inner->ca.key)) {
    return fail(Category::kTls, "the CA of sandbox cluster \"" + options.name + "\" and its key do not belong together",
                "remove the sandbox and make it anew");
  }
  FLEETADM_TRY(api.token_key, kept(options.folder, "tokens.key", [] { return pki::generate_key(); }));
  api.ca_pem = inner->ca.certificate + options.former_cas;
  serve::ListenOptions listen;
  listen.loopback_only = true;  // whoever reaches a sandbox could run commands as its pods
  listen.port = options.port;
  listen.client_ca = inner->ca.certificate + options.former_cas;
  listen.now = [clock = inner->clock] {
    return static_cast<std::time_t>(std::chrono::duration_cast<std::chrono::seconds>(clock->now().time_since_epoch()).count());
  };
  FLEETADM_TRY(listen.certificate, serving_certificate(inner->ca, false));
  FLEETADM_TRY(inner->api, ApiServer::open(std::move(api)));
  inner->timers = options.timers ? options.timers : std::make_shared<Timers>();
  inner->controllers = std::make_unique<ControllerManager>(
      *inner->api, inner->ca, [&runtime](std::function<void()> task) { return runtime.work(std::move(task)); },
      Timers::of(inner->timers));
  if (options.controllers) inner->controllers->start();
  const auto answer = [server = inner->api.get(), name = options.name](const serve::HttpRequest& request) {
    return log::enabled(6) ? answer_and_tell(name, *server, request) : server->handle(request);
  };
  FLEETADM_TRY(inner->listener, serve::HttpListener::start(runtime, listen, answer));
  return std::unique_ptr<Cluster>(new Cluster(std::move(inner)));
}

const std::string& Cluster::name() const { return inner_->name; }
int Cluster::port() const { return inner_->listener->port(); }
std::string Cluster::url() const { return "https://127.0.0.1:" + std::to_string(port()); }
const pki::KeyPair& Cluster::ca() const { return inner_->ca; }
ApiServer& Cluster::api() { return *inner_->api; }
bool Cluster::settled() const { return inner_->controllers->idle(); }

Status Cluster::follow_faults() {
  if (!inner_->faults) return {};
  const auto wanted = inner_->faults->trouble(inner_->name);
  auto& made = inner_->trouble;
  if (wanted == made) return {};
  inner_->clock->set(wanted.clock_offset);
  if (wanted.expired_certificate != made.expired_certificate) {
    FLEETADM_TRY(const auto certificate, serving_certificate(inner_->ca, wanted.expired_certificate));
    FLEETADM_CHECK(inner_->listener->set_certificate(certificate));
  }
  using Network = serve::HttpListener::Network;
  inner_->listener->set_network(!wanted.partition ? Network::kWhole : wanted.silent ? Network::kSilent : Network::kReset);
  made = wanted;
  return {};
}

Result<Json> Cluster::admin_user() const {
  pki::LeafOptions leaf;
  leaf.subject = {"sandbox-admin", {"system:masters"}, {}};
  leaf.client = true;
  FLEETADM_TRY(const auto pair, pki::issue(inner_->ca, leaf));
  return Json{{"client-certificate-data", base64_encode(pair.certificate)}, {"client-key-data", base64_encode(pair.key)}};
}

}  // namespace fleetadm::sandbox
