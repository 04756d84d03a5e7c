// Names that a command was given: whether the hub has them, and which ones may have been meant.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/framework/report.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

/// What a name that the server does not have may have been meant as. The names of the kind are read when the first one is missed:
/// one request for at most 5,000 names without their objects. Where it fails there are no suggestions, and nothing more is asked.
class NearNames {
 public:
  /// `ns`: of namespaced kinds; empty: all.
  NearNames(kube::Client client, kube::Resource resource, std::string ns = {});

  /// `did you mean "a"?`; `otherwise` where no name is near.
  std::string hint(const std::string& missing, std::string otherwise = {});
  /// The same error with that hint, where it is the server's "not found" of an object; any other as it is.
  Error explain(Error error, const std::string& missing, std::string otherwise = {});

 private:
  kube::Client client_;
  kube::Resource resource_;
  std::string ns_;
  std::optional<std::vector<std::string>> names_;
};

/// What is gone already is deleted; that it may never have been is worth a note: `There is no placement "a"; did you mean "b"?`.
void note_near(NearNames& near, const std::string& kind, const std::string& missing, Report& report);

/// kNotFound, with the names that are near, where the hub has no such managed cluster. Who may not read clusters is believed.
Status cluster_exists(const kube::Client& hub, const std::string& name);

}  // namespace fleetadm::commands
