// The agents of add-ons with an AddOnTemplate, deployed to their clusters (core/addon/rules/deploy_pass.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "core/addon/hub/pass_writer.h"
#include "core/addon/rules/deploy_pass.h"
#include "core/controller/controller.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::addon {

/// Thread-safe.
class DeployController {
 public:
  /// The agent of a ManagedClusterAddOn; nullopt: this controller leaves it alone.
  using Describe = std::function<std::optional<AgentDescription>(const ObjectReader&, const Json& addon)>;

  /// `cache` outlives it.
  DeployController(const ObjectReader& cache, kube::Client hub, std::shared_ptr<PassWriter> writer, std::shared_ptr<Clock> clock,
                   Describe describe)
      : cache_(cache),
        hub_(std::move(hub)),
        writer_(std::move(writer)),
        clock_(std::move(clock)),
        describe_(std::move(describe)) {}

  /// One pass over the add-on `key` ("cluster/addon").
  Result<controller::Outcome> reconcile(const std::string& key, const std::stop_token& stop);

 private:
  Result<controller::Outcome> write(const ObjectReader& objects, const Json& addon, Pass pass, const std::stop_token& stop);
  std::set<std::string> created_before(const std::string& key);
  void note_created(const std::string& key, const Pass& pass);

  const ObjectReader& cache_;
  kube::Client hub_;
  std::shared_ptr<PassWriter> writer_;
  std::shared_ptr<Clock> clock_;
  Describe describe_;
  std::mutex mutex_;
  std::map<std::string, std::set<std::string>> created_;  // add-on → works that its last pass wanted to create
};

}  // namespace fleetadm::addon
