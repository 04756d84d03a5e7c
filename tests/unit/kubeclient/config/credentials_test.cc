#include "kubeclient/config/credentials.h"

#include <thread>

#include "kubeclient/base/encoding.h"
#include "kubeclient/config/files.h"
#include "kubeclient/config/process.h"
#include "tests/unit/kubeclient/config/fixture.h"

namespace fleetadm::kube {
namespace {

using namespace std::chrono_literals;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

class CredentialFiles : public ConfigFixture {
 protected:
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>(*parse_time("2026-06-01T00:00:00Z"));
};

TEST_F(CredentialFiles, TokensAreReadAgain) {
  FileCredentials files;
  files.token_file = write("token", " one \n");
  files.fixed.token = "data";
  const auto source = file_credentials(files, clock_);
  EXPECT_EQ(source->current()->token, "one");
  write("token", "two");
  EXPECT_EQ(source->current()->token, "one");
  clock_->advance(1s);
  EXPECT_EQ(source->current()->token, "two");
  EXPECT_FALSE(source->refresh());
  write("token", "three");
  EXPECT_TRUE(source->refresh());
  EXPECT_EQ(source->current()->token, "three");
  // What cannot be read, or is empty, does not take away what worked.
  write("token", "");
  clock_->advance(5s);
  EXPECT_EQ(source->current()->token, "three");
  std::filesystem::remove(path("token"));
  clock_->advance(5s);
  EXPECT_EQ(source->current()->token, "three");
  const auto first = file_credentials(files, clock_)->current();
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().category, Category::kAuth) << "no object was looked for and not found: the login fails";
  EXPECT_NE(first.error().message.find(path("token")), std::string::npos);
  EXPECT_FALSE(first.error().hint.empty());
}

TEST_F(CredentialFiles, PairsRotateTogether) {
  const auto one = client("one"), two = client("two");
  FileCredentials files;
  files.certificate_file = write("crt", one.certificate);
  files.key_file = write("key", one.key);
  const auto source = file_credentials(files, clock_);
  EXPECT_EQ(source->current()->client_certificate, one.certificate);
  write("crt", two.certificate);
  clock_->advance(2s);
  EXPECT_EQ(source->current()->client_certificate, one.certificate);
  EXPECT_EQ(source->current()->client_key, one.key);
  write("key", two.key);
  clock_->advance(2s);
  EXPECT_EQ(source->current()->client_certificate, two.certificate);
  EXPECT_EQ(source->current()->client_key, two.key);
}

class Exec : public CredentialFiles {
 protected:
  // A plugin that counts its runs in "runs" and keeps what it was told in "info".
  ExecPlugin plugin(const std::string& output, const std::string& more = {}) {
    write("answer", output);
    ExecPlugin plugin;
    plugin.command =
        write("plugin",
              "#!/bin/sh\necho run >> '" + path("runs") + "'\nprintf %s \"$KUBERNETES_EXEC_INFO\" > '" + path("info") +
                  "'\nprintf '%s|' \"$@\" > '" + path("args") + "'\n" + more + "\ncat '" + path("answer") + "'\n",
              0700);
    plugin.api_version = kV1;
    plugin.interactive_mode = "Never";
    return plugin;
  }
  static std::string answer(const std::string& status) {
    return "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" + std::string(kV1) + "\",\"status\":{" + status + "}}";
  }
  std::size_t runs() const {
    const std::string text = read("runs");
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
};

TEST_F(Exec, CachesUntilExpiry) {
  const auto source = exec_credentials(plugin(answer(R"("token":"t1","expirationTimestamp":"2026-06-01T00:10:00Z")")), clock_);
  EXPECT_TRUE(source->blocks());
  EXPECT_EQ(source->current()->token, "t1");
  clock_->advance(10min);
  EXPECT_EQ(source->current()->token, "t1");
  EXPECT_EQ(runs(), 1U);
  write("answer", answer(R"("token":"t2")"));
  clock_->advance(1s);
  EXPECT_EQ(source->current()->token, "t2");
  clock_->advance(24h * 365);
  EXPECT_EQ(source->current()->token, "t2");
  EXPECT_EQ(runs(), 2U);
}

TEST_F(Exec, OnePluginOfAProcessRunsOnceHoweverOftenItIsResolved) {
  const ExecPlugin same = plugin(answer(R"("token":"t")"));
  EXPECT_EQ(shared_exec_credentials(same)->current()->token, "t");
  EXPECT_EQ(shared_exec_credentials(same)->current()->token, "t");
  EXPECT_EQ(runs(), 1U);
  ExecPlugin other = same;
  other.env.emplace_back("ROLE", "x");
  EXPECT_EQ(shared_exec_credentials(other)->current()->token, "t");
  EXPECT_EQ(runs(), 2U);
}

TEST_F(Exec, AHangingPluginEndsWithTheRequestThatAsksIt) {
  const auto source = exec_credentials(plugin(answer(R"("token":"t")"), "sleep 60"), clock_);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(source->current_within(begun + 200ms, {}).error().category, Category::kTimeout);
  const auto before = runs();
  std::stop_source stop;
  std::stop_source other;
  std::jthread runs_it([&] {
    EXPECT_EQ(source->current_within(std::chrono::steady_clock::time_point::max(), stop.get_token()).error().category,
              Category::kCancelled);
  });
  while (runs() == before) std::this_thread::sleep_for(5ms);
  // Whoever waits for that run's answer gives up by its own rules.
  EXPECT_EQ(source->current_within(std::chrono::steady_clock::now() + 100ms, {}).error().category, Category::kTimeout);
  other.request_stop();
  EXPECT_EQ(source->current_within(std::chrono::steady_clock::time_point::max(), other.get_token()).error().category,
            Category::kCancelled);
  stop.request_stop();
  runs_it.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s);
}

TEST_F(Exec, RunsAgainAfter401ButNotForEachRequestOfOneMoment) {
  const auto source = exec_credentials(plugin(answer(R"("token":"t1")")), clock_);
  EXPECT_EQ(source->current()->token, "t1");
  write("answer", answer(R"("token":"t2")"));
  EXPECT_TRUE(source->refresh());
  EXPECT_EQ(source->current()->token, "t2");
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(source->refresh());
    EXPECT_EQ(source->current()->token, "t2");
  }
  EXPECT_EQ(runs(), 2U);
  clock_->advance(1min);
  EXPECT_TRUE(source->refresh());
  EXPECT_TRUE(source->current());
  EXPECT_EQ(runs(), 3U);
}

TEST_F(Exec, TellsThePluginWhatItNeeds) {
  ExecPlugin wanted = plugin(answer(R"("token":"t")"), "[ \"$EXTRA\" = 'a b' ] || exit 9");
  wanted.args = {"get token", "$HOME", "*"};
  wanted.env = {{"EXTRA", "a b"}};
  wanted.cluster = Json{{"server", "https://h"}};
  const auto credentials = exec_credentials(wanted, clock_)->current();
  ASSERT_TRUE(credentials) << credentials.error().message;
  EXPECT_EQ(
      read("info"),
      R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"cluster":{"server":"https://h"},"interactive":false}})");
  EXPECT_EQ(read("args"), "get token|$HOME|*|");
}

TEST_F(Exec, GivesCertificates) {
  const auto pair = client("me");
  const Json status = {{"clientCertificateData", pair.certificate}, {"clientKeyData", pair.key}};
  const Json document = {{"kind", "ExecCredential"}, {"apiVersion", kV1}, {"status", status}};
  const auto credentials = exec_credentials(plugin(dump_json(document)), clock_)->current();
  ASSERT_TRUE(credentials) << credentials.error().message;
  EXPECT_EQ(credentials->client_certificate, pair.certificate);
  EXPECT_EQ(credentials->token, "");
}

TEST_F(Exec, BadAnswersAreAuthErrorsWithoutTheirText) {
  const auto one = client("one"), two = client("two");
  const Json mixed = {{"kind", "ExecCredential"},
                      {"apiVersion", kV1},
                      {"status", {{"clientCertificateData", one.certificate}, {"clientKeyData", two.key}}}};
  for (const std::string& output :
       {std::string(), std::string("s3cr3t"), std::string("{}"), answer(""), answer(R"("clientKeyData":"s3cr3t")"),
        answer(R"("token":"s3cr3t","expirationTimestamp":"soon")"),
        std::string(
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"s3cr3t"}})"),
        dump_json(mixed)}) {
    const auto credentials = exec_credentials(plugin(output), clock_)->current();
    ASSERT_FALSE(credentials) << output;
    EXPECT_EQ(credentials.error().category, Category::kAuth);
    EXPECT_EQ(credentials.error().message.find("s3cr3t"), std::string::npos) << credentials.error().message;
  }
}

TEST_F(Exec, FailuresSayWhatToDo) {
  ExecPlugin missing = plugin("");
  missing.command = "no-such-plugin-here";
  missing.install_hint = "install \x1b[31mit";
  auto credentials = exec_credentials(missing, clock_)->current();
  ASSERT_FALSE(credentials);
  EXPECT_EQ(credentials.error().message, "exec: executable no-such-plugin-here not found");
  EXPECT_EQ(credentials.error().hint, "install \\x1b[31mit");
  credentials = exec_credentials(plugin("", "exit 7"), clock_)->current();
  ASSERT_FALSE(credentials);
  EXPECT_NE(credentials.error().message.find("failed with exit code 7"), std::string::npos);
  ExecPlugin always = plugin(answer(R"("token":"t")"));
  always.interactive_mode = "Always";
  EXPECT_NE(exec_credentials(always, clock_)->current().error().message.find("needs a terminal"), std::string::npos);
  ExecPlugin slow = plugin("", "sleep 30");
  slow.timeout = 100ms;
  credentials = exec_credentials(slow, clock_)->current();
  ASSERT_FALSE(credentials);
  EXPECT_EQ(credentials.error().category, Category::kTimeout);
}

TEST_F(Exec, OneRunServesAllThreads) {
  const auto source = exec_credentials(plugin(answer(R"("token":"t")"), "sleep 0.1"), clock_);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { EXPECT_EQ(source->current()->token, "t"); });
  threads.clear();
  EXPECT_EQ(runs(), 1U);
}

TEST_F(Exec, KubeconfigsLeadToThePlugin) {
  ExecPlugin script = plugin(answer(R"("token":"t")"));
  const std::string ca_data = base64_encode(ca().certificate);
  write("config", config("server: 'https://h', certificate-authority-data: " + ca_data +
                             ", extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: a}}]",
                         "exec: {command: ./plugin, args: [x], apiVersion: client.authentication.k8s.io/v1, interactiveMode: "
                         "IfAvailable, provideClusterInfo: true}"));
  ConfigOverrides overrides;
  overrides.kubeconfig = path("config");
  overrides.interactive = false;
  const auto rest = load_rest_config(overrides);
  ASSERT_TRUE(rest) << rest.error().message;
  const auto credentials = rest->credentials->current();
  ASSERT_TRUE(credentials) << credentials.error().message;
  EXPECT_EQ(credentials->token, "t");
  const Json info = *parse_json(read("info"));
  EXPECT_EQ(str(info, {"spec", "cluster", "server"}), "https://h");
  EXPECT_EQ(str(info, {"spec", "cluster", "certificate-authority-data"}), ca_data);
  EXPECT_EQ(str(info, {"spec", "cluster", "config", "audience"}), "a");
  EXPECT_FALSE(flag(info, {"spec", "interactive"}, true));
}

TEST_F(Exec, ATokenBesideThePluginWins) {
  plugin(answer(R"("token":"t")"));
  const auto rest =
      resolve(config("server: 'https://h'", "token: own, exec: {command: '" + path("plugin") +
                                                "', apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}"));
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_EQ(rest->credentials->current()->token, "own");
  EXPECT_EQ(runs(), 0U);
}

class Process : public ConfigFixture {};

TEST_F(Process, OutputIsBounded) {
  ProcessOptions options;
  options.command = "yes";
  options.max_output = 10'000;
  EXPECT_EQ(run_process(options).error().category, Category::kInvalid);
}

TEST_F(Process, EndsWithItsProgramNotWithWhatThatLeftRunning) {
  ProcessOptions options;
  options.command = "sh";
  options.args = {"-c", "sleep 5 & echo done; exit 3"};
  const auto from = std::chrono::steady_clock::now();
  const auto done = run_process(options);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->exit_code, 3);
  EXPECT_EQ(done->output, "done\n");
  EXPECT_LT(std::chrono::steady_clock::now() - from, 3s);
}

TEST_F(Process, OfTwoValuesOfAVariableTheLastCounts) {
  ProcessOptions options;
  options.command = "env";
  options.env = {{"FLEETADM_TEST_VALUE", "one"}, {"HOME", "/elsewhere"}, {"FLEETADM_TEST_VALUE", "two"}};
  const auto done = run_process(options);
  ASSERT_TRUE(done);
  EXPECT_NE(done->output.find("FLEETADM_TEST_VALUE=two\n"), std::string::npos);
  EXPECT_EQ(done->output.find("FLEETADM_TEST_VALUE=one"), std::string::npos);
  EXPECT_NE(done->output.find("HOME=/elsewhere\n"), std::string::npos);
  EXPECT_EQ(done->output.find("HOME=" + folder_), std::string::npos);
}

TEST_F(Process, StdinIsEmptyAndSignalsAreReported) {
  ProcessOptions options;
  options.command = "cat";
  EXPECT_EQ(run_process(options)->output, "");
  options.command = "sh";
  options.args = {"-c", "kill -9 $$"};
  EXPECT_EQ(run_process(options)->exit_code, 137);
  options.command = folder_;
  EXPECT_EQ(run_process(options).error().category, Category::kUsage);
}

}  // namespace
}  // namespace fleetadm::kube
