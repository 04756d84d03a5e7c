// What bench_work measures of processes, and how it tells figures: a table for people, one line of JSON for programs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/install/install.h"
#include "core/sandbox/node/child.h"
#include "kubeclient/config/kubeconfig.h"
#include "kubeclient/rest/client.h"
#include "templates/templates.h"
#include "tests/support/fleet.h"

namespace fleetadm::bench {

using Timer = std::chrono::steady_clock;

inline double seconds_since(Timer::time_point begin) { return std::chrono::duration<double>(Timer::now() - begin).count(); }
inline double milliseconds_since(Timer::time_point begin) { return seconds_since(begin) * 1000; }

inline double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

/// A member of /proc/PID/status ("VmRSS:", "VmHWM:", "RssAnon:") in MiB; 0 where the process is gone.
inline double mebibytes(pid_t pid, const std::string& member) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with(member)) return std::strtod(line.c_str() + member.size(), nullptr) / 1024.0;
  }
  return 0;
}

/// User and system time of a process so far.
inline double cpu_seconds(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos) return 0;
  std::istringstream rest(text.substr(end + 2));
  std::string word;
  double ticks = 0;
  for (int i = 3; rest >> word; ++i) {
    if (i == 14 || i == 15) ticks += std::strtod(word.c_str(), nullptr);
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

inline Result<kube::Client> client_of(const testkit::KubeServer& server) {
  FLEETADM_TRY(const auto kubeconfig, kube::Kubeconfig::from_text(server.kubeconfig()));
  FLEETADM_TRY(const auto config, kubeconfig.resolve({}));
  return kube::Client::connect(config);
}

/// All CRDs of a folder of the templates ("crds/hub/").
inline Status install_types(const kube::Client& client, std::string_view folder, std::string_view part) {
  std::vector<Json> objects;
  for (const auto file : templates::list(folder)) {
    FLEETADM_TRY(auto rendered, templates::render(file, {}));
    for (Json& object : rendered) objects.push_back(std::move(object));
  }
  install::Options options;
  options.part = part;
  FLEETADM_TRY([[maybe_unused]] const auto changes, install::apply_all(client, std::move(objects), options));
  return {};
}

inline Status create_namespace(const testkit::KubeServer& server, const std::string& name) {
  const auto answer =
      server.create("/api/v1/namespaces", {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}});
  if (answer.status == 201 || answer.status == 409) return {};
  return fail(Category::kInternal, "cannot create namespace " + name + ": " + answer.body);
}

/// Named figures in the order in which they were taken.
class Figures {
 public:
  void set(const std::string& name, double value) { all_.emplace_back(name, value); }
  std::optional<double> get(const std::string& name) const {
    const auto at = std::find_if(all_.begin(), all_.end(), [&](const auto& one) { return one.first == name; });
    return at == all_.end() ? std::nullopt : std::optional(at->second);
  }
  /// p50 and p99 of a sample of milliseconds; a sample without values is left out.
  void set_sample(const std::string& name, const std::vector<double>& sample) {
    if (sample.empty()) return;
    set(name + "_p50_ms", percentile(sample, 0.5));
    set(name + "_p99_ms", percentile(sample, 0.99));
  }
  /// {"benchmark": …, "who": …, "<figure>": …}: one line.
  void tell(const std::string& benchmark, const std::string& who) const {
    std::printf("{\"benchmark\":\"%s\",\"who\":\"%s\"", benchmark.c_str(), who.c_str());
    for (const auto& [name, value] : all_) std::printf(",\"%s\":%.3f", name.c_str(), value);
    std::printf("}\n");
    std::fflush(stdout);
  }

 private:
  std::vector<std::pair<std::string, double>> all_;
};

}  // namespace fleetadm::bench
