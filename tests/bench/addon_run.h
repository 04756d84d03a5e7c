// One server, its fleet, and one program that manages add-ons on it: enabled everywhere, looked at again by a new process, and
// one of them upgraded.
#pragma once

#include <cstdio>
#include <map>
#include <string>

#include "core/work/rules/conditions.h"
#include "tests/bench/addon_fleet.h"
#include "tests/bench/addon_manager.h"

namespace fleetadm::bench {

struct AddonPlan {
  int clusters = 500;
  Duration limit = std::chrono::minutes(10);  // of each part
  int count() const { return clusters * static_cast<int>(kAddons.size()); }
};

/// Writes of the measured program in an audit log; without events, leases and reviews.
struct ManagerWrites {
  std::map<std::string, int> by_kind;  // "patch managedclusteraddons/status" → how many
  int all = 0;
  int refused = 0;  // conflicts, and whatever else was not done

  static ManagerWrites since(const testkit::KubeServer& server, std::uintmax_t position) {
    ManagerWrites writes;
    const auto counts = [](const testkit::AuditEntry& one) {
      return one.user == kManagerUser && one.is_write() && one.resource != "events" && one.resource != "leases" &&
             !one.resource.ends_with("reviews");
    };
    for (const testkit::AuditEntry& one : server.audit_since(position, counts)) {
      ++writes.all;
      ++writes.by_kind[one.verb + " " + one.resource + (one.subresource.empty() ? "" : "/" + one.subresource)];
      if (one.code >= 400) ++writes.refused;
    }
    return writes;
  }
  void print(const std::string& who, const char* when) const {
    std::printf("  %s, writes %s:", who.c_str(), when);
    for (const auto& [kind, count] : by_kind) std::printf(" %d %s;", count, kind.c_str());
    std::printf(" %d refused\n", refused);
    std::fflush(stdout);
  }
};

class AddonRun {
 public:
  /// `program`: upstream's add-on program; empty: our hub is measured.
  AddonRun(const AddonPlan& plan, std::string program) : plan_(plan), program_(std::move(program)) {}

  Result<Figures> measure() {
    FLEETADM_CHECK(start());
    Result<Figures> figures = parts();
    if (!figures) figures.error().message += "; the program's log ends: " + manager_->log();
    manager_->stop();
    return figures;
  }

 private:
  bool ours() const { return program_.empty(); }
  std::string who() const { return ours() ? "fleetadm" : "upstream"; }
  const kube::Client& hub() const { return *hub_; }

  Status start() {
    testkit::KubeServerOptions options;
    options.name = "hub";
    options.controller_manager = false;
    // Who wrote what is enough: bodies would cost the server more than the writes.
    options.apiserver_flags = {"--audit-policy-file=" + folder_.write("audit.yaml", R"(apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  verbs: [get, list, watch]
- level: Metadata
)")};
    FLEETADM_TRY(server_, testkit::KubeServer::start(options));
    FLEETADM_TRY(hub_, client_of(*server_));
    FLEETADM_CHECK(install_types(hub(), "crds/hub/", install::kHubPart));
    FLEETADM_CHECK(create_namespace(*server_, std::string(api::kHubNamespace)));
    if (ours()) {
      manager_.emplace(AddonManager::ours(*server_));
      return manager_->start();
    }
    FLEETADM_TRY(auto manager, AddonManager::upstreams(program_, *server_, hub()));
    manager_.emplace(std::move(manager));
    return {};
  }

  Result<Figures> parts() {
    const AddonFleet fleet(hub(), plan_.clusters, ours());
    FLEETADM_CHECK(fleet.add_clusters());
    FLEETADM_CHECK(fleet.place());
    if (!ours()) FLEETADM_CHECK(manager_->start());
    FLEETADM_CHECK(serves_versions());
    const AddonAgents agents(hub(), fleet);
    AddonObserver observer(hub(), template_name(kUpgraded, "2"));
    FLEETADM_CHECK(idles());
    Figures figures;
    figures.set("idle_rss_mib", manager_->memory("VmRSS:"));
    FLEETADM_CHECK(install(figures, observer));
    FLEETADM_CHECK(second_pass(figures));
    FLEETADM_CHECK(upgrade(figures, observer));
    if (ours()) FLEETADM_CHECK(plain(figures));
    figures.tell("addon", who());
    return figures;
  }

  /// A server that was told of a webhook asks it a little later.
  Status serves_versions() const {
    const auto answers = [&] { return hub().list(api::cluster_management_addons_v1beta1(), {}).has_value(); };
    const Json declaration = addon_declaration("probe");
    const auto takes = [&] {
      return hub().create(api::cluster_management_addons_v1beta1(), {}, declaration).has_value() &&
             hub().remove(api::cluster_management_addons_v1beta1(), {}, "probe").has_value();
    };
    if (testkit::eventually(takes, std::chrono::minutes(1), std::chrono::milliseconds(200)) && answers()) return {};
    return fail(Category::kTimeout, "the server does not convert add-ons");
  }

  /// Until the program uses no more than a twentieth of a core for three seconds.
  Status idles() const {
    constexpr int kLooks = 3;
    double before = manager_->cpu();
    int quiet = 0;
    const auto idle = [&] {
      const double now = manager_->cpu();
      quiet = now - before < 0.05 ? quiet + 1 : 0;
      before = now;
      return quiet >= kLooks;
    };
    if (testkit::eventually(idle, plan_.limit, std::chrono::seconds(1))) return {};
    return fail(Category::kTimeout, "the program does not come to rest");
  }

  Status install(Figures& figures, AddonObserver& observer) {
    const Json role{{"apiVersion", "rbac.authorization.k8s.io/v1"},
                    {"kind", "ClusterRole"},
                    {"metadata", {{"name", kHubRole}}},
                    {"rules", Json::array({{{"apiGroups", {""}}, {"resources", {"configmaps"}}, {"verbs", {"get", "list"}}}})}};
    FLEETADM_TRY([[maybe_unused]] const Json granted, hub().create(kube::resources::cluster_roles(), {}, role));
    for (const char* addon : kAddons) {
      FLEETADM_TRY([[maybe_unused]] const Json made, hub().create(api::addon_templates(), {}, addon_template(addon, "1")));
    }
    const std::uintmax_t position = server_->audit_position();
    const double cpu = manager_->cpu();
    const auto begin = Timer::now();
    for (const char* addon : kAddons) {
      FLEETADM_TRY([[maybe_unused]] const Json made,
                   hub().create(api::cluster_management_addons_v1beta1(), {}, addon_declaration(addon)));
    }
    const auto end = observer.all_available(plan_.count(), plan_.limit);
    if (!end) {
      return fail(Category::kTimeout, std::to_string(observer.available()) + " of " + std::to_string(plan_.count()) +
                                          " add-ons were available in time");
    }
    figures.set("all_available_s", std::chrono::duration<double>(*end - begin).count());
    figures.set("install_available_cpu_s", manager_->cpu() - cpu);
    observer.at_rest(std::chrono::seconds(4), plan_.limit);
    figures.set("settled_s", std::chrono::duration<double>(observer.last_event() - begin).count());
    FLEETADM_CHECK(idles());
    figures.set("install_cpu_s", manager_->cpu() - cpu);
    figures.set("settled_rss_mib", manager_->memory("VmRSS:"));
    figures.set("settled_anonymous_mib", manager_->memory("RssAnon:"));
    figures.set("peak_rss_mib", manager_->memory("VmHWM:"));
    if (manager_->has_beside()) figures.set("webhook_rss_mib", manager_->beside_memory("VmRSS:"));
    const ManagerWrites writes = ManagerWrites::since(*server_, position);
    writes.print(who(), "until all rested");
    figures.set("install_writes", writes.all);
    figures.set("install_writes_refused", writes.refused);
    figures.set("install_writes_each", static_cast<double>(writes.all) / plan_.count());
    return {};
  }

  /// A new process on the fleet as it is has nothing to write.
  Status second_pass(Figures& figures) {
    manager_->stop();
    const std::uintmax_t position = server_->audit_position();
    const double beside = manager_->cpu();
    FLEETADM_CHECK(manager_->start());
    const auto begun = [&] { return manager_->cpu() - beside > 0.2; };
    (void)testkit::eventually(begun, std::chrono::seconds(20));
    FLEETADM_CHECK(idles());
    figures.set("second_cpu_s", manager_->cpu() - beside);
    figures.set("second_rss_mib", manager_->memory("VmRSS:"));
    figures.set("second_peak_rss_mib", manager_->memory("VmHWM:"));
    const ManagerWrites writes = ManagerWrites::since(*server_, position);
    if (writes.all > 0) writes.print(who(), "of a second pass");
    figures.set("second_writes", writes.all);
    if (!manager_->running()) return fail(Category::kInternal, "the program ended");
    return {};
  }

  /// Progressive, a tenth of the clusters at a time.
  Status upgrade(Figures& figures, AddonObserver& observer) {
    FLEETADM_TRY([[maybe_unused]] const Json made, hub().create(api::addon_templates(), {}, addon_template(kUpgraded, "2")));
    const std::uintmax_t position = server_->audit_position();
    const double cpu = manager_->cpu();
    const auto begin = Timer::now();
    const Json strategy{{"type", "Progressive"}, {"progressive", {{"maxConcurrency", "10%"}}}};
    FLEETADM_TRY([[maybe_unused]] const Json changed,
                 hub().patch(api::cluster_management_addons_v1beta1(), {}, kUpgraded, kube::PatchType::kMerge,
                             {{"spec", addon_declaration_spec(kUpgraded, "2", strategy)}}));
    if (!observer.all_upgraded(plan_.clusters, plan_.limit)) return fail(Category::kTimeout, "the upgrade did not end in time");
    std::string said;
    const auto told = [&] {
      const auto now = hub().get(api::cluster_management_addons_v1beta1(), {}, kUpgraded);
      if (!now) return false;
      const Json& progressions = list_at(*now, {"status", "installProgressions"});
      if (progressions.empty()) return false;
      const Json* progressing = work::condition_in(list_at(progressions[0], {"conditions"}), "Progressing");
      said = progressing == nullptr ? "" : str(*progressing, {"message"});
      const std::string all = std::to_string(plan_.clusters) + "/" + std::to_string(plan_.clusters);
      return progressing != nullptr && str(*progressing, {"reason"}) == "Completed" && said.find(all) != std::string::npos;
    };
    if (!testkit::eventually(told, plan_.limit, std::chrono::milliseconds(50)))
      return fail(Category::kTimeout, "the declaration does not tell that the upgrade ended: " + said);
    figures.set("upgrade_s", seconds_since(begin));
    figures.set("upgrade_most_at_a_time", observer.most_on_the_way());
    observer.at_rest(std::chrono::seconds(2), plan_.limit);
    FLEETADM_CHECK(idles());
    figures.set("upgrade_cpu_s", manager_->cpu() - cpu);
    figures.set("upgrade_peak_rss_mib", manager_->memory("VmHWM:"));
    const ManagerWrites writes = ManagerWrites::since(*server_, position);
    writes.print(who(), "of the upgrade");
    figures.set("upgrade_writes", writes.all);
    figures.set("upgrade_writes_each", static_cast<double>(writes.all) / plan_.clusters);
    return {};
  }

  /// What the server takes of the least that an add-on needs, from clients without caches or rules, beside the watches of the hub
  /// and the benchmark: creation, what it is configured with, its work, the agent's two writes, and what becomes of it.
  Status plain(Figures& figures) const {
    const auto begin = Timer::now();
    FLEETADM_CHECK(in_parallel(plan_.clusters, [&](int i) { return plain_one(cluster_of(i)); }));
    const double rate = plan_.clusters / seconds_since(begin);
    figures.set("plain_per_s", rate);
    if (const auto took = figures.get("all_available_s")) figures.set("of_plain_percent", 100 * plan_.count() / *took / rate);
    return {};
  }

  Status plain_one(const std::string& cluster) const {
    const Json addon{{"apiVersion", api::managed_cluster_addons_v1beta1().api_version()},
                     {"kind", "ManagedClusterAddOn"},
                     {"metadata", {{"name", "plain"}, {"namespace", cluster}}},
                     {"spec", Json::object()}};
    FLEETADM_TRY([[maybe_unused]] const Json made, hub().create(api::managed_cluster_addons_v1beta1(), cluster, addon));
    const Json desired{{"name", "plain-1"}, {"specHash", std::string(64, 'a')}};
    Json reference{{"group", addon::kGroup}, {"resource", addon::kTemplates}, {"desiredConfig", desired}};
    Json conditions = Json::array();
    const auto say = [&](const char* type) {
      controller::set_condition(conditions, type, "True", "Played", "as a manager would say it", Clock::system()->now());
    };
    for (const char* type : {"RegistrationApplied", "Configured"}) say(type);
    const auto tell = [&] {
      return patch_status(hub(), api::managed_cluster_addons_v1beta1(), cluster, "plain",
                          {{"configReferences", Json::array({reference})}, {"conditions", conditions}});
    };
    FLEETADM_TRY([[maybe_unused]] const Json configured, tell());
    // Without the label of an add-on, so that nobody else answers it.
    Json work{{"apiVersion", api::manifest_works().api_version()},
              {"kind", "ManifestWork"},
              {"metadata", {{"name", "plain"}, {"namespace", cluster}}}};
    work["spec"]["workload"]["manifests"] = addon_template(kUpgraded, "1")["spec"]["agentSpec"]["workload"]["manifests"];
    FLEETADM_TRY(const Json deployed, hub().create(api::manifest_works(), cluster, work));
    const Json held{{"metadata", {{"finalizers", Json::array({work::kWorkFinalizer})}}}};
    FLEETADM_TRY([[maybe_unused]] const Json taken,
                 hub().patch(api::manifest_works(), cluster, "plain", kube::PatchType::kMerge, held));
    FLEETADM_TRY([[maybe_unused]] const Json answered,
                 patch_status(hub(), api::manifest_works(), cluster, "plain", testkit::applied_work_status(deployed)));
    for (const char* type : {"ManifestApplied", "Available", "Progressing"}) say(type);
    reference["lastAppliedConfig"] = desired;
    FLEETADM_TRY([[maybe_unused]] const Json available, tell());
    return {};
  }

  AddonPlan plan_;
  std::string program_;
  testkit::TemporaryFolder folder_{"bench-addon"};
  std::unique_ptr<testkit::KubeServer> server_;
  std::optional<kube::Client> hub_;
  std::optional<AddonManager> manager_;
};

}  // namespace fleetadm::bench
