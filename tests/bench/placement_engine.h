// The pure engine's part of bench_placement: fleets as values, passes without a server.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <malloc.h>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>
#include <vector>

#include "core/placement/engine/decode.h"
#include "core/placement/engine/schedule.h"

namespace fleetadm::bench {

using Timer = std::chrono::steady_clock;

inline double milliseconds_since(Timer::time_point begin) {
  return std::chrono::duration<double, std::milli>(Timer::now() - begin).count();
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

inline double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  if (values.empty()) return 0;
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

inline std::size_t heap_bytes() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

inline double peak_mebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

/// A cluster as a joined one looks: seven labels, four claims, capacity; every twentieth has an unreachable taint.
inline Json fleet_cluster(int number) {
  const std::string name = "cluster-" + std::to_string(number);
  const char* tiers[] = {"gold", "silver", "bronze", "tin"};
  const char* regions[] = {"eu-west-1", "eu-north-1", "us-east-1", "us-west-2", "ap-south-1"};
  const int cpu = 4 << (number % 5);
  const Json resources{{"cpu", std::to_string(cpu * 1000 - 70 * (number % 7)) + "m"},
                       {"memory", std::to_string(cpu * 4 * 1024 * 1024 - 1000 * (number % 11)) + "Ki"}};
  Json object{{"kind", "ManagedCluster"},
              {"metadata",
               {{"name", name},
                {"labels",
                 {{"cluster.open-cluster-management.io/clusterset", "set-" + std::to_string(number % 4)},
                  {"feature.open-cluster-management.io/addon-work-manager", "available"},
                  {"env", number % 3 == 0 ? "prod" : "dev"},
                  {"tier", tiers[number % 4]},
                  {"region", regions[number % 5]},
                  {"vendor", "openshift"},
                  {"name", name}}}}},
              {"spec", {{"hubAcceptsClient", true}}},
              {"status",
               {{"capacity", resources},
                {"allocatable", resources},
                {"clusterClaims",
                 {{{"name", "id.k8s.io"}, {"value", "7c8a1f10-5cf2-4c25-b3f1-" + std::to_string(100000000000 + number)}},
                  {{"name", "kubeversion.open-cluster-management.io"}, {"value", "v1.35." + std::to_string(number % 6)}},
                  {{"name", "platform.open-cluster-management.io"}, {"value", number % 2 == 0 ? "AWS" : "GCP"}},
                  {{"name", "region.open-cluster-management.io"}, {"value", regions[number % 5]}}}}}}};
  if (number % 20 == 0) {
    object["spec"]["taints"] = {{{"key", "cluster.open-cluster-management.io/unreachable"},
                                 {"effect", "NoSelect"},
                                 {"timeAdded", "2026-01-01T00:00:00Z"}}};
  }
  return object;
}

inline Json fleet_score(int cluster) {
  return {{"kind", "AddOnPlacementScore"},
          {"metadata", {{"name", "usage"}, {"namespace", "cluster-" + std::to_string(cluster)}}},
          {"status", {{"scores", {{{"name", "cpu"}, {"value", cluster % 201 - 100}}}}, {"validUntil", "2027-01-01T00:00:00Z"}}}};
}

/// Placements of six kinds in turn: defaults; labels; labels and claims with groups; resources; scores of an add-on; one set.
inline Json fleet_placement(int number) {
  Json spec{{"numberOfClusters", 10}};
  const auto by_label = [](const char* key, const char* value) {
    return Json{{"requiredClusterSelector", {{"labelSelector", {{"matchLabels", {{key, value}}}}}}}};
  };
  const auto built_in = [](const char* name, int weight) {
    return Json{{"scoreCoordinate", {{"type", "BuiltIn"}, {"builtIn", name}}}, {"weight", weight}};
  };
  switch (number % 6) {
    case 0: break;
    case 1: spec["predicates"] = {by_label("env", "prod")}; break;
    case 2:
      spec["predicates"] = {
          by_label("tier", number % 4 < 2 ? "gold" : "silver"),
          {{"requiredClusterSelector",
            {{"claimSelector",
              {{"matchExpressions",
                {{{"key", "platform.open-cluster-management.io"}, {"operator", "In"}, {"values", {"AWS"}}}}}}}}}}};
      spec["numberOfClusters"] = 50;
      spec["decisionStrategy"] = {{"groupStrategy", {{"clustersPerDecisionGroup", "20%"}}}};
      break;
    case 3:
      spec["prioritizerPolicy"] = {
          {"mode", "Additive"},
          {"configurations", {built_in("ResourceAllocatableCPU", 2), built_in("ResourceAllocatableMemory", 2)}}};
      break;
    case 4:
      spec["prioritizerPolicy"] = {
          {"mode", "Additive"},
          {"configurations",
           {{{"scoreCoordinate", {{"type", "AddOn"}, {"addOn", {{"resourceName", "usage"}, {"scoreName", "cpu"}}}}},
             {"weight", 3}}}}};
      break;
    default:
      spec["clusterSets"] = {"set-" + std::to_string(number % 4)};
      spec["tolerations"] = {{{"key", "cluster.open-cluster-management.io/unreachable"}, {"operator", "Exists"}}};
  }
  return {{"kind", "Placement"},
          {"metadata", {{"name", "placement-" + std::to_string(number)}, {"namespace", "team"}}},
          {"spec", std::move(spec)}};
}

struct EngineFigures {
  int placements = 0;
  double load_ms = 0;
  double first_ms = 0;         // every placement once, nothing decided yet
  double again_ms = 0;         // every placement once more over the decisions of the first round
  double bytes_a_cluster = 0;  // of the fleet alone: clusters, scores, sets
  double peak_mib = 0;         // of the whole process
  std::size_t decided = 0;
};

/// Every placement once over the fleet, its decisions taken into the world as a controller would, then once more.
inline EngineFigures run_engine(int clusters, int placements, Instant now) {
  EngineFigures figures;
  placement::FleetState world;
  for (int i = 0; i < 4; ++i) {
    const std::string set = "set-" + std::to_string(i);
    world.put(placement::decode_set({{"kind", "ManagedClusterSet"}, {"metadata", {{"name", set}}}, {"spec", Json::object()}}));
    world.put(placement::Binding{"team", set, set});
  }
  auto begin = Timer::now();
  const std::size_t before = heap_bytes();
  for (int i = 0; i < clusters; ++i) world.put(placement::decode_cluster(fleet_cluster(i)));
  for (int i = 0; i < clusters; ++i) world.put(placement::decode_score(fleet_score(i)));
  figures.load_ms = milliseconds_since(begin);
  figures.bytes_a_cluster = static_cast<double>(heap_bytes() - before) / clusters;
  figures.placements = placements;
  std::vector<placement::Placement> all;
  for (int i = 0; i < placements; ++i) all.push_back(placement::decode_placement(fleet_placement(i)));

  begin = Timer::now();
  const auto round = [&] {
    for (const placement::Placement& one : all) {
      placement::Pass pass = placement::schedule(world, one, now);
      for (placement::WantedDecision& wanted : pass.decisions) {
        figures.decided += wanted.clusters.size();
        world.put(placement::Decision{one.ns, wanted.name, one.name, wanted.group_name, std::to_string(wanted.group_index),
                                      std::move(wanted.clusters)});
      }
    }
  };
  round();
  figures.first_ms = milliseconds_since(begin);
  begin = Timer::now();
  round();
  figures.again_ms = milliseconds_since(begin);
  figures.peak_mib = peak_mebibytes();
  return figures;
}

/// The same in a process of its own, so that each size has a peak of its own; nullopt where it did not come back.
inline std::optional<EngineFigures> run_engine_apart(int clusters, int placements, Instant now) {
  static_assert(std::is_trivially_copyable_v<EngineFigures>);
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    const EngineFigures figures = run_engine(clusters, placements, now);
    _exit(write(ends[1], &figures, sizeof figures) == static_cast<ssize_t>(sizeof figures) ? 0 : 1);
  }
  close(ends[1]);
  EngineFigures figures;
  const bool whole = read(ends[0], &figures, sizeof figures) == static_cast<ssize_t>(sizeof figures);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  if (!whole) return std::nullopt;
  return figures;
}

inline void engine_report(Instant now, bool quick) {
  std::printf("\npure engine, one core: every placement is run once, then once more over its own decisions\n");
  std::printf("  %9s %11s %9s %10s %10s %10s %14s %9s\n", "clusters", "placements", "load ms", "first ms", "again ms",
              "us a pass", "bytes/cluster", "peak MiB");
  std::fflush(stdout);
  for (const int clusters : {100, 1000, 10000, 100000}) {
    if (quick && clusters > 10000) break;
    const auto figures = run_engine_apart(clusters, clusters > 10000 ? 100 : 1000, now);
    if (!figures) {
      std::printf("  %9d did not come back\n", clusters);
      continue;
    }
    std::printf("  %9d %11d %9.0f %10.0f %10.0f %10.1f %14.0f %9.0f\n", clusters, figures->placements, figures->load_ms,
                figures->first_ms, figures->again_ms, 1000 * figures->again_ms / figures->placements, figures->bytes_a_cluster,
                figures->peak_mib);
    std::printf("json %s\n", dump_json({{"bench", "placement-engine"},
                                        {"clusters", clusters},
                                        {"placements", figures->placements},
                                        {"loadMs", figures->load_ms},
                                        {"firstMs", figures->first_ms},
                                        {"againMs", figures->again_ms},
                                        {"bytesPerCluster", figures->bytes_a_cluster},
                                        {"peakMiB", figures->peak_mib}})
                                 .c_str());
    std::fflush(stdout);
  }
}

}  // namespace fleetadm::bench
