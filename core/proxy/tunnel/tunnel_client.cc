#include "core/proxy/tunnel/tunnel_client.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <thread>
#include <utility>

#include "core/proxy/tunnel/tunnel_link.h"
#include "core/serve/http/memory_budget.h"
#include "kubeclient/base/host_port.h"

namespace fleetadm::proxy {
namespace {

namespace asio = boost::asio;
using Steady = std::chrono::steady_clock;

constexpr auto kBusyTick = std::chrono::milliseconds(500);
constexpr auto kIdleTick = std::chrono::milliseconds(1000);
constexpr auto kDrainLook = std::chrono::milliseconds(20);
constexpr std::size_t kBodies = std::size_t{256} * 1024 * 1024;  // of all requests that are being received

}  // namespace

struct TunnelClients::Inner : std::enable_shared_from_this<TunnelClients::Inner> {
  Inner(serve::HttpRuntime& on, TunnelClientOptions given)
      : runtime(on),
        options(std::make_shared<const TunnelClientOptions>(std::move(given))),
        timer(on.executor()),
        room(std::make_shared<serve::MemoryBudget>(kBodies)) {}

  // I/O thread only:
  void use(const std::vector<HostPort>& addresses, const std::string& ca);
  void keep_ticking();
  void tick();
  void drain(Steady::time_point until);
  void close();

  serve::HttpRuntime& runtime;
  const std::shared_ptr<const TunnelClientOptions> options;
  asio::steady_timer timer;
  const std::shared_ptr<serve::MemoryBudget> room;
  std::vector<std::shared_ptr<TunnelLink>> leaving;  // of gateways that are no longer named
  bool ticking = false;
  bool stopped = false;
  mutable std::mutex mutex;
  std::vector<std::shared_ptr<TunnelLink>> links;  // changed on the I/O thread, in the order of the list
};

void TunnelClients::Inner::use(const std::vector<HostPort>& addresses, const std::string& ca) {
  if (stopped) return;
  std::vector<std::shared_ptr<TunnelLink>> next;
  std::vector<std::shared_ptr<TunnelLink>> added;
  for (const auto& address : addresses) {
    const std::string name = join_host_port(address.host, address.port);
    const auto is_it = [&](const auto& link) { return link->state().gateway == name; };
    if (std::ranges::any_of(next, is_it)) continue;
    if (const auto at = std::ranges::find_if(links, is_it); at != links.end()) {
      next.push_back(*at);
      continue;
    }
    next.push_back(std::make_shared<TunnelLink>(runtime.executor(), address, options, room));
    added.push_back(next.back());
  }
  for (const auto& link : links) {
    if (std::ranges::find(next, link) != next.end()) {
      link->use_ca(ca);
    } else {
      link->drain(Steady::now() + options->drain);
      leaving.push_back(link);
    }
  }
  {
    const std::lock_guard lock(mutex);
    links = std::move(next);
  }
  for (const auto& link : added) link->start(ca);
  keep_ticking();
}

void TunnelClients::Inner::keep_ticking() {
  if (ticking || (links.empty() && leaving.empty())) return;
  ticking = true;
  const auto is_busy = [](const auto& link) { return link->busy(); };
  timer.expires_after(std::ranges::any_of(links, is_busy) || std::ranges::any_of(leaving, is_busy) ? kBusyTick : kIdleTick);
  timer.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
    if (const auto here = self.lock(); here && !error) here->tick();
  });
}

void TunnelClients::Inner::tick() {
  ticking = false;
  const auto now = Steady::now();
  auto all = links;
  all.insert(all.end(), leaving.begin(), leaving.end());
  for (const auto& link : all) link->tick(now);
  std::erase_if(leaving, [](const auto& link) { return link->closed(); });
  keep_ticking();
}

void TunnelClients::Inner::drain(Steady::time_point until) {
  stopped = true;
  for (const auto& link : links) link->drain(until);
}

void TunnelClients::Inner::close() {
  stopped = true;
  timer.cancel();
  std::vector<std::shared_ptr<TunnelLink>> all = std::exchange(leaving, {});
  {
    const std::lock_guard lock(mutex);
    all.insert(all.end(), links.begin(), links.end());
    links.clear();
  }
  for (const auto& link : all) link->close();
}

TunnelClients::TunnelClients(serve::HttpRuntime& runtime, TunnelClientOptions options)
    : inner_(std::make_shared<Inner>(runtime, std::move(options))) {}

TunnelClients::~TunnelClients() {
  inner_->runtime.on_io_thread([this] { inner_->close(); });
}

Status TunnelClients::set_gateways(const std::vector<std::string>& addresses, const std::string& ca) {
  std::vector<HostPort> parsed;
  for (const auto& text : addresses) {
    auto address = split_host_port(text);
    if (!address || address->host.empty() || parse_port(address->port).value_or(0) == 0) {
      return fail(Category::kUsage, "\"" + text + "\" is no address of a gateway, which is HOST:PORT");
    }
    parsed.push_back(std::move(*address));
  }
  asio::post(inner_->runtime.executor(), [inner = inner_, parsed = std::move(parsed), ca] { inner->use(parsed, ca); });
  return {};
}

std::vector<TunnelState> TunnelClients::states() const {
  const std::lock_guard lock(inner_->mutex);
  std::vector<TunnelState> out;
  out.reserve(inner_->links.size());
  for (const auto& link : inner_->links) out.push_back(link->state());
  return out;
}

bool TunnelClients::drain(std::chrono::milliseconds patience) {
  const auto until = Steady::now() + patience;
  inner_->runtime.on_io_thread([&] { inner_->drain(until); });
  const auto is_over = [this] {
    bool over = false;
    inner_->runtime.on_io_thread([&] {
      const auto closed = [](const auto& link) { return link->closed(); };
      over = std::ranges::all_of(inner_->links, closed) && std::ranges::all_of(inner_->leaving, closed);
    });
    return over;
  };
  while (!is_over()) {
    if (Steady::now() >= until) {
      inner_->runtime.on_io_thread([this] { inner_->close(); });
      return false;
    }
    std::this_thread::sleep_for(kDrainLook);
  }
  return true;
}

}  // namespace fleetadm::proxy
