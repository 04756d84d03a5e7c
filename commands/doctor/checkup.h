// The checks of doctor: each finds one thing, and names the next step where it is wrong. They read, and change nothing.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/registration/expiry/hop.h"
#include "kubeclient/base/clock.h"
#include "kubeclient/rest/client.h"

namespace fleetadm::commands {

enum class Finding { kOk, kWarn, kFail, kSkip };
std::string_view to_string(Finding finding);

struct DoctorCheck {
  std::string name;
  Finding finding = Finding::kOk;
  std::string detail;
  std::string fix;  // empty where nothing is wrong
};

/// The checks so far, in order.
class Checkup {
 public:
  void ok(std::string name, std::string detail) { add({std::move(name), Finding::kOk, std::move(detail), {}}); }
  void warn(std::string name, std::string detail, std::string fix) {
    add({std::move(name), Finding::kWarn, std::move(detail), std::move(fix)});
  }
  void fail(std::string name, std::string detail, std::string fix) {
    add({std::move(name), Finding::kFail, std::move(detail), std::move(fix)});
  }
  void skip(std::string name, std::string why) { add({std::move(name), Finding::kSkip, std::move(why), {}}); }
  /// What the checks that follow are of: "c1: ".
  void of(std::string prefix) { prefix_ = std::move(prefix); }
  /// What could not be read: skipped where the user may not, failed otherwise.
  void unreadable(std::string name, const Error& error);

  const std::vector<DoctorCheck>& checks() const { return checks_; }
  bool failed() const;

 private:
  void add(DoctorCheck check) {
    check.name = prefix_ + check.name;
    checks_.push_back(std::move(check));
  }

  std::string prefix_;
  std::vector<DoctorCheck> checks_;
};

/// The server of a connection: whether it answers, its version, and its clock. False where it does not answer.
bool check_server(Checkup& checkup, const kube::Client& client, const Clock& clock);

struct Permission {
  std::string_view verb;
  std::string_view group;
  std::string_view resource;     // "managedclusters"
  std::string_view subresource;  // may be empty
  std::string_view name;         // may be empty
};
/// Asks the server whether its user may do all of these; the missing ones are a warning, or a failure where `needed`.
void check_permissions(Checkup& checkup, const kube::Client& client, const std::vector<Permission>& permissions, bool needed);

/// Every CRD of the embedded folder ("crds/hub/") is installed, established, and serves the versions that fleetadm speaks.
void check_crds(Checkup& checkup, const kube::Client& client, std::string_view folder, std::string_view fix);
/// The Deployment has an available replica. False where there is no such Deployment (a skipped check).
bool check_deployment(Checkup& checkup, const kube::Client& client, std::string_view name, std::string_view ns,
                      std::string_view deployment);
/// Somebody holds the lease and renews it. A lease that does not exist fails where `needed`.
void check_lease(Checkup& checkup, const kube::Client& client, const Clock& clock, std::string_view ns, std::string_view lease,
                 bool needed, std::string_view fix);

/// The roles that add-on templates name can be granted, and the installed add-ons are available.
void check_addons(Checkup& checkup, const kube::Client& client);

void check_before_installation(Checkup& checkup, const kube::Client& client);
void check_hub(Checkup& checkup, const kube::Client& client, const Clock& clock);
void check_managed_cluster(Checkup& checkup, const kube::Client& client, const Clock& clock);

/// A hop of the way to the hub, or to a hosted member, as a check.
void check_hop(Checkup& checkup, std::string name, registration::expiry::Hop hop, const Clock& clock);
/// The Secret with an agent's credential on its hub, and the hub as this machine sees it. `rejoin`: how to replace it.
void check_credential(Checkup& checkup, const kube::Client& client, const std::string& ns, const std::string& secret,
                      const std::string& rejoin, const Clock& clock);

/// The cluster that hosts the agents of others.
struct HostingCase {
  kube::Client hosting;
  std::string ns;
  std::vector<std::string> only;            // these members; empty: all
  std::optional<kube::Client> member = {};  // then only this one, and the cluster itself too
};
/// The pod with the agents, and of each member what its agent says of itself, its token on the member, and its credential on the
/// hub.
void check_hosting(Checkup& checkup, const HostingCase& the, const Clock& clock, std::stop_token stop);

}  // namespace fleetadm::commands
