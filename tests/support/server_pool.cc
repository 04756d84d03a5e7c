#include "tests/support/server_pool.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <deque>
#include <thread>
#include <utility>

#include "tests/support/server_reset.h"

namespace fleetadm::testkit {
namespace {

using Servers = std::vector<std::unique_ptr<KubeServer>>;

constexpr std::size_t kMostIdle = 3;  // each has half a GiB and three instances of inotify

std::deque<std::unique_ptr<KubeServer>>& idle() {
  static std::deque<std::unique_ptr<KubeServer>> servers;
  return servers;
}

bool plain(const KubeServerOptions& options) {
  const KubeServerOptions usual{.name = options.name,
                                .controller_manager = options.controller_manager,
                                .apiserver_flags = options.apiserver_flags,
                                .controller_manager_flags = options.controller_manager_flags};
  return options == usual && !KubeServer::on_sandbox();
}

std::unique_ptr<KubeServer> take_idle(const KubeServerOptions& options) {
  const auto at = std::ranges::find_if(idle(), [&](const auto& server) { return server->options() == options; });
  if (at == idle().end()) return nullptr;
  std::unique_ptr<KubeServer> server = std::move(*at);
  idle().erase(at);
  return server;
}

// Side by side; a server that cannot be put back is null afterwards.
void put_back(Servers& servers) {
  std::vector<std::jthread> threads;
  for (auto& server : servers) {
    if (!server) continue;
    threads.emplace_back([&server] {
      const Status done = server->begin_again();
      if (done) return;
      std::fprintf(stderr, "another server is started: %s\n", done.error().message.c_str());
      server.reset();
    });
  }
}

}  // namespace

Result<Servers> take_servers(std::vector<KubeServerOptions> options) {
  Servers servers;
  for (const KubeServerOptions& each : options) servers.push_back(take_idle(each));
  put_back(servers);
  std::vector<KubeServerOptions> missing;
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (!servers[i]) missing.push_back(std::move(options[i]));
  }
  FLEETADM_TRY(auto started, KubeServer::start_all(std::move(missing)));
  auto next = started.begin();
  for (auto& server : servers) {
    if (server) continue;
    server = std::move(*next++);
    if (plain(server->options())) FLEETADM_CHECK(server->remember_beginning());
  }
  return servers;
}

void give_back(std::unique_ptr<KubeServer> server) {
  if (!server || !server->rest()) return;
  idle().push_back(std::move(server));
  if (idle().size() > kMostIdle) idle().pop_front();
}

Status KubeServer::remember_beginning() {
  std::vector<std::string> made_by_controllers;  // what wait_ready() waits for
  if (options_.controller_manager) {
    made_by_controllers = {"/registry/serviceaccounts/default/default", "/registry/configmaps/kube-system/kube-root-ca.crt"};
  }
  FLEETADM_TRY(auto reset, ServerReset::prepare(*this, made_by_controllers));
  reset_ = std::make_unique<ServerReset>(std::move(reset));
  return {};
}

bool KubeServer::rest() {
  if (!reset_ || !only_written_to_ || !apiserver_ || !apiserver_->running()) return false;
  // Not only to idle: after a reset it would look for kinds that are gone, and pause for ever longer in between.
  if (controller_manager_) controller_manager_->stop({});
  controller_manager_.reset();
  apiserver_->signal(SIGSTOP);  // a hundredth of a processor, even without a client
  return true;
}

Status KubeServer::begin_again() {
  thaw();
  FLEETADM_CHECK(reset_->perform(*this));
  FLEETADM_CHECK(wait_ready(std::chrono::seconds(30)));
  audit_begin_ = audit_position();
  return {};
}

}  // namespace fleetadm::testkit
