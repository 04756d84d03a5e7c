// The checks of doctor: each finds one thing, and names the next step where it is wrong. They read, and change nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  /// What could not be read: skipped where the user may not, failed otherwise.
  void unreadable(std::string name, const Error& error);

  const std::vector<DoctorCheck>& checks() const { return checks_; }
  bool failed() const;

 private:
  void add(DoctorCheck check) { checks_.push_back(std::move(check)); }

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

}  // namespace fleetadm::commands
