// What push members cost, and how soon the hub says how a cluster is: members of a sandbox that join by the command line, and a
// process of the hub's controllers.
//   bench_status [life|outages|many]…
//     life: joining, leaving, memory, processor time and requests at rest (FLEETADM_BENCH_MEMBERS=100,
//       FLEETADM_BENCH_IDLE=120 seconds that are measured)
//     outages: from an event to what the hub says of it, with the usual holds of 30 s and a grace of 40 s
//     many: FLEETADM_BENCH_MANY=1000 members that joined, until all have figures, and with 5 % of them that never answer
#include <csignal>
#include <cstdio>
#include <thread>

#include "tests/bench/push_fleet.h"

namespace fleetadm::bench {
namespace {

constexpr auto kSettle = 30s;

Result<double> seconds_of(const std::function<Status()>& work) {
  const auto begun = Timer::now();
  FLEETADM_CHECK(work());
  return seconds_since(begun);
}

/// Writes that a member and the hub took while `work` ran, and those that they refused.
Result<Requests> writes_of(const Lab& lab, int member, const std::function<Status()>& work) {
  Requests all;
  for (const int server : {0, member}) {
    FLEETADM_TRY(const Requests before, lab.requests(server));
    all.writes -= before.writes;
    all.refused -= before.refused;
  }
  FLEETADM_CHECK(work());
  for (const int server : {0, member}) {
    FLEETADM_TRY(const Requests after, lab.requests(server));
    all.writes += after.writes;
    all.refused += after.refused;
  }
  return all;
}

/// The first members, one by one: times and writes. The hub's controllers run afterwards.
Status join_first(PushFleet& fleet, Figures& figures) {
  FLEETADM_CHECK(fleet.start_hub().map([](pid_t) {}));
  std::this_thread::sleep_for(kSettle);
  figures.set("empty", mebibytes(fleet.hub_process(), "VmRSS:"));
  FLEETADM_TRY(const double dry, seconds_of([&] { return fleet.join(1, {"--dry-run=server"}); }));
  figures.set("dry_run", dry);
  FLEETADM_TRY(const double joined, seconds_of([&] { return fleet.join(1, {"--wait=available"}); }));
  figures.set("join", joined);
  fleet.stop_hub();
  FLEETADM_TRY(const Requests command, writes_of(fleet.lab(), 2, [&] { return fleet.join(2, {"--wait=none"}); }));
  figures.set("command_writes", command.writes);
  FLEETADM_CHECK(fleet.start_hub().map([](pid_t) {}));
  FLEETADM_CHECK(PushFleet::until("Available", 1min, [&] { return fleet.is_available(2, "True"); }));
  std::this_thread::sleep_for(kSettle);
  const auto whole = [&]() -> Status {
    FLEETADM_CHECK(fleet.join(3, {"--wait=available"}));
    std::this_thread::sleep_for(10s);
    return {};
  };
  FLEETADM_TRY(const Requests all, writes_of(fleet.lab(), 3, whole));
  figures.set("controller_writes", all.writes - command.writes);
  figures.set("refused", all.refused);
  return {};
}

/// All of them, at rest.
Status measure_rest(PushFleet& fleet, Figures& figures) {
  const int members = fleet.members();
  const int half = members / 2;
  FLEETADM_CHECK(in_parallel(half - 3, [&](int i) { return fleet.join(i + 4); }));
  FLEETADM_CHECK(PushFleet::until("figures of the half", 2min, [&] { return fleet.with_figures().value_or(0) >= half; }));
  std::this_thread::sleep_for(kSettle);
  const double resident = mebibytes(fleet.hub_process(), "VmRSS:");
  FLEETADM_CHECK(in_parallel(members - half, [&](int i) { return fleet.join(half + i + 1); }));
  FLEETADM_CHECK(PushFleet::until("figures of all", 2min, [&] { return fleet.with_figures().value_or(0) >= members; }));
  std::this_thread::sleep_for(kSettle);

  const auto idle = std::chrono::seconds(number("FLEETADM_BENCH_IDLE", 120, 10));
  const double minutes = std::chrono::duration<double>(idle).count() / 60;
  const auto of_members = [&]() -> Result<double> {
    FLEETADM_TRY(const double all, fleet.lab().all_requests(members));
    FLEETADM_TRY(const Requests hub, fleet.lab().requests(0));
    return all - hub.all;
  };
  FLEETADM_TRY(const Requests hub_before, fleet.lab().requests(0));
  FLEETADM_TRY(const double before, of_members());
  const double busy = cpu_seconds(fleet.hub_process());
  std::this_thread::sleep_for(idle);
  figures.set("cpu", (cpu_seconds(fleet.hub_process()) - busy) / minutes);
  FLEETADM_TRY(const double after, of_members());
  FLEETADM_TRY(const Requests hub_after, fleet.lab().requests(0));
  figures.set("requests", (after - before) / minutes / members - 1 / minutes);  // less the one that read the count
  figures.set("hub_writes", (hub_after.writes - hub_before.writes) / minutes / members);
  figures.set("full", mebibytes(fleet.hub_process(), "VmRSS:"));
  figures.set("each", (mebibytes(fleet.hub_process(), "VmRSS:") - resident) / (members - half));
  figures.set("threads", threads_of(fleet.hub_process()));
  FLEETADM_TRY(const double left, seconds_of([&] { return fleet.unjoin(members); }));
  figures.set("unjoin", left);
  return {};
}

Status life(const std::string& binary) {
  PushFleet fleet(binary, number("FLEETADM_BENCH_MEMBERS", 100, 8));
  FLEETADM_CHECK(fleet.serve());
  FLEETADM_CHECK(in_parallel(fleet.members(), [&](int i) { return fleet.fill(i + 1, 3, 30); }));
  Figures figures;
  FLEETADM_CHECK(join_first(fleet, figures));
  FLEETADM_CHECK(measure_rest(fleet, figures));
  std::printf("\n%d push members of 3 nodes and 30 pods\n", fleet.members());
  const Row rows[] = {
      {"join", "push join until available", "s", 0.5},       {"dry_run", "dry run", "s", 0.3},
      {"command_writes", "writes of the command", "", 12},   {"controller_writes", "writes of the controllers", "", 6},
      {"refused", "writes that were refused", ""},           {"unjoin", "unjoin of an idle member", "s", 1},
      {"empty", "hub without members, resident", "MiB", 20}, {"full", "hub with all members, resident", "MiB", 28},
      {"each", "each further member", "MiB", 0.08},          {"threads", "threads", ""},
      {"cpu", "processor time a minute", "s", 0.3},          {"requests", "requests a minute to a member", "", 6},
      {"hub_writes", "hub writes a minute, a member", "", 1}};
  print_table(rows, figures, std::nullopt);
  figures.tell("status-life", "fleetadm");
  return {};
}

/// Seconds from now until the hub says `status` of a member.
Result<double> until_told(const PushFleet& fleet, int member, const char* status, Duration limit) {
  return seconds_of([&] {
    return PushFleet::until(PushFleet::name(member) + " " + status, limit, [&] { return fleet.is_available(member, status); });
  });
}

/// An agent that runs for itself, and freezes: from its last renewal until it is Unknown, with leases of so many seconds.
Result<double> frozen_agent(PushFleet& fleet, int member, int lease_seconds) {
  Lab& lab = fleet.lab();
  FLEETADM_CHECK(lab.issue_bootstrap());
  FLEETADM_CHECK(lab.prepare(member));
  FLEETADM_TRY(const std::string bootstrap, lab.bootstrap_file());
  FLEETADM_TRY(const pid_t agent,
               lab.start({"agent", "run", "--context", Lab::context(member), "--cluster-name=" + PushFleet::name(member),
                          "--bootstrap-kubeconfig=" + bootstrap}));
  FLEETADM_CHECK(lab.command({"accept", "--context", Lab::context(0), "--wait=available", "--yes", PushFleet::name(member)}));
  const Json shorter{{"spec", {{"leaseDurationSeconds", lease_seconds}}}};
  FLEETADM_CHECK(lab.hub()
                     .patch(api::managed_clusters(), {}, PushFleet::name(member), kube::PatchType::kMerge, shorter)
                     .map([](const Json&) {}));
  std::this_thread::sleep_for(90s);  // the agent has taken the shorter lease by then
  const auto renewed = [&]() -> std::string {
    const auto lease = lab.hub().find(kube::resources::leases(), PushFleet::name(member), api::kClusterLease);
    return lease && *lease ? str(**lease, {"spec", "renewTime"}) : std::string();
  };
  const std::string before = renewed();
  FLEETADM_CHECK(PushFleet::until("a renewal", 2min, [&] { return renewed() != before; }));
  const auto begun = Timer::now();
  ::kill(agent, SIGSTOP);
  const Status told = PushFleet::until("Unknown", 2min, [&] { return fleet.is_available(member, "Unknown"); });
  const double seconds = seconds_since(begun);
  ::kill(agent, SIGCONT);
  FLEETADM_CHECK(told);
  return seconds;
}

Status outages(const std::string& binary) {
  PushFleet fleet(binary, 4);
  FLEETADM_CHECK(fleet.serve());
  FLEETADM_CHECK(fleet.start_hub().map([](pid_t) {}));
  Figures figures;
  for (const int member : {1, 2}) {
    FLEETADM_CHECK(fleet.join(member, {"--wait=available"}));
  }
  std::this_thread::sleep_for(kSettle);
  const struct {
    int member;
    std::vector<std::string> how;
    const char* gone;
    const char* back;
  } ways[] = {{1, {}, "killed", "killed_back"}, {2, {"--silent"}, "hangs", "hangs_back"}};
  for (const auto& way : ways) {
    FLEETADM_CHECK(fleet.fault(way.member, way.how));
    FLEETADM_TRY(const double gone, until_told(fleet, way.member, "False", 3min));
    figures.set(way.gone, gone);
    FLEETADM_CHECK(fleet.clear_faults());
    FLEETADM_TRY(const double back, until_told(fleet, way.member, "True", 3min));
    figures.set(way.back, back);
  }
  FLEETADM_TRY(const double frozen, frozen_agent(fleet, 3, 8));
  figures.set("frozen", frozen);
  FLEETADM_TRY(const double heartbeat, frozen_agent(fleet, 4, 4));
  figures.set("heartbeat", heartbeat);
  std::printf("\nFrom an event to the hub's word; holds of 30 s\n");
  const Row rows[] = {{"killed", "connections refused, until False", "s", 32},
                      {"killed_back", "back, until True", "s", 31},
                      {"hangs", "no answers, until False", "s", 36},
                      {"hangs_back", "back, until True", "s", 31},
                      {"frozen", "agent frozen, renewal until Unknown", "s", 41, 40},
                      {"heartbeat", "heartbeat lost, grace of 20 s, until known", "s", 21, 20}};
  print_table(rows, figures, std::nullopt);
  figures.tell("status-outages", "fleetadm");
  return {};
}

/// Until all members that answer have figures, from the start of the hub.
Result<double> first_figures(const std::string& binary, int members, int silent) {
  PushFleet fleet(binary, members);
  FLEETADM_CHECK(fleet.serve());
  FLEETADM_CHECK(in_parallel(members, [&](int i) { return fleet.join(i + 1); }));
  for (int i = 0; i < silent; ++i) FLEETADM_CHECK(fleet.fault(i * (members / silent) + 1, {"--silent"}));
  const auto begun = Timer::now();
  FLEETADM_CHECK(fleet.start_hub().map([](pid_t) {}));
  FLEETADM_CHECK(PushFleet::until(
      "figures of all that answer", 5min, [&] { return fleet.with_figures().value_or(0) >= members - silent; }, 200ms));
  return seconds_since(begun);
}

Status many(const std::string& binary) {
  const int members = number("FLEETADM_BENCH_MANY", 1000, 20);
  Figures figures;
  FLEETADM_TRY(const double all, first_figures(binary, members, 0));
  figures.set("all", all);
  FLEETADM_TRY(const double others, first_figures(binary, members, members / 20));
  figures.set("others", others);
  std::printf("\n%d members joined, until they have figures\n", members);
  const Row rows[] = {{"all", "all of them", "s", 30}, {"others", "with 5 % that never answer, the others", "s", 30}};
  print_table(rows, figures, std::nullopt);
  figures.tell("status-many", "fleetadm");
  return {};
}

}  // namespace
}  // namespace fleetadm::bench

int main(int argc, char** argv) {
  using namespace fleetadm;
  const std::string binary = testkit::Fleet::binary();
  const struct {
    std::string_view name;
    Status (*run)(const std::string&);
  } parts[] = {{"life", bench::life}, {"outages", bench::outages}, {"many", bench::many}};
  bool good = true;
  for (const auto& part : parts) {
    bool wanted = argc < 2;
    for (int i = 1; i < argc; ++i) wanted = wanted || argv[i] == part.name;
    if (!wanted) continue;
    const Status done = part.run(binary);
    if (!done) std::fprintf(stderr, "bench_status %s: %s\n", part.name.data(), done.error().message.c_str());
    good = good && done.has_value();
  }
  return good ? 0 : 1;
}
