// Six clusters in a canary and two ordinary groups, the hub as a process with its own account's rights, and an add-on of a
// template that is upgraded. The clusters and their agents are played here.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "kubeclient/rest/client.h"
#include "tests/e2e/addon_course.h"
#include "tests/support/fleet_test.h"

namespace fleetadm::testkit {

class AddonUpgradeFleet : public FleetTest {
 protected:
  using Clusters = std::set<std::string>;
  inline static const Clusters kCanary{"c5", "c6"};  // the last by name: no order by chance
  inline static const Clusters kFirst{"c1", "c2"};
  inline static const Clusters kSecond{"c3", "c4"};
  inline static const Clusters kOrdinary{"c1", "c2", "c3", "c4"};
  inline static const Clusters kOdd{"c1", "c3", "c5"};  // on aws; the others are on gcp

  static void SetUpTestSuite();
  void SetUp() override;

  static KubeServer& hub() { return fleet()->hub(); }
  /// A template that is nested deeper than the hub reads: nobody but its own add-on is to feel it.
  static void add_deep_template();
  static void must_create(const std::string& path, const Json& object);
  /// {"type": KIND, BODY'S NAME: body}.
  static Json strategy(const char* kind, const char* body_name = "", Json body = Json::object());
  static Json placed(const std::string& placement, Json strategy, Json configs = Json::array());

  /// Template ADDON-REVISION: the seeds' hello-template.
  static void add_template(const std::string& addon, const std::string& revision);
  /// spec of the declaration: that revision of the template, installed by the placements.
  static Json declared(const std::string& addon, const std::string& revision, const Json& placements);
  /// Declares it in its first revision, and waits until all six clusters have it.
  void install(const std::string& addon, const Json& placements);
  /// The declaration becomes what `declared` says; what is audited from here on is the upgrade.
  void change(const std::string& addon, const Json& spec);
  void patch(std::string_view path, const Json& merge);

  /// The agents of all clusters but `broken_` find everything available; asks until `done`.
  bool played_until(const std::function<bool()>& done, Duration timeout = std::chrono::seconds(40));
  /// Clusters whose add-on has `wanted` (a configuration's name or hash) among its desired configurations.
  static Clusters begun(const std::string& addon, const std::string& wanted) { return having(addon, wanted, false); }
  /// And has applied all of them.
  static Clusters through(const std::string& addon, const std::string& wanted) { return having(addon, wanted, true); }
  static Json declaration(const std::string& addon);
  /// The message of a progression.
  static std::string progress(const std::string& addon, std::size_t index = 0);
  AddonCourse course(const AddonLimits& limits) const;
  /// What there is to read where an expectation fails.
  static std::string state(const std::string& addon);

  Clusters broken_;
  std::uintmax_t since_ = 0;  // position in the audit log

 private:
  static Clusters having(const std::string& addon, const std::string& wanted, bool applied);

  std::optional<kube::Client> agents_;
};

}  // namespace fleetadm::testkit
