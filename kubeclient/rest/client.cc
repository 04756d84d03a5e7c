// The client's core: one way out for reads, one gate for writes, retries for both.
#include "kubeclient/rest/client.h"

#include <algorithm>

#include "kubeclient/base/backoff.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/sleep.h"
#include "kubeclient/transport/observer.h"

namespace fleetadm::kube {

namespace {

constexpr int kMaxRetries = 10;
using Steady = std::chrono::steady_clock;

bool is_read(Method method) { return method == Method::kGet || method == Method::kHead; }

}  // namespace

Client::Client(std::shared_ptr<Transport> transport, std::shared_ptr<WriteGate> gate, std::string cluster_name)
    : transport_(std::move(transport)),
      gate_(gate ? std::move(gate) : std::make_shared<WriteGate>()),
      cluster_name_(std::move(cluster_name)) {}

Client Client::connect(const RestConfig& config, std::shared_ptr<WriteGate> gate) {
  return {make_transport(config), std::move(gate), config.name};
}

Client Client::with_timeout(Duration timeout) const {
  Client copy = *this;
  copy.timeout_ = timeout;
  return copy;
}

Client Client::with_stop(std::stop_token stop) const {
  Client copy = *this;
  copy.stop_ = std::move(stop);
  return copy;
}

Error Client::located(Error error) const {
  if (error.cluster.empty()) error.cluster = cluster_name_;
  return error;
}

Result<Response> Client::send(const Request& original, const Call& call) const {
  Request request = original;
  const auto begun = Steady::now();
  const auto deadline = timeout_ > Duration::zero() ? begun + timeout_ : Steady::time_point::max();
  for (int attempt = 0;; ++attempt) {
    Duration left = Duration::zero();
    if (deadline != Steady::time_point::max()) {
      left = std::max<Duration>(deadline - Steady::now(), std::chrono::milliseconds(1));
    }
    request.timeout = left;
    auto response = call ? call(request) : transport_->call(request);
    if (response && response->status >= 200 && response->status < 300) return response;

    Error error = response ? error_of(*response, request) : std::move(response).error();
    Duration delay = Duration::zero();
    if (response) {
      // The server says that it did nothing and when to come back: any verb may be sent again.
      const bool told = response->headers.contains("retry-after") && (error.code == 429 || error.code >= 500);
      if (told) delay = std::chrono::seconds(std::max(error.retry_after_seconds, 1));
    } else if (error.reason == "ConnectionCut" && is_read(request.method)) {
      // Whether the server did it is unknown: only reads are sent again.
      delay = backoff_delay(std::chrono::milliseconds(50), std::chrono::milliseconds(1600), attempt + 1);
    }
    const bool in_time = deadline == Steady::time_point::max() || Steady::now() + delay < deadline;
    if (delay == Duration::zero() || attempt >= kMaxRetries || !in_time) return fail(located(std::move(error)));
    log::info(3, "client", "retrying " + std::string(to_string(request.method)) + " " + request.path + ": " + error.message);
    if (const auto observer = request_observer())
      observer->retrying({located(error), Steady::now() - begun, delay,
                          timeout_ > Duration::zero() ? deadline - Steady::now() : Duration::zero()});
    if (!sleep_for(delay, request.stop)) return fail(located(fail(Category::kCancelled, "cancelled").value()));
  }
}

Result<Response> Client::read(Request request) const {
  request.stop = stop_;
  return send(request);
}

Result<Response> Client::write(Request request) const {
  request.stop = stop_;
  if (gate_->dry_run == DryRun::kClient) {
    // Every caller answers client dry runs by itself; this is the bar behind them.
    return fail(located(fail(Category::kInternal, "a write was attempted in a client-side dry run").value()));
  }
  if (gate_->before) {
    if (auto allowed = gate_->before(request.method, request.path); !allowed) return fail(located(allowed.error()));
  }
  auto response = send(request);
  if (log::enabled(4)) {
    log::info(4, "client",
              std::string(to_string(request.method)) + " " + request.path + ": " +
                  (response ? std::to_string(response->status) : response.error().message));
  }
  if (gate_->after) {
    if (response) {
      gate_->after(request.method, request.path, response->status);
    } else if (response.error().code != 0) {
      gate_->after(request.method, request.path, response.error().code);
    }
  }
  return response;
}

}  // namespace fleetadm::kube
