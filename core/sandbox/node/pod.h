// The processes of one pod: started, watched, restarted with back-off, probed, stopped. Not thread-safe: one reconcile at a time.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/sandbox/node/child.h"
#include "core/sandbox/node/containers.h"
#include "core/sandbox/node/environment.h"
#include "core/sandbox/node/hosted.h"
#include "core/sandbox/node/pod_status.h"
#include "core/sandbox/node/probe.h"

namespace fleetadm::sandbox {

/// What all pods of a node share.
struct PodHost {
  NodeFacts node;
  Lookup lookup;
  std::string executable;              // what containers of fleetadm's image run
  std::filesystem::path log_folder;    // <namespace>_<pod>_<container>.log, appended to
  std::filesystem::path state_folder;  // mode 0700: volumes and tokens
  Duration first_back_off = std::chrono::seconds(1);
  Duration most_back_off = std::chrono::minutes(1);
  std::function<void(int pidfd, const std::string& key)> watch;  // tell when the process has ended
  std::function<int()> free_port;
  std::shared_ptr<ContainerTable> containers;  // is told of what runs; may be null
  Host host;                                   // of programs that need no process; empty: all are processes
};

class Pod {
 public:
  Pod(const PodHost& host, const Json& pod);
  ~Pod();  // kills what runs, removes the pod's state
  Pod(const Pod&) = delete;
  Pod& operator=(const Pod&) = delete;

  struct Step {
    Json status;                   // to be written where it differs from what the server has
    std::optional<Instant> again;  // when to look again although nothing ended
    bool over = false;             // shut_down: nothing runs any more
  };
  /// Moves every container on: starts, restarts, probes; renews tokens and mounted files.
  Step sync(const Json& pod, Instant now);
  /// SIGTERM at the first call, SIGKILL after the grace period of the pod's deletion.
  Step shut_down(const Json& pod, Instant now);
  /// For the end of the node: SIGTERM now, then wait for a common deadline.
  void terminate();
  void wait_ended(std::chrono::steady_clock::time_point deadline);

  const std::string& uid() const { return uid_; }
  bool uses_secret(const std::string& name) const { return secrets_.contains(name); }
  bool uses_config_map(const std::string& name) const { return config_maps_.contains(name); }

 private:
  struct Container {
    Json spec;
    bool ours = false;
    bool init = false;
    ContainerView view;
    std::optional<RestartBackoff> back_off;
    std::optional<Child> child;
    std::unique_ptr<HostedProgram> hosted;  // instead of a child
    bool ran_before = false;
    Instant next_start{};
    std::optional<Instant> kill_at;
    std::optional<Instant> wakes;  // of one that is claimed to sleep
    std::map<int, int> ports;
    Probe startup;
    Probe readiness;
    Probe liveness;
    bool runs() const { return child.has_value() || hosted != nullptr; }
  };
  struct Token {
    std::string text;
    Instant renew_at{};
  };

  void advance(Container& container, const Json& pod, Instant now);
  void pretend(Container& container, const Json& pod, Instant now);
  void start(Container& container, const Json& pod, Instant now);
  Status run(Container& container, const Json& pod, ChildSpec& spec);
  void describe_place(ContainerPlace& place, const Container& container, const Json& pod, const ChildSpec& spec) const;
  void ended(Container& container, const Json& pod, const ExitStatus& how, Instant now);
  void run_probes(Container& container, Instant now);
  Result<ChildSpec> command_of(Container& container, const Json& pod);
  Status refresh_files(const Json& pod, Instant now);
  std::filesystem::path volume_folder(const std::string& volume) const { return folder_ / "volumes" / volume; }
  std::map<std::string, std::string> folders_of(const Json& pod, const Json& container) const;
  Step step(const Json& pod, Instant now) const;
  template <class Each>
  void each_container(const Each& each);

  const PodHost& host_;
  std::string key_;
  std::string uid_;
  std::filesystem::path folder_;
  Instant started_{};
  std::vector<Container> init_;
  std::vector<Container> containers_;
  std::set<std::string> secrets_;
  std::set<std::string> config_maps_;
  std::map<std::string, Token> tokens_;  // by audience and lifetime
  std::optional<Error> files_error_;
  bool has_ours_ = false;
  std::optional<Instant> kill_at_;  // set once shut_down began
};

/// Makes `folder` hold exactly `files` (mode 0600), each replaced by rename where its content differs. Paths that leave the
/// folder are refused.
Status write_files(const std::filesystem::path& folder, const std::map<std::string, std::string>& files);

}  // namespace fleetadm::sandbox
