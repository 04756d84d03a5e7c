// Push members for bench_status: they join by the command line, and what the hub says of them is read from it.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/api/member_state.h"
#include "core/controller/controller.h"
#include "tests/bench/lab.h"

namespace fleetadm::bench {

class PushFleet {
 public:
  PushFleet(std::string binary, int members) : lab_(std::move(binary)), members_(members) {}

  Status serve() { return lab_.serve(members_, {"--push"}); }
  Lab& lab() { return lab_; }
  int members() const { return members_; }

  /// Starts the hub's controllers.
  Result<pid_t> start_hub() {
    FLEETADM_TRY(hub_, lab_.start({"hub", "run", "--push", "--context", Lab::context(0), "--leader-elect=false"}));
    return hub_;
  }
  void stop_hub() { lab_.stop(std::exchange(hub_, -1)); }
  pid_t hub_process() const { return hub_; }

  static std::string name(int member) { return "c" + std::to_string(member); }
  static std::vector<std::string> join_arguments(int member) {
    return {"join",           "--push",     "--context",       Lab::context(0), "--member-context", Lab::context(member),
            "--cluster-name", name(member), "--allow-loopback"};
  }
  Status join(int member, const std::vector<std::string>& more = {}) {
    std::vector<std::string> args = join_arguments(member);
    args.insert(args.end(), more.begin(), more.end());
    return lab_.command(std::move(args));
  }
  Status unjoin(int member) {
    return lab_.command({"unjoin", "--push", "--context", Lab::context(0), "--cluster-name", name(member), "--allow-removals"});
  }
  Status fault(int member, const std::vector<std::string>& kind) {
    std::vector<std::string> args{"sandbox", "fault", "add", "partition", "--name", kName, "--clusters", name(member)};
    args.insert(args.end(), kind.begin(), kind.end());
    return lab_.command(std::move(args));
  }
  Status clear_faults() { return lab_.command({"sandbox", "fault", "clear", "--all", "--name", kName}); }

  /// Nodes and running pods of a member.
  Status fill(int member, int nodes, int pods) const {
    FLEETADM_TRY(const kube::Client client, lab_.client(member));
    for (int n = 0; n < nodes; ++n) {
      const Json node{{"apiVersion", "v1"},
                      {"kind", "Node"},
                      {"metadata", {{"name", "n" + std::to_string(n)}}},
                      {"status",
                       {{"allocatable", {{"cpu", "4"}, {"memory", "16Gi"}, {"pods", "110"}}},
                        {"capacity", {{"cpu", "4"}, {"memory", "16Gi"}, {"pods", "110"}}},
                        {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
      FLEETADM_TRY(const Json made, client.create(kube::resources::nodes(), "", node));
      Json status = made;
      status["status"] = node["status"];
      kube::WriteOptions options;
      options.subresource = "status";
      FLEETADM_CHECK(client.update(kube::resources::nodes(), status, options).map([](const Json&) {}));
    }
    for (int p = 0; p < pods; ++p) {
      const Json pod{
          {"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", "p" + std::to_string(p)}, {"namespace", "default"}}},
          {"spec",
           {{"nodeName", "n" + std::to_string(p % nodes)},
            {"containers", {{{"name", "main"}, {"image", "app:1"}, {"resources", {{"requests", {{"cpu", "100m"}}}}}}}}}}};
      FLEETADM_CHECK(client.create(kube::resources::pods(), "default", pod).map([](const Json&) {}));
    }
    return {};
  }

  /// The ManagedCluster; null where it cannot be read.
  Json cluster(int member) const {
    auto read = lab_.hub().find(api::managed_clusters(), {}, name(member));
    return read && *read ? **read : Json();
  }
  bool is_available(int member, std::string_view status) const {
    return controller::condition_is(cluster(member), api::kConditionAvailable, status);
  }
  /// Waits; kTimeout where it does not come about.
  static Status until(const std::string& what, Duration limit, const std::function<bool()>& holds,
                      Duration look_again = std::chrono::milliseconds(20)) {
    const auto end = Timer::now() + limit;
    while (!holds()) {
      if (Timer::now() >= end) return fail(Category::kTimeout, what + " did not come about");
      std::this_thread::sleep_for(look_again);
    }
    return {};
  }
  /// Members whose status has the figures of nodes and pods.
  Result<int> with_figures() const {
    FLEETADM_TRY(const Json list, lab_.hub().list(api::managed_clusters(), {}));
    int found = 0;
    for (const Json& one : list_at(list, {"items"})) {
      const Json capacity = object_at(one, {"status", "capacity"});
      if (capacity.contains(std::string(api::kNodesPrefix) + "total")) ++found;
    }
    return found;
  }

 private:
  Lab lab_;
  int members_;
  pid_t hub_ = -1;
};

}  // namespace fleetadm::bench
