// kubectl exec, attach, cp and port-forward against a sandbox: over WebSockets, and over SPDY as older clients do.
#include <curl/curl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/fleet.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::seconds;
constexpr std::string_view kHubNamespace = "open-cluster-management-hub";

/// A pod that answers each line of its stdin, and has a folder.
constexpr std::string_view kBox = R"(apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: default}
spec:
  restartPolicy: Never
  volumes: [{name: data, emptyDir: {}}]
  containers:
  - name: main
    image: example.com/fleetadm:v1
    args: [work, evaluate, --scenarios, "-"]
    stdin: true
    stdinOnce: true
    env: [{name: GREETING, value: hello}]
    volumeMounts: [{name: data, mountPath: /data}]
)";

std::size_t append_body(char* data, std::size_t size, std::size_t count, void* to) {
  static_cast<std::string*>(to)->append(data, size * count);
  return size * count;
}

/// GET over plain HTTP; "200 body", or "0 " where nobody answers.
std::string http_get(const std::string& url) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(), curl_easy_cleanup);
  std::string body;
  curl_easy_setopt(handle.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle.get(), CURLOPT_PROXY, "");
  curl_easy_setopt(handle.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle.get(), CURLOPT_TIMEOUT, 10L);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, append_body);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEDATA, &body);
  long status = 0;
  if (curl_easy_perform(handle.get()) == CURLE_OK) curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  return std::to_string(status) + " " + body;
}

class SandboxStreams : public ::testing::TestWithParam<bool> {  // over WebSockets
 protected:
  struct Place {
    TemporaryFolder folder{"sandbox-streams"};
    std::map<std::string, std::string> environment;
    int runs = 0;
  };
  static std::unique_ptr<Place>& slot() {
    static std::unique_ptr<Place> the_place;
    return the_place;
  }
  static Place& place() { return *slot(); }
  static bool can_run() { return KubeServer::programs() && !KubeServer::on_sandbox(); }

  static Ran fleetadm(const std::vector<std::string>& args) {
    RunOptions options;
    options.environment = place().environment;
    options.timeout = std::chrono::minutes(2);
    return run_fleetadm(place().folder, args, options);
  }
  static void SetUpTestSuite() {
    if (!can_run()) return;
    slot() = std::make_unique<Place>();
    const auto sandboxes = place().folder.path() / "sandboxes";
    place().environment = {{"FLEETADM_SANDBOX_DIR", sandboxes.string()},
                           {"KUBECONFIG", (sandboxes / "sandbox" / "kubeconfig").string()}};
    const Ran up = fleetadm({"sandbox", "up", "--clusters", "1", "--join", "--ephemeral"});
    ASSERT_EQ(up.code, 0) << up.both();
  }
  static void TearDownTestSuite() {
    if (slot()) fleetadm({"sandbox", "down"});
    slot().reset();
  }
  void SetUp() override {
    FLEETADM_NEEDS_KUBE_SERVERS();  // kubectl comes with them
  }

  static sandbox::ChildSpec kubectl_spec(const std::string& base, const std::vector<std::string>& args) {
    sandbox::ChildSpec spec;
    spec.program = "/bin/sh";
    spec.args = {"-c", R"(base=$1; shift; exec "$@" >"$base.out" 2>"$base.err" <"$base.in")", "sh", base,
                 *KubeServer::programs() + "/kubectl"};
    spec.args.insert(spec.args.end(), args.begin(), args.end());
    spec.folder = place().folder.path().string();
    spec.environment = {"HOME=" + place().folder.path().string(), "PATH=/usr/bin:/bin"};
    for (const auto& [name, value] : place().environment) spec.environment.push_back(name + "=" + value);
    if (!GetParam()) {
      spec.environment.emplace_back("KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false");
      spec.environment.emplace_back("KUBECTL_PORT_FORWARD_WEBSOCKETS=false");
    }
    return spec;
  }
  static std::string new_base(const std::string& input) {
    const std::string base = (place().folder.path() / ("kubectl-" + std::to_string(++place().runs))).string();
    std::ofstream(base + ".in", std::ios::binary) << input;
    return base;
  }
  static Ran kubectl(const std::vector<std::string>& args, const std::string& input = {}) {
    const std::string base = new_base(input);
    Ran ran;
    auto child = sandbox::Child::start(kubectl_spec(base, args));
    if (child) {
      const auto status = child->wait(seconds(60));
      if (status) ran.code = status->code;
    }
    ran.out = read_file(base + ".out");
    ran.err = read_file(base + ".err");
    return ran;
  }
  /// A pod of its own for each case, that runs.
  static std::string make_box(const std::string& kind) {
    const std::string name = kind + (GetParam() ? "-websocket" : "-spdy");
    std::string text(kBox);
    text.replace(text.find("NAME"), 4, name);
    const Ran made = kubectl({"apply", "-f", place().folder.write(name + ".yaml", text)});
    EXPECT_EQ(made.code, 0) << made.both();
    const Ran ready = kubectl({"wait", "--for=condition=Ready", "pod/" + name, "--timeout=30s"});
    EXPECT_EQ(ready.code, 0) << ready.both();
    return name;
  }
};

TEST_P(SandboxStreams, Exec) {
  const std::string box = make_box("exec");
  const Ran failing = kubectl({"exec", box, "--", "sh", "-c", "echo $GREETING; echo wrong >&2; exit 7"});
  EXPECT_EQ(failing.code, 7) << failing.both();
  EXPECT_EQ(failing.out, "hello\n");
  EXPECT_NE(failing.err.find("wrong\n"), std::string::npos) << failing.err;
  EXPECT_NE(failing.err.find("command terminated with exit code 7"), std::string::npos) << failing.err;

  const std::string much = [] {
    std::string text;
    for (int i = 0; i < 50'000; ++i) text += "line " + std::to_string(i) + "\n";
    return text;
  }();
  const Ran through = kubectl({"exec", "-i", box, "--", "cat"}, much);
  EXPECT_EQ(through.code, 0) << through.err;
  EXPECT_TRUE(through.out == much) << through.out.size();

  const Ran version = kubectl({"exec", box, "--", "fleetadm", "version"});
  EXPECT_EQ(version.code, 0) << version.both();

  const Ran missing = kubectl({"exec", box, "--", "no-such-program"});
  EXPECT_EQ(missing.code, 1) << missing.both();
  EXPECT_NE(missing.err.find("executable file not found in $PATH"), std::string::npos) << missing.err;
  const Ran verbose = kubectl({"-v=4", "exec", box, "--", "true"});
  EXPECT_EQ(verbose.err.find("The subprotocol is v5.channel.k8s.io") != std::string::npos, GetParam()) << verbose.err;
  const Ran token = kubectl({"exec", box, "--", "cat", "/var/run/secrets/kubernetes.io/serviceaccount/namespace"});
  EXPECT_EQ(token.out, "default") << token.both();
}

TEST_P(SandboxStreams, ExecOnATerminal) {
  ASSERT_EQ(access("/usr/bin/script", X_OK), 0) << "script(1) of bsdutils makes a terminal for kubectl";
  const std::string box = make_box("terminal");
  const std::string base = new_base("");
  auto spec = kubectl_spec(base, {});
  const std::string command =
      "stty rows 31 cols 97; " + spec.args.back() + " exec -it " + box + " -- sh -c 'test -t 0 && sleep 1; stty size'";
  spec.args = {"-c", R"(exec script -qec "$2" /dev/null >"$1.out" 2>"$1.err" <"$1.in")", "sh", base, command};
  auto child = sandbox::Child::start(spec);
  ASSERT_TRUE(child) << child.error().message;
  EXPECT_TRUE(child->wait(seconds(60)));
  EXPECT_NE(read_file(base + ".out").find("31 97"), std::string::npos) << read_file(base + ".out") << read_file(base + ".err");
}

TEST_P(SandboxStreams, CopyBothWays) {
  ASSERT_TRUE(access("/usr/bin/tar", X_OK) == 0 || access("/bin/tar", X_OK) == 0) << "kubectl cp needs tar";
  const std::string box = make_box("copy");
  std::string content;
  for (int i = 0; i < 100'000; ++i) content += static_cast<char>('a' + i % 26);
  place().folder.write("there.txt", content);
  const Ran there = kubectl({"cp", "there.txt", box + ":/data/file.txt"});
  ASSERT_EQ(there.code, 0) << there.both();
  EXPECT_EQ(kubectl({"exec", box, "--", "wc", "-c", "/data/file.txt"}).out.substr(0, 6), "100000");
  const Ran back = kubectl({"cp", box + ":/data/file.txt", "back.txt"});
  ASSERT_EQ(back.code, 0) << back.both();
  EXPECT_TRUE(read_file((place().folder.path() / "back.txt").string()) == content) << back.both();
  std::filesystem::remove(place().folder.path() / "back.txt");
}

TEST_P(SandboxStreams, Attach) {
  const std::string box = make_box("attach");
  const Ran attached =
      kubectl({"attach", "-i", box}, R"({"id":"x","object":{"apiVersion":"v1","kind":"Pod","status":{"phase":"Running"}},)"
                                     R"("rule":{"type":"WellKnownStatus"}})"
                                     "\n");
  EXPECT_EQ(attached.code, 0) << attached.both();
  EXPECT_NE(attached.out.find(R"("name":"PodPhase")"), std::string::npos) << attached.both();
  const Ran over = kubectl({"wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/" + box, "--timeout=30s"});
  EXPECT_EQ(over.code, 0) << over.both();  // its input has ended
}

TEST_P(SandboxStreams, PortForward) {
  const std::string base = new_base("");
  auto child = sandbox::Child::start(kubectl_spec(
      base, {"port-forward", "-n", std::string(kHubNamespace), "deploy/fleetadm-hub", ":8000", "--address=127.0.0.1", "-v=4"}));
  ASSERT_TRUE(child) << child.error().message;
  std::string port;
  EXPECT_TRUE(eventually([&] {
    const std::string out = read_file(base + ".out");
    const std::string before = "Forwarding from 127.0.0.1:";
    const auto at = out.find(before);
    const auto end = out.find(" -> 8000", at == std::string::npos ? 0 : at);
    if (at == std::string::npos || end == std::string::npos) return false;
    port = out.substr(at + before.size(), end - at - before.size());
    return true;
  })) << read_file(base + ".out")
      << read_file(base + ".err");
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(http_get("http://127.0.0.1:" + port + "/livez").starts_with("200 "))
        << read_file(base + ".out") << read_file(base + ".err");
  }
  EXPECT_NE(http_get("http://127.0.0.1:" + port + "/metrics").find("\n"), std::string::npos);
  child->stop(seconds(10));
  const std::string told = read_file(base + ".err");
  EXPECT_EQ(told.find("Before WebSocket Upgrade Connection") != std::string::npos, GetParam()) << told;
  EXPECT_EQ(told.find("fallback"), std::string::npos) << told;
  EXPECT_EQ(told.find("Unhandled"), std::string::npos) << told;
}

INSTANTIATE_TEST_SUITE_P(Kubectl, SandboxStreams, ::testing::Values(true, false),
                         [](const auto& which) { return which.param ? "WebSocket" : "Spdy"; });

}  // namespace
}  // namespace fleetadm::testkit
