#include "commands/in_pod/in_pod.h"

#include <chrono>
#include <gtest/gtest.h>
#include <thread>

#include "commands/in_pod/job.h"
#include "kubeclient/base/encoding.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_context.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::commands {
namespace {

/// A hub on which Jobs get their pod, as `pod` tells, once they are not suspended.
class InPod : public testing::Test {
 protected:
  InPod() {
    register_in_pod(registry);
    hub->on_request([this](const testkit::ApiCall& call) -> std::optional<kube::Response> {
      if (call.verb == "patch" && call.plural == "jobs") {
        job = *hub->get(kube::resources::jobs(), call.ns, call.name);
        secret = hub->get(kube::resources::secrets(), call.ns, call.name);
        account = hub->get(kube::resources::service_accounts(), call.ns, call.name);
        bindings = hub->all(kube::resources::cluster_role_bindings());
        put_pod(state);
      }
      if (call.subresource != "log") return std::nullopt;
      if (on_log) on_log();
      if (log_status != 200) return kube::Response{log_status, {}, "no log"};
      const bool follows = call.param("follow") == "true";
      return kube::Response{200, {{"content-type", "text/plain"}}, follows ? followed : whole};
    });
  }
  void put_pod(const Json& container) {
    hub->put(
        kube::resources::pods(),
        {{"metadata",
          {{"name", name_of(job) + "-x"},
           {"namespace", "default"},
           {"labels", {{"batch.kubernetes.io/job-name", name_of(job)}}}}},
         {"status", {{"phase", "Running"}, {"containerStatuses", Json::array({{{"name", "fleetadm"}, {"state", container}}})}}}});
  }
  static Json ended(int code) { return {{"terminated", {{"exitCode", code}}}}; }
  Result<Report> run(const std::vector<std::pair<std::string, std::string>>& flags, const std::vector<std::string>& args) {
    return testkit::run_command(registry, "in-pod", context, flags, args);
  }
  void expect_nothing_is_left() {
    for (const auto& type : {kube::resources::jobs(), kube::resources::secrets(), kube::resources::service_accounts(),
                             kube::resources::cluster_role_bindings()})
      EXPECT_TRUE(hub->all(type).empty()) << type.plural;
  }

  std::shared_ptr<testkit::FakeApi> hub = testkit::FakeApi::make();
  Registry registry;
  testkit::FakeContext context{hub->client()};
  Json state = ended(0);
  std::string followed = "out\n";  // while it runs
  std::string whole = "out\n";     // after its end
  std::function<void()> on_log;
  int log_status = 200;
  // What there was when the pod was started.
  Json job;
  std::optional<Json> secret;
  std::optional<Json> account;
  std::vector<Json> bindings;
};

TEST_F(InPod, PrintsTheLogEndsWithTheCodeAndLeavesNothing) {
  state = ended(7);
  const auto report = run({{"cluster-role", "view"}}, {"get", "clusters", "-o", "json"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->exit_code, 7);
  EXPECT_EQ(context.screen.output, "out\n");
  const Json& spec = object_at(job, {"spec", "template", "spec"});
  const Json& container = list_at(spec, {"containers"}).front();
  EXPECT_EQ(string_list_at(container, {"args"}), (std::vector<std::string>{"get", "clusters", "-o", "json"}));
  EXPECT_TRUE(str(container, {"image"}).starts_with("fleetadm:")) << str(container, {"image"});
  EXPECT_EQ(num(job, {"spec", "backoffLimit"}, -1), 0) << "a command is not run twice";
  EXPECT_EQ(num(job, {"spec", "ttlSecondsAfterFinished"}), 300);
  ASSERT_TRUE(account);
  EXPECT_EQ(name_of(*account), str(spec, {"serviceAccountName"}));
  EXPECT_EQ(str(list_at(*account, {"metadata", "ownerReferences"}).front(), {"uid"}), uid_of(job));
  ASSERT_EQ(bindings.size(), 1U);
  EXPECT_EQ(str(bindings.front(), {"roleRef", "name"}), "view");
  EXPECT_FALSE(secret) << "there was nothing to send along";
  expect_nothing_is_left();
}

TEST_F(InPod, AccountsAreOnesOwnWithoutRightsUnlessTold) {
  ASSERT_TRUE(run({}, {"version"}));
  EXPECT_TRUE(account);
  EXPECT_TRUE(bindings.empty());
  ASSERT_TRUE(run({{"service-account", "deployer"}}, {"version"}));
  EXPECT_FALSE(account);
  EXPECT_EQ(str(job, {"spec", "template", "spec", "serviceAccountName"}), "deployer");
  const auto both = run({{"service-account", "a"}, {"cluster-role", "b"}}, {"version"});
  ASSERT_FALSE(both);
  EXPECT_EQ(both.error().category, Category::kUsage);
}

TEST_F(InPod, SendsFilesAndTokensInASecretOfTheJob) {
  const testkit::TemporaryFolder folder("in-pod");
  const std::string file = folder.write("c1.kubeconfig", "kind: Config\n");
  context.screen.input = "a token\n";
  const auto report = run({}, {"join", "--kubeconfig", file, "--hub-token-file", "-", "--cluster-name", "c1", "--hub-apiserver",
                               "https://hub", "--hub-token", "s3cret"});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(secret);
  EXPECT_EQ(str(list_at(*secret, {"metadata", "ownerReferences"}).front(), {"uid"}), uid_of(job));
  EXPECT_EQ(base64_decode(str(*secret, {"data", "0-c1.kubeconfig"})).value_or(""), "kind: Config\n");
  EXPECT_EQ(base64_decode(str(*secret, {"data", "1-stdin"})).value_or(""), "a token\n");
  EXPECT_EQ(base64_decode(str(*secret, {"data", "IN_POD_0"})).value_or(""), "s3cret");
  EXPECT_EQ(dump_json(job).find("s3cret"), std::string::npos);
  expect_nothing_is_left();
}

TEST_F(InPod, AFileThatIsNotHereIsSaidBeforeAnythingIsMade) {
  const auto report = run({}, {"work", "create", "web", "-f", "/no/such/file.yaml"});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().category, Category::kUsage);
  EXPECT_NE(report.error().message.find("/no/such/file.yaml"), std::string::npos) << report.error().message;
  EXPECT_EQ(hub->write_count(), 0);
}

TEST_F(InPod, WhatThePodWroteAfterTheStreamWasCutIsPrintedOnce) {
  followed = "one\n";
  whole = "one\ntwo\n";
  ASSERT_TRUE(run({}, {"version"}));
  EXPECT_EQ(context.screen.output, "one\ntwo\n");
}

TEST_F(InPod, WithoutALogThereIsStillTheExitCode) {
  state = ended(5);
  log_status = 403;
  const auto report = run({}, {"version"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->exit_code, 5);
  ASSERT_FALSE(context.steps.told.empty());
  EXPECT_NE(context.steps.told.back().find("is not whole"), std::string::npos) << context.steps.told.back();
  expect_nothing_is_left();
}

TEST_F(InPod, AnInterruptDeletesWhatWasMade) {
  state = {{"running", Json::object()}};
  on_log = [this] { context.stopper.request_stop(); };
  const auto report = run({{"cluster-role", "view"}}, {"version"});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().category, Category::kCancelled);
  EXPECT_FALSE(bindings.empty());
  expect_nothing_is_left();
}

TEST_F(InPod, APodWithoutAnImageIsNamedAndDeleted) {
  state = {{"waiting", {{"reason", "ImagePullBackOff"}, {"message", "no such image"}}}};
  const auto report = run({}, {"version"});
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("ImagePullBackOff: no such image"), std::string::npos) << report.error().message;
  EXPECT_NE(report.error().hint.find("--image"), std::string::npos);
  expect_nothing_is_left();
}

TEST_F(InPod, ACommandThatTakesTooLongIsStopped) {
  state = {{"running", Json::object()}};
  const auto report = run({{"timeout", "1"}}, {"version"});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().category, Category::kTimeout);
  EXPECT_NE(report.error().message.find("has not ended within 1s"), std::string::npos) << report.error().message;
  EXPECT_EQ(num(job, {"spec", "activeDeadlineSeconds"}), 61);
  expect_nothing_is_left();
}

TEST_F(InPod, WhatIsHalfMadeIsDeletedToo) {
  hub->fail_next("create", "clusterrolebindings", 403, "Forbidden");
  const auto report = run({{"cluster-role", "cluster-admin"}}, {"version"});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().category, Category::kAuth);
  EXPECT_TRUE(hub->all(kube::resources::pods()).empty()) << "it was never started";
  expect_nothing_is_left();
}

TEST_F(InPod, KeepLeavesTheJob) {
  ASSERT_TRUE(run({{"keep", "true"}}, {"version"}));
  EXPECT_EQ(hub->all(kube::resources::jobs()).size(), 1U);
  EXPECT_EQ(num(job, {"spec", "ttlSecondsAfterFinished"}), 24 * 3600);
}

TEST_F(InPod, IsNoDryRunAndNamesTheImageOfTheHub) {
  hub->put(kube::resources::deployments(),
           {{"metadata", {{"name", "fleetadm-hub"}, {"namespace", "open-cluster-management-hub"}}},
            {"spec", {{"template", {{"spec", {{"containers", Json::array({{{"image", "example.com/fleetadm:v9"}}})}}}}}}}});
  ASSERT_TRUE(run({}, {"version"}));
  EXPECT_EQ(str(list_at(job, {"spec", "template", "spec", "containers"}).front(), {"image"}), "example.com/fleetadm:v9");
  context.globals.dry_run = kube::DryRun::kServer;
  EXPECT_EQ(run({}, {"version"}).error().category, Category::kUsage);
}

}  // namespace
}  // namespace fleetadm::commands
