// A hub, a managed cluster, and one agent of managed-serviceaccount between them: how soon an account is there, and what many
// accounts cost that have nothing to do.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/api/managed_service_account.h"
#include "core/controller/controller.h"
#include "kubeclient/watch/informer.h"
#include "tests/bench/in_parallel.h"
#include "tests/bench/work_process.h"

namespace fleetadm::bench {

/// The user of the agent on both servers: audit logs tell its requests by it.
inline constexpr const char* kAccountAgent = "bench-account-agent";
inline constexpr const char* kAccountNs = "open-cluster-management-agent-addon";

struct AccountPlan {
  int single = 200;  // created one after the other
  int idle = 10'000;
  Duration at_rest = std::chrono::minutes(3);  // for so long the requests are counted
  Duration limit = std::chrono::minutes(30);   // of each part
};

class AccountRun {
 public:
  /// `program`: upstream's; empty: ours.
  AccountRun(const AccountPlan& plan, std::string program) : plan_(plan), program_(std::move(program)) {}

  Result<Figures> measure() {
    FLEETADM_CHECK(start());
    Result<Figures> figures = parts();
    if (!figures) figures.error().message += "; the agent's log ends: " + log();
    agent_->stop(std::chrono::seconds(20));
    return figures;
  }

 private:
  Status start() {
    testkit::KubeServerOptions hub;
    hub.name = "hub";
    hub.controller_manager = false;
    hub.apiserver_flags = {"--audit-policy-file=" + folder_.write("audit.yaml", R"(apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
)")};
    testkit::KubeServerOptions spoke = hub;
    spoke.name = "spoke";
    FLEETADM_TRY(servers_, testkit::KubeServer::start_all({hub, spoke}));
    FLEETADM_TRY(hub_, client_of(*servers_[0]));
    FLEETADM_CHECK(install_types(*hub_, "crds/addons/", install::kHubPart));
    FLEETADM_CHECK(create_namespace(*servers_[0], "c1"));
    FLEETADM_CHECK(create_namespace(*servers_[1], kAccountNs));
    const std::string to_hub = servers_[0]->kubeconfig_file_for(kAccountAgent, {"system:masters"});
    const std::string to_spoke = servers_[1]->kubeconfig_file_for(kAccountAgent, {"system:masters"});
    sandbox::ChildSpec spec;
    spec.environment = {"HOME=" + folder_.path().string(), "PATH=/usr/bin:/bin"};
    spec.output_file = (folder_.path() / "agent.log").string();
    if (program_.empty()) {
      spec.program = testkit::Fleet::binary();
      spec.args = {"agent",
                   "msa",
                   "--cluster-name=c1",
                   "--hub-kubeconfig=" + to_hub,
                   "--kubeconfig=" + to_spoke,
                   std::string("--namespace=") + kAccountNs,
                   "--lease-health-check"};
    } else {
      spec.program = program_;
      spec.args = {"agent",
                   "--cluster-name=c1",
                   "--kubeconfig=" + to_hub,
                   "--spoke-kubeconfig=" + to_spoke,
                   "--metrics-bind-address=0",
                   "--health-probe-bind-address=127.0.0.1:" + std::to_string(testkit::free_port()),
                   "--lease-health-check=true"};
      spec.environment.push_back(std::string("NAMESPACE=") + kAccountNs);
      spec.environment.push_back("HUB_KUBECONFIG=" + to_hub);
    }
    FLEETADM_TRY(auto child, sandbox::Child::start(spec));
    agent_.emplace(std::move(child));
    return {};
  }
  std::string log() const {
    const std::string all = testkit::read_file((folder_.path() / "agent.log").string());
    return all.substr(all.size() - std::min<std::size_t>(all.size(), 2000));
  }

  Result<Json> create(const std::string& name) const {
    const auto& type = api::managed_service_accounts();
    return hub_->create(type, "c1",
                        {{"apiVersion", type.api_version()},
                         {"kind", type.kind},
                         {"metadata", {{"name", name}, {"namespace", "c1"}}},
                         {"spec", {{"rotation", {{"validity", "8640h"}}}}}});
  }
  static bool reported(const Json& object) { return controller::condition_is(object, api::kConditionTokenReported, "True"); }

  Result<Figures> parts() const {
    Figures figures;
    FLEETADM_CHECK(create_and_wait("warm"));
    figures.set("start_rss_mib", mebibytes(agent_->pid(), "VmRSS:"));
    std::vector<double> sample;
    for (int i = 0; i < plan_.single; ++i) {
      const auto begin = Timer::now();
      FLEETADM_CHECK(create_and_wait("single" + std::to_string(i)));
      sample.push_back(milliseconds_since(begin));
    }
    figures.set_sample("created_reported", sample);
    FLEETADM_CHECK(many(figures));
    FLEETADM_CHECK(rest(figures));
    return figures;
  }

  /// The status is written after the Secret.
  Status create_and_wait(const std::string& name) const {
    FLEETADM_TRY([[maybe_unused]] const Json made, create(name));
    const auto done = [](const std::optional<Json>& object) -> Result<bool> { return object && reported(*object); };
    const auto waited = kube::wait_for(*hub_, api::managed_service_accounts(), "c1", name, done, std::chrono::seconds(60));
    if (!waited) return fail(waited.error().wrap(name));
    return {};
  }

  Status many(Figures& figures) const {
    const auto begin = Timer::now();
    FLEETADM_CHECK(in_parallel(plan_.idle, [&](int i) -> Status {
      FLEETADM_TRY([[maybe_unused]] const Json made, create("idle" + std::to_string(i)));
      return {};
    }));
    for (;;) {
      int left = 0;
      FLEETADM_CHECK(hub_->list_each(api::managed_service_accounts(), "c1", {}, [&](Json&& object) -> Status {
        if (!reported(object)) ++left;
        return {};
      }));
      if (left == 0) break;
      if (Timer::now() - begin > plan_.limit) return fail(Category::kTimeout, std::to_string(left) + " accounts have no token");
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    figures.set("all_reported_s", seconds_since(begin));
    figures.set("accounts_per_s", plan_.idle / seconds_since(begin));
    figures.set("many_cpu_s", cpu_seconds(agent_->pid()));
    return {};
  }

  Status rest(Figures& figures) const {
    // What the last writes' events caused is over.
    std::this_thread::sleep_for(std::chrono::seconds(20));
    const std::uintmax_t on_hub = servers_[0]->audit_position();
    const std::uintmax_t on_spoke = servers_[1]->audit_position();
    const double cpu = cpu_seconds(agent_->pid());
    std::this_thread::sleep_for(plan_.at_rest);
    const double minutes = std::chrono::duration<double>(plan_.at_rest).count() / 60;
    figures.set("idle_cpu_ms_per_min", (cpu_seconds(agent_->pid()) - cpu) * 1000 / minutes);
    std::map<std::string, int> asked;
    int requests = 0;
    for (const auto& [server, since] : {std::pair(servers_[0].get(), on_hub), std::pair(servers_[1].get(), on_spoke)}) {
      for (const testkit::AuditEntry& one : server->audit_since(since)) {
        if (one.user != kAccountAgent || one.verb == "watch" || one.resource == "leases") continue;
        ++requests;
        ++asked[server->name() + " " + one.verb + " " + one.resource];
      }
    }
    figures.set("idle_requests_per_min", requests / minutes);
    figures.set("idle_rss_mib", mebibytes(agent_->pid(), "VmRSS:"));
    figures.set("peak_rss_mib", mebibytes(agent_->pid(), "VmHWM:"));
    for (const auto& [what, count] : asked) std::printf("  at rest: %d %s\n", count, what.c_str());
    return {};
  }

  AccountPlan plan_;
  std::string program_;
  testkit::TemporaryFolder folder_{"bench-msa"};
  std::vector<std::unique_ptr<testkit::KubeServer>> servers_;
  std::optional<kube::Client> hub_;
  std::optional<sandbox::Child> agent_;  // ends before the servers do
};

}  // namespace fleetadm::bench
