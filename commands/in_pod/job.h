// The objects of a command in a pod: a Job, and what belongs to it. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "commands/in_pod/pod_command.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/base/json.h"

namespace fleetadm::commands {

inline constexpr std::string_view kInPodLabel = "fleetadm.io/in-pod";  // its value is the Job's name

struct PodJob {
  std::string ns;
  std::string name;  // of the Job, and of its Secret and account
  std::string image;
  std::string account;                  // empty: one of its own
  Duration timeout = Duration::zero();  // of the command; zero: none
  Duration kept = Duration::zero();     // how long a finished Job stays if nobody deletes it
  const std::string& account_name() const { return account.empty() ? name : account; }
};

/// Suspended: its pod starts when the rest is there.
Json job_object(const PodJob& job, const PodCommand& command);

// Owned by the Job (as the server has made it), so that nothing outlives it.
Json account_object(const Json& job);
Json input_object(const Json& job, const PodCommand& command, const std::map<std::string, std::string>& contents);

/// What gives the Job's account a ClusterRole. The objects of a namespace own none outside of it: it has to be deleted.
Json role_object(const PodJob& job, const std::string& cluster_role, std::size_t number);

}  // namespace fleetadm::commands
