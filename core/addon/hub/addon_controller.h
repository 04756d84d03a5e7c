// One add-on on one cluster: all of its rules in one pass, and its object written by one controller alone.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/addon/hub/config_decisions.h"
#include "core/addon/hub/live_objects.h"
#include "core/addon/hub/pass_writer.h"
#include "core/addon/rules/addon_pass.h"
#include "core/controller/controller.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::addon {

/// Thread-safe.
class AddonController {
 public:
  struct Parts {
    std::shared_ptr<const ObjectReader> objects;
    std::shared_ptr<PassWriter> writer;
    std::shared_ptr<const ConfigDecisions> decisions;
    KnownTypes known;
    DescribeAgent describe;
    std::shared_ptr<Clock> clock;
  };
  AddonController(kube::Client hub, Parts parts) : hub_(std::move(hub)), parts_(std::move(parts)) {}

  /// One pass over the add-on `key` ("cluster/addon"). One whose roll-out has not been looked at yet waits for that.
  ///
  /// Written in this order, so that each write can be the last: a finalizer before what it is to clean up; rights before the
  /// status that says so; a new configuration, which the roll-out counts, before the works that bring it; what the add-on says of
  /// its works after them; deletions before the finalizer that waited for them.
  Result<controller::Outcome> reconcile(const std::string& key, const std::stop_token& stop);

 private:
  class Writing;
  std::set<ObjectRef> unseen(const std::string& key) const;
  void note_unseen(const std::string& key, std::set<ObjectRef> unseen);

  kube::Client hub_;
  Parts parts_;
  mutable std::mutex mutex_;
  std::map<std::string, std::set<ObjectRef>> unseen_;  // add-on → names that are taken by what the caches do not show
};

}  // namespace fleetadm::addon
