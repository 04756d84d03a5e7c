#include "core/sandbox/node/pod.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <thread>

#include "core/sandbox/node/node.h"
#include "tests/support/temporary_folder.h"

namespace fleetadm::sandbox {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::string file_text(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// A pod whose "fleetadm" is the shell: what is tested is the pod's life, not the program.
class PodTest : public ::testing::Test {
 protected:
  PodTest() {
    host_.node = {.name = "n1", .api_host = "127.0.0.1", .api_port = "6443"};
    host_.executable = "/bin/sh";
    host_.state_folder = folder_.path() / "state";
    host_.log_folder = folder_.path();
    host_.first_back_off = seconds(1);
    host_.most_back_off = seconds(4);
    host_.free_port = [] { return 1; };
    host_.watch = [](int /*pidfd*/, const std::string& /*key*/) {};
    host_.lookup.secret = [](std::string_view, std::string_view) -> Result<std::optional<Json>> { return std::optional<Json>(); };
    host_.lookup.config_map = [this](std::string_view, std::string_view) -> Result<std::optional<Json>> { return config_map_; };
    host_.lookup.token = [this](const TokenAsk&) -> Result<std::string> { return "token-" + std::to_string(++tokens_); };
  }

  static Json pod(const std::string& script, std::string_view policy = "Always", std::string_view image = "x/fleetadm:v1") {
    Json container = {{"name", "main"}, {"image", image}, {"args", Json::array({"-c", script})}};
    return {{"metadata", {{"name", "p"}, {"namespace", "ns"}, {"uid", "u"}}},
            {"spec", {{"restartPolicy", policy}, {"containers", Json::array({std::move(container)})}}}};
  }

  // Syncs until the test's condition holds; the pod's clock stands still.
  Json until(Pod& running, const Json& object, const std::function<bool(const Json&)>& done) {
    Json status;
    for (int i = 0; i < 2000; ++i) {
      status = running.sync(object, now_).status;
      if (done(status)) return status;
      std::this_thread::sleep_for(milliseconds(5));
    }
    ADD_FAILURE() << "never: " << dump_json(status);
    return status;
  }
  static const Json& main_of(const Json& status) {
    static const Json none;
    const Json& list = list_at(status, {"containerStatuses"});
    return list.empty() ? none : list.front();
  }
  std::string output() { return file_text(folder_.path() / "ns_p_main.log"); }

  testkit::TemporaryFolder folder_{"pod"};
  PodHost host_;
  std::optional<Json> config_map_;
  int tokens_ = 0;
  Instant now_ = *parse_time("2026-01-01T00:00:00Z");
};

// What is hosted says in `events` what becomes of it.
class FakeProgram final : public HostedProgram {
 public:
  explicit FakeProgram(std::vector<std::string>& events) : events_(events) {}
  ~FakeProgram() override { events_.emplace_back("ended"); }
  void terminate() override { events_.emplace_back("told to end"); }

 private:
  std::vector<std::string>& events_;
};

TEST_F(PodTest, HostsProgramsThatNeedNoProcess) {
  std::vector<std::string> events;
  host_.host = [&](const ChildSpec& spec) -> Result<std::unique_ptr<HostedProgram>> {
    events.push_back("started " + spec.args.back());
    return std::make_unique<FakeProgram>(events);
  };
  Json object = pod("work");
  object["spec"]["containers"][0]["readinessProbe"] = {{"httpGet", {{"port", 1}}}};
  {
    Pod running(host_, object);
    const Json status = until(running, object, [](const Json& now) { return flag(main_of(now), {"ready"}); });
    EXPECT_NE(find(main_of(status), {"state", "running"}), nullptr);
    object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    const Pod::Step last = running.shut_down(object, now_);
    EXPECT_TRUE(last.over);
    EXPECT_EQ(num(main_of(last.status), {"state", "terminated", "exitCode"}, -1), 0);
  }
  EXPECT_EQ(events, (std::vector<std::string>{"started work", "told to end", "ended"}));
}

TEST_F(PodTest, RunsAsProcessesWhatIsNotHosted) {
  host_.host = [](const ChildSpec&) -> Result<std::unique_ptr<HostedProgram>> { return nullptr; };
  const Json object = pod("exit 3", "Never");
  Pod running(host_, object);
  const Json status = until(running, object, [](const Json& now) {
    return find(main_of(now), {"state", "terminated"}) != nullptr;
  });
  EXPECT_EQ(num(main_of(status), {"state", "terminated", "exitCode"}), 3);
}

TEST_F(PodTest, RunsAndIsReady) {
  const Json object = pod("echo up; exec sleep 1000");
  Pod running(host_, object);
  const Json status = running.sync(object, now_).status;
  EXPECT_EQ(str(status, {"phase"}), "Running");
  EXPECT_TRUE(flag(main_of(status), {"ready"}));
}

TEST_F(PodTest, IsRestartedAtOnceThenLaterAndLater) {
  const Json object = pod("echo run; exit 5");
  Pod running(host_, object);
  // First end: no wait. Second: one second.
  const Json status = until(running, object, [](const Json& s) {
    return str(main_of(s), {"state", "waiting", "reason"}) == "CrashLoopBackOff";
  });
  EXPECT_EQ(str(status, {"phase"}), "Running");
  EXPECT_EQ(num(main_of(status), {"lastState", "terminated", "exitCode"}), 5);
  EXPECT_EQ(num(main_of(status), {"restartCount"}), 1);
  EXPECT_EQ(output(), "run\nrun\n");
  const auto again = running.sync(object, now_).again;
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, now_ + seconds(1));
  now_ += milliseconds(999);
  running.sync(object, now_);
  EXPECT_EQ(output(), "run\nrun\n");
  now_ += milliseconds(1);
  until(running, object, [](const Json& s) { return num(main_of(s), {"restartCount"}) == 2; });
  until(running, object, [this](const Json&) { return output() == "run\nrun\nrun\n"; });
}

TEST_F(PodTest, EndsForGoodUnderNever) {
  const Json failing = pod("exit 3", "Never");
  Pod first(host_, failing);
  const Json failed = until(first, failing, [](const Json& s) { return str(s, {"phase"}) == "Failed"; });
  EXPECT_EQ(num(main_of(failed), {"state", "terminated", "exitCode"}), 3);
  const Json fine = pod("exit 0", "OnFailure");
  Pod second(host_, fine);
  until(second, fine, [](const Json& s) { return str(s, {"phase"}) == "Succeeded"; });
}

TEST_F(PodTest, CountsOnAfterTheNodeWasRestarted) {
  Json object = pod("exec sleep 1000");
  object["status"]["containerStatuses"] = Json::array({{{"name", "main"}, {"restartCount", 4}, {"containerID", "process://x"}}});
  Pod running(host_, object);
  EXPECT_EQ(num(main_of(running.sync(object, now_).status), {"restartCount"}), 5);
}

TEST_F(PodTest, IsEndedGracefullyWithinItsGrace) {
  Json object = pod("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.02; done");
  Pod running(host_, object);
  until(running, object, [this](const Json&) { return output() == "up\n"; });
  object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:30Z";
  object["metadata"]["deletionGracePeriodSeconds"] = 30;
  Pod::Step step;
  for (int i = 0; i < 2000 && !step.over; ++i) {
    step = running.shut_down(object, now_);
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_TRUE(step.over);
  EXPECT_EQ(output(), "up\nbye\n");
  EXPECT_EQ(str(step.status, {"phase"}), "Succeeded");
}

TEST_F(PodTest, IsKilledWhenItsGraceIsOver) {
  Json object = pod("trap '' TERM; echo up; while :; do sleep 0.02; done");
  Pod running(host_, object);
  until(running, object, [this](const Json&) { return output() == "up\n"; });
  object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:05Z";
  object["metadata"]["deletionGracePeriodSeconds"] = 5;
  EXPECT_FALSE(running.shut_down(object, now_).over);
  now_ += seconds(5);
  const Pod::Step step = running.shut_down(object, now_);
  EXPECT_TRUE(step.over);
  EXPECT_EQ(num(main_of(step.status), {"state", "terminated", "exitCode"}), 137);
  EXPECT_EQ(str(step.status, {"phase"}), "Failed");
}

TEST_F(PodTest, RefusesACommandThatTheImageHasNot) {
  Json object = pod("true");
  object["spec"]["containers"][0]["command"] = Json::array({"/bin/bash"});
  Pod running(host_, object);
  const Json status = running.sync(object, now_).status;
  EXPECT_EQ(str(status, {"phase"}), "Pending");
  EXPECT_EQ(str(main_of(status), {"state", "waiting", "reason"}), "CreateContainerConfigError");
  EXPECT_NE(str(main_of(status), {"state", "waiting", "message"}).find("/bin/bash"), std::string::npos);
}

TEST_F(PodTest, WaitsForAMissingVolumeAndFollowsItsChanges) {
  Json object = pod("cat /etc/app/key; exec sleep 1000");
  object["spec"]["volumes"] = Json::array({{{"name", "v"}, {"configMap", {{"name", "c"}}}}});
  object["spec"]["containers"][0]["volumeMounts"] = Json::array({{{"name", "v"}, {"mountPath", "/etc/app/"}}});
  Pod running(host_, object);
  EXPECT_TRUE(running.uses_config_map("c"));
  EXPECT_FALSE(running.uses_secret("c"));
  EXPECT_EQ(str(main_of(running.sync(object, now_).status), {"state", "waiting", "reason"}), "ContainerCreating");
  config_map_ = Json{{"kind", "ConfigMap"}, {"data", {{"key", "one"}, {"old", "x"}}}};
  now_ += seconds(2);
  until(running, object, [this](const Json&) { return output() == "one"; });
  config_map_ = Json{{"kind", "ConfigMap"}, {"data", {{"key", "two"}}}};
  running.sync(object, now_);
  const fs::path volume = host_.state_folder / "u" / "volumes" / "v";
  EXPECT_EQ(file_text(volume / "key"), "two");
  EXPECT_FALSE(fs::exists(volume / "old"));
  EXPECT_EQ(fs::status(volume / "key").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(PodTest, RenewsItsTokenBeforeItExpires) {
  Json object = pod("echo $FLEETADM_SERVICEACCOUNT_DIR; exec sleep 1000");
  object["spec"]["volumes"] = Json::array(
      {{{"name", "a"},
        {"projected",
         {{"sources", Json::array({{{"serviceAccountToken", {{"path", "token"}, {"expirationSeconds", 1000}}}}})}}}}});
  object["spec"]["containers"][0]["volumeMounts"] =
      Json::array({{{"name", "a"}, {"mountPath", "/var/run/secrets/kubernetes.io/serviceaccount"}}});
  Pod running(host_, object);
  const Pod::Step step = running.sync(object, now_);
  const fs::path volume = host_.state_folder / "u" / "volumes" / "a";
  EXPECT_EQ(file_text(volume / "token"), "token-1");
  EXPECT_EQ(step.again, now_ + seconds(800));
  until(running, object, [&](const Json&) { return output() == volume.string() + "\n"; });
  now_ += seconds(799);
  running.sync(object, now_);
  EXPECT_EQ(file_text(volume / "token"), "token-1");
  now_ += seconds(1);
  running.sync(object, now_);
  EXPECT_EQ(file_text(volume / "token"), "token-2");
}

TEST_F(PodTest, PretendsForOtherImages) {
  const Json object = pod("exit 9", "Always", "nginx:1");
  Pod running(host_, object);
  const Json status = running.sync(object, now_).status;
  EXPECT_EQ(str(status, {"phase"}), "Running");
  EXPECT_TRUE(flag(main_of(status), {"ready"}));
  EXPECT_EQ(output(), "");
  Json failing = pod("", "Never", "busybox");
  failing["metadata"]["annotations"][kOutcomeKey] = "fail";
  Pod second(host_, failing);
  EXPECT_EQ(str(second.sync(failing, now_).status, {"phase"}), "Failed");
  Json never = pod("", "Always", "busybox");
  never["metadata"]["annotations"][kOutcomeKey] = "never";
  Pod third(host_, never);
  EXPECT_EQ(str(third.sync(never, now_).status, {"phase"}), "Pending");
}

TEST_F(PodTest, LeavesNothingBehind) {
  const Json object = pod("exec sleep 1000");
  {
    Pod running(host_, object);
    running.sync(object, now_);
    EXPECT_TRUE(fs::exists(host_.state_folder / "u"));
  }
  EXPECT_FALSE(fs::exists(host_.state_folder / "u"));
}

TEST_F(PodTest, FilesStayInTheirVolume) {
  const fs::path volume = folder_.path() / "volume";
  for (const char* name : {"../x", "/etc/x", "a/../../x", ""}) {
    EXPECT_FALSE(write_files(volume, {{name, "content"}})) << name;
  }
  EXPECT_TRUE(write_files(volume, {{"a/b", "content"}}));
  EXPECT_EQ(file_text(volume / "a" / "b"), "content");
}

TEST(WantsNode, ChecksSelectorAndTaints) {
  Json node = node_object({.name = "n1"}, "v1.35.4", Instant{});
  Json pod = {{"spec", Json::object()}};
  EXPECT_TRUE(wants_node(pod, node));
  pod["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", "other"}};
  EXPECT_FALSE(wants_node(pod, node));
  pod["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", "n1"}, {"kubernetes.io/os", "linux"}};
  EXPECT_TRUE(wants_node(pod, node));
  node["spec"]["taints"] = Json::array({{{"key", "k"}, {"value", "v"}, {"effect", "NoSchedule"}}});
  EXPECT_FALSE(wants_node(pod, node));
  pod["spec"]["tolerations"] = Json::array({{{"key", "k"}, {"value", "w"}}});
  EXPECT_FALSE(wants_node(pod, node));
  pod["spec"]["tolerations"] = Json::array({{{"key", "k"}, {"operator", "Exists"}, {"effect", "NoSchedule"}}});
  EXPECT_TRUE(wants_node(pod, node));
  pod["spec"]["nodeName"] = "n2";
  EXPECT_FALSE(wants_node(pod, node));
}

TEST(HostAndPort, OfAUrl) {
  auto check = [](std::string_view url, std::string_view host, std::string_view port) {
    const auto parsed = host_and_port(url);
    ASSERT_TRUE(parsed) << url;
    EXPECT_EQ(parsed->host, host);
    EXPECT_EQ(parsed->port, port);
  };
  check("https://127.0.0.1:6443", "127.0.0.1", "6443");
  check("https://[::1]:6443/prefix", "::1", "6443");
  check("https://hub.example.com/x", "hub.example.com", "443");
  EXPECT_FALSE(host_and_port("https://"));
  EXPECT_FALSE(host_and_port("https://[::1"));
}

}  // namespace
}  // namespace fleetadm::sandbox
