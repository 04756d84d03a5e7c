#include "core/proxy/client/pod_forward.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "core/proxy/client/forwarding.h"
#include "kubeclient/stream/forward_stream.h"

namespace fleetadm::proxy {
namespace {

constexpr auto kNextAttempt = std::chrono::seconds(1);

bool is_ready(const Json& pod) {
  if (str(pod, {"status", "phase"}) != "Running" || find(pod, {"metadata", "deletionTimestamp"}) != nullptr) return false;
  for (const Json& condition : list_at(pod, {"status", "conditions"}))
    if (str(condition, {"type"}) == "Ready") return str(condition, {"status"}) == "True";
  return false;
}

/// The first that is ready, else the first that runs.
Result<std::string> running_pod(const kube::Client& hub, const PodPort& target) {
  if (!target.pod.empty()) return target.pod;
  kube::ListOptions which;
  which.label_selector = target.selector;
  FLEETADM_TRY(const Json pods, hub.list(kube::resources::pods(), target.ns, which));
  std::string running;
  for (const Json& pod : list_at(pods, {"items"})) {
    if (is_ready(pod)) return name_of(pod);
    if (running.empty() && str(pod, {"status", "phase"}) == "Running") running = name_of(pod);
  }
  if (!running.empty()) return running;
  return fail(Category::kNotFound, "no pod of namespace " + target.ns + " with labels " + target.selector + " runs");
}

Result<std::unique_ptr<kube::ForwardStream>> open_stream(const kube::Client& hub, const kube::RestConfig& config,
                                                         const PodPort& target) {
  FLEETADM_TRY(const std::string pod, running_pod(hub, target));
  kube::Request request;
  request.path = kube::resources::pods().path(target.ns, pod, "portforward");
  return kube::ForwardStream::open(config, request);
}

}  // namespace

struct PodForward::Inner {
  kube::Client hub;
  kube::RestConfig config;
  PodPort target;
  int port = 0;
  std::jthread thread;

  void run(const std::stop_token& stop, Forwarding& forwarding, std::unique_ptr<kube::ForwardStream> stream) const {
    std::mutex mutex;
    std::condition_variable_any wake;
    while (!stop.stop_requested()) {
      // Failures of single connections are told to whoever made them: they are closed.
      if (stream) [[maybe_unused]]
        const Status broke = forwarding.run(*stream, stop, [](const std::string&) {});
      stream.reset();
      forwarding.drop_connections();
      std::unique_lock lock(mutex);
      if (wake.wait_for(lock, stop, kNextAttempt, [&] { return stop.stop_requested(); })) return;
      if (auto again = open_stream(hub.with_stop(stop), config, target)) stream = std::move(*again);
    }
  }
};

PodForward::PodForward(std::unique_ptr<Inner> inner) : inner_(std::move(inner)) {}
PodForward::~PodForward() = default;

Result<std::unique_ptr<PodForward>> PodForward::start(const kube::Client& hub, const kube::RestConfig& config, PodPort target) {
  FLEETADM_TRY(auto stream, open_stream(hub, config, target));
  std::vector<ForwardedPort> ports{{0, target.port}};
  FLEETADM_TRY(Forwarding forwarding, Forwarding::listen(ports));
  auto inner = std::make_unique<Inner>(Inner{hub, config, std::move(target), ports.front().local, {}});
  inner->thread = std::jthread([raw = inner.get(), forwarding = std::move(forwarding), stream = std::move(stream)](
                                   const std::stop_token& stop) mutable { raw->run(stop, forwarding, std::move(stream)); });
  return std::unique_ptr<PodForward>(new PodForward(std::move(inner)));
}

int PodForward::port() const { return inner_->port; }

}  // namespace fleetadm::proxy
