#include "cli/live_names.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <poll.h>
#include <set>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/terminal.h"
#include "core/api/kinds.h"
#include "core/sandbox/fleet/home.h"
#include "kubeclient/base/log.h"
#include "kubeclient/base/plural.h"
#include "kubeclient/config/kubeconfig.h"

namespace fleetadm::cli {
namespace {

using commands::Complete;
using commands::GlobalOptions;
using Cells = std::map<std::string, std::string>;  // column → cell

// In all it is 300 ms, of which some are this program's. A request gives up first, and ends its credential plugin.
constexpr std::chrono::milliseconds kAnswerLimit{270};
constexpr std::chrono::milliseconds kRequestTimeout{240};

const kube::Resource* listed_resource(Complete kind) {
  switch (kind) {
    case Complete::kNamespaces: return &kube::resources::namespaces();
    case Complete::kClusters: return &api::managed_clusters();
    case Complete::kClusterSets: return &api::managed_cluster_sets();
    case Complete::kPlacements: return &api::placements();
    case Complete::kWorks: return &api::manifest_works();
    case Complete::kRollouts: return &api::manifest_work_replica_sets();
    case Complete::kAddons: return &api::cluster_management_addons();
    default: return nullptr;
  }
}

// The server's columns have the age: the objects, even their metadata, can stay there.
bool has_age_column(Complete kind) {
  return kind == Complete::kNamespaces || kind == Complete::kClusters || kind == Complete::kClusterSets;
}

std::string state_of_cluster(Cells& cells) {
  if (cells["Hub Accepted"] == "false") return "not accepted";
  if (cells["Joined"] != "True") return "not joined";
  if (cells["Available"] == "True") return "available";
  return cells["Available"] == "False" ? "not available" : "unreachable";
}

// In the words of a few columns; empty where the server does not show them.
std::string state_of(Complete kind, Cells& cells) {
  switch (kind) {
    case Complete::kClusters: return cells.contains("Available") ? state_of_cluster(cells) : "";
    case Complete::kClusterSets: return cells["Empty"] == "True" ? "empty" : "";
    case Complete::kPlacements: {
      const std::string& count = cells["SelectedClusters"];
      return count.empty() ? "" : count + (count == "1" ? " cluster" : " clusters");
    }
    case Complete::kRollouts: {
      if (cells["Found"] == "False") return "no placement";
      const std::string& applied = cells["Applied"];
      return applied.empty() ? "" : applied == "True" ? "applied" : "in progress";
    }
    case Complete::kAddons: return cells["DISPLAY NAME"];
    case Complete::kNamespaces: return cells["Status"] == "Terminating" ? "deleting" : "";
    default: return {};
  }
}

std::string cell_text(const Json& value) {
  if (const auto* text = value.get_ptr<const Json::string_t*>()) return *text;
  return value.is_null() ? std::string() : dump_json(value);
}

std::string age_of(const Json& object, Cells& cells, Instant now) {
  if (const auto made = parse_time(str(object, {"metadata", "creationTimestamp"}))) return format_age(*made, now);
  return cells["Age"];
}

std::string joined_words(const std::string& state, const std::string& age) {
  return log::escape_terminal(state + (state.empty() || age.empty() ? "" : ", ") + age);
}

// A work has one name on many clusters.
std::vector<LiveName> names_of_works(const Json& objects, Instant now) {
  struct Work {
    std::size_t clusters = 0;
    std::string cluster;
    std::string age;
  };
  std::map<std::string, Work> works;
  Cells none;
  for (const Json& object : objects) {
    Work& work = works[name_of(object)];
    if (++work.clusters > 1) continue;
    work.cluster = namespace_of(object);
    work.age = age_of(object, none, now);
  }
  std::vector<LiveName> names;
  for (const auto& [name, work] : works) {
    const std::string where = work.clusters == 1 ? work.cluster : pluralize(work.clusters, "cluster");
    names.push_back({log::escape_terminal(name), joined_words("on " + where, work.age)});
  }
  return names;
}

std::vector<LiveName> names_of_sandboxes() {
#ifdef FLEETADM_WITHOUT_SANDBOX
  return {};
#else
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  std::vector<LiveName> names;
  const auto home = sandbox::SandboxHome::of(variable("FLEETADM_SANDBOX_DIR"), variable("XDG_STATE_HOME"), variable("HOME"));
  if (!home) return names;
  for (const std::string& name : home->names()) {
    const auto count = list_at(home->description(name), {"clusters"}).size();
    const std::string state = home->running(name) ? "running" : "stopped";
    names.push_back({log::escape_terminal(name), state + ", " + pluralize(count, "cluster")});
  }
  return names;
#endif
}

std::vector<LiveName> names_of_hub(Complete kind, const GlobalOptions& globals, const kube::ConfigOverrides& overrides) {
  const kube::Resource* resource = listed_resource(kind);
  if (resource == nullptr) return {};
  const Result<kube::RestConfig> config = kube::load_rest_config(overrides);
  if (!config) return {};
  std::string ns;  // works are in their clusters' namespaces
  if (kind == Complete::kPlacements || kind == Complete::kRollouts) {
    ns = globals.config.ns.empty() ? config->default_namespace : globals.config.ns;
    if (ns.empty()) ns = "default";
  }
  kube::Request request;
  request.path = resource->path(ns);
  request.query = {{"limit", has_age_column(kind) ? "5000" : "500"},
                   {"includeObject", has_age_column(kind) ? "None" : "Metadata"}};
  request.accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
  request.timeout = kRequestTimeout;
  const Result<kube::Response> response = kube::Client::connect(*config).with_timeout(kRequestTimeout).raw(request);
  if (!response) return {};
  const Result<Json> answer = parse_json(response->body);
  if (!answer) return {};
  return names_of_answer(kind, *answer, Clock::system()->now());
}

std::vector<LiveName> names_now(Complete kind, const GlobalOptions& globals) {
  if (kind == Complete::kSandboxes) return names_of_sandboxes();
  kube::ConfigOverrides overrides = globals.config;
  overrides.interactive = false;
  if (kind != Complete::kContexts) return names_of_hub(kind, globals, overrides);
  const Result<kube::Kubeconfig> config = kube::Kubeconfig::load(overrides);
  return config ? names_of_contexts(config->document()) : std::vector<LiveName>();
}

std::set<pid_t> children() {
  std::set<pid_t> pids;
  std::ifstream in("/proc/self/task/" + std::to_string(::gettid()) + "/children");
  for (pid_t pid = 0; in >> pid;) pids.insert(pid);
  return pids;
}

// Ends the child and what it started: that is in groups of its own, and becomes this process's own child once the child is gone.
// That takes a few milliseconds, more on a busy machine; a process that SIGKILL does not end (its file system hangs) is left.
void kill_all_but(const std::set<pid_t>& others, pid_t child) {
  constexpr timespec kStep{0, 1'000'000};
  constexpr int kMaxRounds = 1000;
  for (int round = 0; round < kMaxRounds; ++round) {
    std::set<pid_t> left = children();
    if (round == 0) left.insert(child);
    for (const pid_t pid : others) left.erase(pid);
    if (left.empty()) return;
    for (const pid_t pid : left) {
      if (::kill(-pid, SIGKILL) != 0) ::kill(pid, SIGKILL);
    }
    ::nanosleep(&kStep, nullptr);
    for (const pid_t pid : left) ::waitpid(pid, nullptr, WNOHANG);
  }
}

}  // namespace

std::vector<LiveName> names_of_answer(Complete kind, const Json& answer, Instant now) {
  const bool table = str(answer, {"kind"}) == "Table";
  if (kind == Complete::kWorks) {
    Json objects = Json::array();
    for (const Json& row : list_at(answer, {"rows"})) objects.push_back(object_at(row, {"object"}));
    return names_of_works(table ? objects : list_at(answer, {"items"}), now);
  }
  std::vector<LiveName> names;
  const auto add = [&](const Json& object, Cells cells) {
    const std::string name = cells.contains("Name") ? cells["Name"] : name_of(object);
    const bool deleting = find(object, {"metadata", "deletionTimestamp"}) != nullptr;
    names.push_back(
        {log::escape_terminal(name), joined_words(deleting ? "deleting" : state_of(kind, cells), age_of(object, cells, now))});
  };
  const Json& columns = list_at(answer, {"columnDefinitions"});
  for (const Json& row : list_at(answer, {"rows"})) {
    Cells cells;
    const Json& values = list_at(row, {"cells"});
    for (std::size_t i = 0; i < std::min(columns.size(), values.size()); ++i)
      cells[str(columns[i], {"name"})] = cell_text(values[i]);
    add(object_at(row, {"object"}), std::move(cells));
  }
  for (const Json& item : list_at(answer, {"items"})) add(item, {});
  return names;
}

std::vector<LiveName> names_of_contexts(const Json& kubeconfig) {
  std::vector<LiveName> names;
  for (const Json& item : list_at(kubeconfig, {"contexts"})) {
    const std::string name = str(item, {"name"});
    std::string words = name == str(kubeconfig, {"current-context"}) ? "current" : "";
    if (const std::string cluster = str(item, {"context", "cluster"}); !cluster.empty())
      words += (words.empty() ? "" : ", ") + ("cluster " + cluster);
    if (const std::string ns = str(item, {"context", "namespace"}); !ns.empty())
      words += (words.empty() ? "" : ", ") + ("namespace " + ns);
    names.push_back({log::escape_terminal(name), log::escape_terminal(words)});
  }
  return names;
}

std::string answer_within(std::chrono::milliseconds limit, const std::function<std::string()>& work) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const std::set<pid_t> others = children();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    try {
      write_all(ends[1], work());
    } catch (const std::exception&) {  // out of memory: no names
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string answer;
  bool whole = false;
  while (child > 0 && !whole) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd reader{ends[0], POLLIN, 0};
    if (left.count() <= 0) break;
    const int ready = ::poll(&reader, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    std::array<char, 16384> some{};
    const ssize_t count = ::read(ends[0], some.data(), some.size());
    if (count < 0) break;
    whole = count == 0;
    answer.append(some.data(), static_cast<std::size_t>(count));
  }
  if (child > 0) kill_all_but(others, child);
  ::close(ends[0]);
  return whole ? answer : std::string();
}

std::vector<LiveName> live_names(Complete kind, const GlobalOptions& globals) {
  const std::string answer = answer_within(kAnswerLimit, [&] {
    std::string lines;
    for (const LiveName& one : names_now(kind, globals)) lines += one.name + "\t" + one.description + "\n";
    return lines;
  });
  std::vector<LiveName> names;
  for (std::size_t at = 0, end = 0; (end = answer.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::size_t tab = std::min(answer.find('\t', at), end);
    names.push_back({answer.substr(at, tab - at), answer.substr(std::min(tab + 1, end), end - std::min(tab + 1, end))});
  }
  return names;
}

}  // namespace fleetadm::cli
