// doctor of a cluster that hosts agents, of one of its members, and certs check of the same.
#include <gtest/gtest.h>

#include "commands/certs/certs.h"
#include "commands/doctor/doctor.h"
#include "core/api/hosted_member.h"
#include "core/api/kinds.h"
#include "core/install/install.h"
#include "core/registration/join/hosted_manifests.h"
#include "core/registration/join/hosted_sides.h"
#include "core/registration/join/hosted_token.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"

namespace fleetadm::commands {
namespace {

namespace r = kube::resources;
using Flags = std::vector<std::pair<std::string, std::string>>;
const Flags kHosted{{"mode", "hosted"}, {"hosted-namespace", "hosted"}};
constexpr auto kOneDay = std::chrono::hours(24);

class DoctorOfHosted : public testing::Test {
 protected:
  DoctorOfHosted() {
    register_doctor(registry);
    register_certs(registry);
    const kube::Response version{200, {}, R"({"gitVersion":"v1.33.0","major":"1","minor":"33"})"};
    hosting->route("/version", version);
    member->route("/version", version);
    hosting->put(r::namespaces(), {{"metadata", {{"name", "kube-system"}}}});
    hosting->put(
        r::deployments(),
        {{"metadata",
          {{"name", "fleetadm-hosted-agents"}, {"namespace", "hosted"}, {"labels", {{install::kPartLabel, join::kHostingPart}}}}},
         {"spec", {{"replicas", 1}}},
         {"status", {{"availableReplicas", 1}}}});
    hosting->put(r::pods(),
                 {{"metadata", {{"name", "agents-0"}, {"namespace", "hosted"}, {"labels", {{"app", "fleetadm-hosted-agents"}}}}},
                  {"status", {{"phase", "Running"}}}});
    context.connect = [this](const kube::RestConfig&) { return member->client(); };
  }
  void add_member(const std::string& name, Duration lived, Duration left) {
    const auto seconds = [](Instant at) { return at.time_since_epoch() / std::chrono::seconds(1); };
    const Json claims{
        {"iat", seconds(clock->now() - lived)},
        {"exp", seconds(clock->now() + left)},
        {"kubernetes.io", {{"namespace", "agents"}, {"serviceaccount", {{"name", "fleetadm-agent"}, {"uid", "u"}}}}}};
    const std::string token = "e30." + base64url_encode(dump_json(claims)) + ".c2ln";
    for (Json& secret : join::member_secrets(
             {"hosted", name, join::member_kubeconfig({"https://127.0.0.1:1", "", "", ""}, token), {"bootstrap"}, {}}))
      hosting->put(r::secrets(), secret);
  }
  void agents_say(const Json& members) {
    hosting->route("/api/v1/namespaces/hosted/pods/agents-0:8000/proxy/debug/agent",
                   {200, {}, dump_json(Json{{"members", members}})});
  }
  void host(const std::string& name, const std::string& by) {
    member->put(r::namespaces(), {{"metadata", {{"name", std::string(api::kAgentNamespace)}}}});
    member->put(r::service_accounts(), {{"metadata",
                                         {{"name", std::string(api::kAgentDeployment)},
                                          {"namespace", std::string(api::kAgentNamespace)},
                                          {"labels", {{install::kPartLabel, install::kAgentPart}}},
                                          {"annotations", {{api::kHostedAsAnnotation, name}, {api::kHostedByAnnotation, by}}}}}});
  }
  Report run(const std::string& command, const Flags& flags) {
    auto report = testkit::run_command(registry, command, context, flags, {});
    EXPECT_TRUE(report.has_value()) << (report ? "" : report.error().message);
    EXPECT_TRUE(hosting->writes().empty());
    return report ? *report : Report{};
  }
  /// "RESULT: DETAIL" of a check.
  static std::string said(const Report& report, const std::string& name) {
    for (const Json& check : list_at(report.data, {"checks"})) {
      if (str(check, {"check"}) == name) return str(check, {"result"}) + ": " + str(check, {"detail"});
    }
    return "no such check: " + dump_json(report.data);
  }
  static Json hop(const Report& report, const std::string& cluster, const std::string& what) {
    for (const Json& one : list_at(report.data, {"items"})) {
      if (str(one, {"cluster"}) == cluster && str(one, {"hop"}) == what) return one;
    }
    return nullptr;
  }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(*parse_time("2026-03-01T12:00:00Z"));
  std::shared_ptr<testkit::FakeApi> hosting = testkit::FakeApi::make();
  std::shared_ptr<testkit::FakeApi> member = testkit::FakeApi::make();
  testkit::FakeContext context{hosting->client(), clock};
  Registry registry;
};

TEST_F(DoctorOfHosted, TellsOfEachMemberWhatItsAgentSaysAndHowLongItsTokenLasts) {
  add_member("c1", 10 * kOneDay, 20 * kOneDay);
  add_member("c2", 31 * kOneDay, -kOneDay);
  agents_say({{"c1.member", {{"phase", "joined"}, {"detail", "cluster c1 at https://hub"}, {"token", "cannot renew its token"}}},
              {"c2.member", {{"phase", "not running"}, {"detail", "its kubeconfig is none"}}}});
  const Report report = run("doctor", kHosted);
  EXPECT_EQ(str(report.data, {"role"}), "hosting cluster");
  EXPECT_EQ(said(report, "hosted agents"), "ok: 1 of 1 replica available");
  EXPECT_EQ(said(report, "hosted members"), "ok: 2 members in namespace hosted");
  EXPECT_EQ(said(report, "c1: agent"), "ok: joined: cluster c1 at https://hub");
  EXPECT_EQ(said(report, "c1: renewal of its token"), "warn: cannot renew its token");
  EXPECT_EQ(said(report, "c2: agent"), "fail: not running: its kubeconfig is none");
  const std::string good = said(report, "c1: member token");
  EXPECT_TRUE(
      good.starts_with("ok: valid until 2026-03-21T12:00:00Z; ServiceAccount agents/fleetadm-agent, to be renewed at "
                       "2026-03-15T12:00:00Z; this machine could not ask the member"))
      << good;
  EXPECT_EQ(said(report, "c2: member token"), "fail: expired at 2026-02-28T12:00:00Z");
  EXPECT_TRUE(said(report, "c1: hub kubeconfig").starts_with("fail: the agent has none"));
  EXPECT_EQ(said(report, "c1: managed cluster"), "skip: name it with --managed-cluster-context");
  EXPECT_EQ(report.exit_code, 1);
  EXPECT_EQ(dump_json(report.data).find("e30."), std::string::npos) << "no token";
  Flags one = kHosted;
  one.emplace_back("clusters", "c1,c9");
  const Report of_one = run("doctor", one);
  EXPECT_TRUE(said(of_one, "c2: agent").starts_with("no such check"));
  EXPECT_EQ(said(of_one, "hosted members"), "ok: 2 members in namespace hosted");
  EXPECT_NE(dump_json(of_one.data).find("c9 is none of them"), std::string::npos);
}

TEST_F(DoctorOfHosted, SkipsWhatNoPodTells) {
  add_member("c1", kOneDay, 20 * kOneDay);
  hosting->erase(r::pods(), "hosted", "agents-0");
  EXPECT_EQ(said(run("doctor", kHosted), "c1: agent"), "skip: it could not be asked: no pod runs them");
}

TEST_F(DoctorOfHosted, ChecksTheManagedClusterThatIsNamed) {
  add_member("c1", kOneDay, 20 * kOneDay);
  add_member("c2", kOneDay, 20 * kOneDay);
  const std::string by = join::hosting_by(hosting->client(), "hosted").value();
  host("c1", by);
  Flags flags = kHosted;
  flags.emplace_back("managed-cluster-context", "c1");
  const Report report = run("doctor", flags);
  EXPECT_EQ(said(report, "managed cluster: hosted by"), "ok: " + by + ", as c1");
  EXPECT_TRUE(said(report, "managed cluster: CRDs").starts_with("fail: ")) << said(report, "managed cluster: CRDs");
  EXPECT_TRUE(said(report, "c1: member token").starts_with("ok: "));
  EXPECT_TRUE(said(report, "c2: agent").starts_with("no such check")) << "only the one that is named";
  host("c1", "another/hosted");
  EXPECT_TRUE(said(run("doctor", flags), "managed cluster: hosted by").starts_with("fail: it is hosted by another/hosted"));
}

TEST_F(DoctorOfHosted, AMemberSaysWhereItsAgentIs) {
  host("c1", "uid/hosted");
  testkit::FakeContext of_member{member->client(), clock};
  const auto doctor = testkit::run_command(registry, "doctor", of_member, {}, {});
  ASSERT_TRUE(doctor);
  EXPECT_EQ(said(*doctor, "agent"),
            "skip: it runs on another cluster (uid/hosted); there: fleetadm doctor --context HOSTING_CLUSTER --mode hosted "
            "--clusters c1");
  EXPECT_TRUE(said(*doctor, "hub kubeconfig").starts_with("no such check"));
  const auto certs = testkit::run_command(registry, "certs check", of_member, {}, {});
  ASSERT_TRUE(certs);
  EXPECT_EQ(str(hop(*certs, "c1", "agent certificate"), {"result"}), "unknown");
  EXPECT_EQ(certs->exit_code, 0);
}

TEST_F(DoctorOfHosted, CertsCheckListsWhatEndsOfEachMember) {
  add_member("c1", 10 * kOneDay, 20 * kOneDay);
  add_member("c2", 28 * kOneDay, 2 * kOneDay);
  const Report report = run("certs check", kHosted);
  EXPECT_EQ(str(hop(report, "c1", "member token"), {"result"}), "ok");
  EXPECT_EQ(num(hop(report, "c1", "member token"), {"daysLeft"}), 20);
  EXPECT_EQ(str(hop(report, "c2", "member token"), {"result"}), "soon") << "its agent should have renewed it";
  EXPECT_EQ(str(hop(report, "c1", "agent certificate"), {"result"}), "wrong");
  EXPECT_FALSE(hop(report, "c1", "server CA").is_null());
  Flags some = kHosted;
  some.emplace_back("clusters", "c1,c9");
  const Report of_some = run("certs check", some);
  EXPECT_TRUE(hop(of_some, "c2", "member token").is_null());
  ASSERT_EQ(of_some.failures.size(), 1U);
  EXPECT_EQ(of_some.failures[0].category, Category::kNotFound);
}

TEST_F(DoctorOfHosted, FlagsOfHostedModeNeedIt) {
  for (const Flags& flags : {Flags{{"hosted-namespace", "x"}}, Flags{{"clusters", "c1"}},
                             Flags{{"managed-cluster-context", "c1"}}, Flags{{"mode", "hosted"}, {"pre", "true"}}}) {
    const auto report = testkit::run_command(registry, "doctor", context, flags, {});
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().category, Category::kUsage);
  }
  const auto all = testkit::run_command(registry, "certs check", context, {{"mode", "hosted"}, {"all", "true"}}, {});
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().category, Category::kUsage);
}

}  // namespace
}  // namespace fleetadm::commands
