// Which hub the agent joins: the one of its bootstrap kubeconfig, or, of several, the first that can be joined
// (docs/reference/registration.md#several-hubs).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/bootstrap_source.h"
#include "kubeclient/base/clock.h"

namespace fleetadm::agent {

/// Not thread-safe.
class HubChoice {
 public:
  /// Why the hub cannot be joined, or nothing; an Error where it does not answer.
  using Check = std::function<Result<std::string>(const Bootstrap& hub)>;

  /// In the order of preference; at least one.
  explicit HubChoice(std::vector<BootstrapSource> sources);

  bool several() const { return sources_.size() > 1; }
  bool from_files() const;
  /// "secret ns/a, secret ns/b"
  std::string names() const;

  /// The bootstrap kubeconfig for a hub, as it is now. Where none is for this hub any more: the first for another one; nothing
  /// where there is none at all. An Error where one that cannot be read may be it.
  Result<std::optional<Bootstrap>> read_for(const registration::agent::Endpoint& hub);

  /// The hub to be with. A single one is not checked. Of several it is the one with the endpoint `current`, else the first, of
  /// those that pass `check`; a choice stands for a minute. An Error says of each why it is not chosen.
  Result<std::optional<Bootstrap>> choose(const std::optional<registration::agent::Endpoint>& current, const Check& check,
                                          Instant now);
  /// Has the next choice made anew.
  void doubt() { chosen_.reset(); }

 private:
  struct Chosen {
    std::string text;  // of the bootstrap kubeconfig
    Instant at;
  };
  struct Found {
    std::vector<Bootstrap> hubs;
    std::optional<Error> error;  // of the first that cannot be read
  };
  Found read_all();

  std::vector<BootstrapSource> sources_;
  std::optional<Chosen> chosen_;
};

}  // namespace fleetadm::agent
