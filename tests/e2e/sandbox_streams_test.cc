// kubectl exec, attach, cp, logs and port-forward on a cluster that only its own network reaches: from there, and from the hub's
// through the gateway, over WebSockets, and over SPDY as older clients do. Hub and cluster are a sandbox each. $FLEETADM_KUBECTL
// is tried instead of the servers' own kubectl, if it is set.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/fleet.h"
#include "tests/support/https.h"
#include "tests/support/network_namespace.h"

namespace fleetadm::testkit {
namespace {

using std::chrono::seconds;

/// How kubectl comes to the pods.
struct Route {
  const char* name;
  bool websockets;
  enum Way { kDirect, kGateway, kProxyKubectl } way;
};

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

/// A pod that serves a port, although it may read nothing.
constexpr std::string_view kServer = R"(apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: default}
spec:
  restartPolicy: Never
  containers:
  - name: main
    image: example.com/fleetadm:v1
    args: [hub, run, --leader-elect=false, --health-address=$(POD_IP):8000]
    env: [{name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
    ports: [{containerPort: 8000}]
    readinessProbe: {httpGet: {path: /livez, port: 8000}, periodSeconds: 1}
)";

class SandboxStreams : public ::testing::TestWithParam<Route> {
 protected:
  struct Place {
    TemporaryFolder folder{"sandbox-streams"};
    std::map<std::string, std::string> environment;
    std::shared_ptr<NetworkNamespace> far;  // the cluster's network
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
  /// On the cluster's side.
  static Ran fleetadm_there(const std::vector<std::string>& args) {
    RunOptions options;
    options.environment = place().environment;
    options.environment["KUBECONFIG"] = kubeconfig_of("far");
    options.network = place().far.get();
    return run_fleetadm(place().folder, args, options);
  }
  static std::string kubeconfig_of(const std::string& sandbox) {
    return (place().folder.path() / "sandboxes" / sandbox / "kubeconfig").string();
  }
  static int port_of(const std::string& address) { return std::stoi(address.substr(address.rfind(':') + 1)); }
  static void SetUpTestSuite() {
    if (!can_run()) return;
    slot() = std::make_unique<Place>();
    auto network = NetworkNamespace::make();
    ASSERT_TRUE(network) << network.error().message << "; " << network.error().hint;
    place().far = std::move(*network);
    const auto sandboxes = place().folder.path() / "sandboxes";
    place().environment = {{"FLEETADM_SANDBOX_DIR", sandboxes.string()}, {"KUBECONFIG", kubeconfig_of("near")}};
    ASSERT_NO_FATAL_FAILURE(make_fleet());
    grant("near", "use-clusters", "apiGroups: [proxy.open-cluster-management.io], resources: [clusters/proxy]");
    grant("far", "everything", "apiGroups: ['*'], resources: ['*']");
    Ran health;
    ASSERT_TRUE(eventually([&] { return (health = fleetadm({"proxy", "health"})).code == 0; }, seconds(60))) << health.both();
    const Ran printed = fleetadm({"proxy", "kubeconfig", "--cluster", "c1"});
    ASSERT_EQ(printed.code, 0) << printed.both();
    place().folder.write("gateway.kubeconfig", printed.out);
  }
  static void make_fleet() {
    const Ran hub = fleetadm({"sandbox", "up", "near", "--clusters", "0", "--nodes", "--ephemeral"});
    ASSERT_EQ(hub.code, 0) << hub.both();
    const Ran cluster = fleetadm_there({"sandbox", "up", "far", "--clusters", "0", "--nodes", "--ephemeral"});
    ASSERT_EQ(cluster.code, 0) << cluster.both();
    const Ran made = fleetadm({"init", "--gateway", "--wait", "-o", "json"});
    ASSERT_EQ(made.code, 0) << made.both();
    const Json ticket = made.json();
    const std::string server = str(ticket, {"hub-apiserver"});
    const Ran map = kubectl_at(
        {"--kubeconfig=" + kubeconfig_of("near")},
        {"get", "configmap", "fleetadm-gateway", "-n", "open-cluster-management-hub", "-o", "jsonpath={.data.tunnel}"});
    ASSERT_EQ(map.code, 0) << map.both();
    for (const std::string& address : {server, map.out}) {
      const Status led = place().far->lead_out(port_of(address));
      ASSERT_TRUE(led) << led.error().message;
    }
    const Ran joined = fleetadm_there({"join", "--cluster-name", "c1", "--hub-apiserver", server, "--hub-token",
                                       str(ticket, {"hub-token"}), "--ca-cert-hash", str(ticket, {"ca-cert-hash"})});
    ASSERT_EQ(joined.code, 0) << joined.both();
    const Ran accepted = fleetadm({"accept", "c1", "--yes", "--wait"});
    ASSERT_EQ(accepted.code, 0) << accepted.both();
  }
  /// To the user of the sandbox's kubeconfig, who is nobody at members.
  static void grant(const std::string& sandbox, const std::string& name, const std::string& what,
                    const std::string& whom = "apiGroup: rbac.authorization.k8s.io, kind: User, name: sandbox-admin") {
    const std::string api = "apiVersion: rbac.authorization.k8s.io/v1\n";
    const std::string text = api + "kind: ClusterRole\nmetadata: {name: " + name + "}\nrules: [{" + what +
                             ", verbs: ['*']}]\n---\n" + api + "kind: ClusterRoleBinding\nmetadata: {name: " + name +
                             "}\nroleRef: {apiGroup: rbac.authorization.k8s.io, " + "kind: ClusterRole, name: " + name +
                             "}\nsubjects: [{" + whom + "}]\n";
    const std::vector<std::string> load = {"sandbox", "load", sandbox, "-f", place().folder.write(name + ".yaml", text)};
    const Ran loaded = sandbox == "far" ? fleetadm_there(load) : fleetadm(load);
    ASSERT_EQ(loaded.code, 0) << loaded.both();
  }
  static void TearDownTestSuite() {
    if (slot()) {
      fleetadm_there({"sandbox", "down", "far"});
      fleetadm({"sandbox", "down", "near"});
    }
    slot().reset();
  }
  void SetUp() override {
    FLEETADM_NEEDS_KUBE_SERVERS();  // kubectl comes with them
  }

  static std::string kubectl_program() {
    const char* chosen = std::getenv("FLEETADM_KUBECTL");
    return chosen == nullptr ? *KubeServer::programs() + "/kubectl" : std::string(chosen);
  }
  /// kubectl as this case calls it.
  static std::vector<std::string> kubectl_words() {
    switch (GetParam().way) {
      case Route::kDirect: {
        std::vector<std::string> words = place().far->command_words();
        words.insert(words.end(), {kubectl_program(), "--kubeconfig=" + kubeconfig_of("far")});
        return words;
      }
      case Route::kGateway: return {kubectl_program(), "--kubeconfig=gateway.kubeconfig"};
      case Route::kProxyKubectl: break;
    }
    return {Fleet::binary(), "proxy", "kubectl", "--cluster", "c1", "--"};
  }
  static sandbox::ChildSpec kubectl_spec(const std::string& base, const std::vector<std::string>& args) {
    sandbox::ChildSpec spec = spec_of(base, kubectl_words(), args);
    if (!GetParam().websockets) {
      spec.environment.emplace_back("KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false");
      spec.environment.emplace_back("KUBECTL_PORT_FORWARD_WEBSOCKETS=false");
    }
    return spec;
  }
  static sandbox::ChildSpec spec_of(const std::string& base, const std::vector<std::string>& words,
                                    const std::vector<std::string>& args) {
    sandbox::ChildSpec spec;
    spec.program = "/bin/sh";
    spec.args = {"-c", R"(base=$1; shift; exec "$@" >"$base.out" 2>"$base.err" <"$base.in")", "sh", base};
    spec.args.insert(spec.args.end(), words.begin(), words.end());
    spec.args.insert(spec.args.end(), args.begin(), args.end());
    spec.folder = place().folder.path().string();
    spec.environment = {"HOME=" + place().folder.path().string(), "PATH=/usr/bin:/bin", "FLEETADM_KUBECTL=" + kubectl_program()};
    for (const auto& [name, value] : place().environment) spec.environment.push_back(name + "=" + value);
    return spec;
  }
  static std::string new_base(const std::string& input) {
    const std::string base = (place().folder.path() / ("kubectl-" + std::to_string(++place().runs))).string();
    std::ofstream(base + ".in", std::ios::binary) << input;
    return base;
  }
  static Ran kubectl(const std::vector<std::string>& args, const std::string& input = {}) {
    const std::string base = new_base(input);
    return outcome(base, kubectl_spec(base, args));
  }
  static Ran kubectl_at(std::vector<std::string> words, const std::vector<std::string>& args) {
    words.insert(words.begin(), kubectl_program());
    const std::string base = new_base("");
    return outcome(base, spec_of(base, words, args));
  }
  static Ran outcome(const std::string& base, const sandbox::ChildSpec& spec) {
    Ran ran;
    auto child = sandbox::Child::start(spec);
    if (child) {
      const auto status = child->wait(seconds(60));
      if (status) ran.code = status->code;
    }
    ran.out = read_file(base + ".out");
    ran.err = read_file(base + ".err");
    return ran;
  }
  /// From a port of this machine that leads to one of a pod; kubectl has it where it runs.
  static HttpsAnswer ask(const std::string& port, const std::string& path) {
    HttpsRequest request;
    request.url = "http://127.0.0.1:" + port + path;
    if (GetParam().way == Route::kDirect) request.network = place().far.get();
    return https(request);
  }
  static std::string agent_pod() {
    return kubectl({"get", "pods", "-n", "open-cluster-management-agent", "-o", "jsonpath={.items[0].metadata.name}"}).out;
  }
  /// `exec`, a line for the shell, runs a command in a pod at a terminal: it sees the window's size, and a new one while it runs.
  static void expect_terminal(const std::string& exec) {
    ASSERT_EQ(access("/usr/bin/script", X_OK), 0) << "script(1) of bsdutils makes a terminal";
    const std::string base = new_base("");
    auto spec = kubectl_spec(base, {});
    const std::string command = "stty rows 31 cols 97; { until grep -q 31.97 '" + base +
                                ".out'; do sleep 0.1; done; stty rows 42 cols 103; } </dev/tty & " + exec +
                                " -- sh -c 'until test \"$(stty size)\" = \"31 97\"; do sleep 0.1; done; stty size; "
                                "until test \"$(stty size)\" = \"42 103\"; do sleep 0.1; done; echo resized; exit 5'";
    spec.args = {"-c", R"(exec script -qec "$2" /dev/null >"$1.out" 2>"$1.err" <"$1.in")", "sh", base, command};
    auto child = sandbox::Child::start(spec);
    ASSERT_TRUE(child) << child.error().message;
    const auto status = child->wait(seconds(60));
    const std::string told = read_file(base + ".out") + read_file(base + ".err");
    ASSERT_TRUE(status) << told;
    EXPECT_EQ(status->code, 5) << told;
    EXPECT_NE(told.find("resized"), std::string::npos) << told;
  }
  /// A program that forwards a port: the local one, once it says so between these two texts.
  static std::string forwarded_port(const std::string& base, const std::string& before, const std::string& after) {
    std::string port;
    EXPECT_TRUE(eventually([&] {
      const std::string out = read_file(base + ".out");
      const auto at = out.find(before);
      const auto end = out.find(after, at == std::string::npos ? 0 : at + before.size());
      if (at == std::string::npos || end == std::string::npos) return false;
      port = out.substr(at + before.size(), end - at - before.size());
      return true;
    })) << read_file(base + ".out")
        << read_file(base + ".err");
    return port;
  }
  /// A pod of its own for each case, that runs.
  static std::string make_box(const std::string& kind, std::string_view of = kBox) {
    const std::string name = kind + "-" + GetParam().name;
    std::string text(of);
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
  EXPECT_EQ(verbose.err.find("The subprotocol is v5.channel.k8s.io") != std::string::npos, GetParam().websockets) << verbose.err;
  const Ran token = kubectl({"exec", box, "--", "cat", "/var/run/secrets/kubernetes.io/serviceaccount/namespace"});
  EXPECT_EQ(token.out, "default") << token.both();
}

TEST_P(SandboxStreams, ExecOnATerminal) {
  const std::string box = make_box("terminal");
  std::string line;
  for (const std::string& word : kubectl_words()) line += word + " ";
  expect_terminal(line + "exec -it " + box);
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

TEST_P(SandboxStreams, FollowedLog) {
  const std::string box = make_box("log");
  const std::string base = new_base("");
  auto follower = sandbox::Child::start(kubectl_spec(base, {"logs", "-f", box}));
  ASSERT_TRUE(follower) << follower.error().message;
  const Ran fed =
      kubectl({"attach", "-i", box}, R"({"id":"y","object":{"apiVersion":"v1","kind":"Pod","status":{"phase":"Running"}},)"
                                     R"("rule":{"type":"WellKnownStatus"}})"
                                     "\n");
  EXPECT_EQ(fed.code, 0) << fed.both();
  const auto status = follower->wait(seconds(30));  // the pod ends with its input, and the log with the pod
  ASSERT_TRUE(status) << read_file(base + ".out") << read_file(base + ".err");
  EXPECT_EQ(status->code, 0) << read_file(base + ".err");
  EXPECT_NE(read_file(base + ".out").find(R"("name":"PodPhase")"), std::string::npos) << read_file(base + ".out");
}

TEST_P(SandboxStreams, ADryRunIsOne) {
  const std::string name = std::string("dry-") + GetParam().name;
  const Ran dry = kubectl({"create", "configmap", name, "--dry-run=server", "-o", "jsonpath={.metadata.uid}"});
  EXPECT_EQ(dry.code, 0) << dry.both();
  EXPECT_FALSE(dry.out.empty()) << "the server has seen it";
  EXPECT_EQ(kubectl({"get", "configmap", name, "--ignore-not-found", "-o", "name"}).out, "");
}

TEST_P(SandboxStreams, PortForward) {
  const std::string server = make_box("port", kServer);
  const std::string base = new_base("");
  auto child =
      sandbox::Child::start(kubectl_spec(base, {"port-forward", "pod/" + server, ":8000", "--address=127.0.0.1", "-v=4"}));
  ASSERT_TRUE(child) << child.error().message;
  const std::string port = forwarded_port(base, "Forwarding from 127.0.0.1:", " -> 8000");
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(ask(port, "/livez").status, 200) << read_file(base + ".out") << read_file(base + ".err");
  }
  EXPECT_NE(ask(port, "/metrics").body.find('\n'), std::string::npos);
  child->stop(seconds(10));
  const std::string told = read_file(base + ".err");
  EXPECT_EQ(told.find("Before WebSocket Upgrade Connection") != std::string::npos, GetParam().websockets) << told;
  EXPECT_EQ(told.find("fallback"), std::string::npos) << told;
  EXPECT_EQ(told.find("Unhandled"), std::string::npos) << told;
}

INSTANTIATE_TEST_SUITE_P(Kubectl, SandboxStreams,
                         ::testing::Values(Route{"websocket", true, Route::kDirect}, Route{"spdy", false, Route::kDirect},
                                           Route{"gateway-websocket", true, Route::kGateway},
                                           Route{"gateway-spdy", false, Route::kGateway},
                                           Route{"proxy-kubectl", true, Route::kProxyKubectl}),
                         [](const auto& which) {
                           std::string name = which.param.name;
                           std::erase(name, '-');
                           return name;
                         });

/// fleetadm's own commands, on the same sandbox.
class SandboxMembers : public SandboxStreams {};
INSTANTIATE_TEST_SUITE_P(Fleetadm, SandboxMembers, ::testing::Values(Route{"fleetadm", true, Route::kGateway}),
                         [](const auto& which) { return std::string(which.param.name); });

TEST_P(SandboxMembers, AreNotReachedFromTheHubsNetwork) {
  const Ran directly = kubectl_at({"--kubeconfig=" + kubeconfig_of("far")}, {"get", "--raw", "/livez"});
  EXPECT_EQ(directly.code, 1) << directly.both();
  EXPECT_NE(directly.err.find("was refused"), std::string::npos) << directly.err;
}

TEST_P(SandboxMembers, ExecAndLogs) {
  const std::string box = make_box("own");
  const Ran failing = fleetadm({"exec", box, "--cluster", "c1", "--", "sh", "-c", "echo $GREETING; echo wrong >&2; exit 7"});
  EXPECT_EQ(failing.code, 7) << failing.both();
  EXPECT_EQ(failing.out, "hello\n");
  EXPECT_EQ(failing.err, "wrong\n");
  const Ran log = fleetadm({"logs", "-n", "open-cluster-management-agent", agent_pod(), "--cluster", "c1", "--tail", "2"});
  EXPECT_EQ(log.code, 0) << log.both();
  EXPECT_EQ(std::count(log.out.begin(), log.out.end(), '\n'), 2) << log.both();
  const Ran of_workload =
      fleetadm({"logs", "-n", "open-cluster-management-agent", "deploy/fleetadm-agent", "--cluster", "c1", "--tail", "2"});
  EXPECT_EQ(of_workload.code, 0) << of_workload.both();
  EXPECT_EQ(std::count(of_workload.out.begin(), of_workload.out.end(), '\n'), 2) << of_workload.both();
  const Ran missing = fleetadm({"exec", "deploy/none", "--cluster", "c1", "--", "true"});
  EXPECT_EQ(missing.code, 5) << missing.both();
}

TEST_P(SandboxMembers, AServicesPortLeadsToThePodsPort) {
  const std::string server = make_box("own-service", kServer);
  const Json service{
      {"apiVersion", "v1"},
      {"kind", "Service"},
      {"metadata", {{"name", "served"}}},
      {"spec", {{"selector", {{"box", "served"}}}, {"ports", Json::array({{{"port", 80}, {"targetPort", 8000}}})}}}};
  ASSERT_EQ(kubectl({"create", "-f", "-"}, dump_json(service)).code, 0);
  ASSERT_EQ(kubectl({"label", "pod", server, "box=served"}).code, 0);
  const Ran no_such = fleetadm({"proxy", "port-forward", "svc/served", ":81", "--cluster", "c1"});
  EXPECT_EQ(no_such.code, 5) << no_such.both();
  EXPECT_NE(no_such.err.find("service served has no port 81"), std::string::npos) << no_such.err;
  const std::string base = new_base("");
  auto spec = kubectl_spec(base, {});
  spec.args.resize(4);
  for (const std::string& word : {Fleet::binary(), std::string("proxy"), std::string("port-forward"), std::string("--cluster"),
                                  std::string("c1"), std::string("svc/served"), std::string(":80")})
    spec.args.push_back(word);
  auto child = sandbox::Child::start(spec);
  ASSERT_TRUE(child) << child.error().message;
  EXPECT_EQ(ask(forwarded_port(base, "forwarding 127.0.0.1:", " "), "/livez").status, 200);
  child->stop(seconds(10));
}

TEST_P(SandboxMembers, APodOfAServiceIsOneThatIsReady) {
  const std::string box = make_box("of-service");
  const Json service{{"apiVersion", "v1"},
                     {"kind", "Service"},
                     {"metadata", {{"name", "boxes"}}},
                     {"spec", {{"selector", {{"box", "of-service"}}}, {"ports", Json::array({{{"port", 80}}})}}}};
  ASSERT_EQ(kubectl({"create", "-f", "-"}, dump_json(service)).code, 0);
  ASSERT_EQ(kubectl({"label", "pod", box, "box=of-service"}).code, 0);
  const Json never{{"apiVersion", "v1"},
                   {"kind", "Pod"},
                   {"metadata", {{"name", "a-pending-box"}, {"labels", {{"box", "of-service"}}}}},
                   {"spec", {{"schedulerName", "none"}, {"containers", Json::array({{{"name", "c"}, {"image", "none"}}})}}}};
  ASSERT_EQ(kubectl({"create", "-f", "-"}, dump_json(never)).code, 0);
  const Ran ran = fleetadm({"exec", "svc/boxes", "--cluster", "c1", "--", "sh", "-c", "echo $GREETING"});
  EXPECT_EQ(ran.code, 0) << ran.both();
  EXPECT_EQ(ran.out, "hello\n");
  EXPECT_NE(ran.err.find("found 2 pods, using pod/" + box), std::string::npos) << ran.err;
  EXPECT_EQ(kubectl({"delete", "service/boxes", "pod/a-pending-box", "--now"}).code, 0);
}

TEST_P(SandboxMembers, ExecOnATerminalOfItsOwn) {
  expect_terminal(Fleet::binary() + " exec --cluster c1 -i -t " + make_box("own-terminal"));
}

TEST_P(SandboxMembers, PortForwardOfItsOwn) {
  const std::string server = make_box("own-port", kServer);
  const std::string base = new_base("");
  auto spec = kubectl_spec(base, {});
  spec.args.resize(4);
  for (const std::string& word : {Fleet::binary(), std::string("proxy"), std::string("port-forward"), std::string("--cluster"),
                                  std::string("c1"), server, std::string(":8000")})
    spec.args.push_back(word);
  auto child = sandbox::Child::start(spec);
  ASSERT_TRUE(child) << child.error().message;
  const std::string port = forwarded_port(base, "forwarding 127.0.0.1:", " ");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(port, "/livez").status, 200);
  child->stop(seconds(10));
}

TEST_P(SandboxMembers, ACommandInAPodOfTheCluster) {
  const Ran ran = fleetadm({"in-pod", "-q", "--cluster", "c1", "--", "version", "--client", "-o", "jsonpath={.kind}"});
  EXPECT_EQ(ran.code, 0) << ran.both();
  EXPECT_EQ(ran.out, "Version") << ran.both();
  EXPECT_EQ(fleetadm({"in-pod", "-q", "--cluster", "c1", "--", "placement", "explain"}).code, 64);
  EXPECT_EQ(kubectl({"get", "jobs,serviceaccounts,secrets", "-l", "fleetadm.io/in-pod", "-o", "name"}).out, "");
}

TEST_P(SandboxMembers, AnAccountForDeploymentsSeesNothingElse) {
  for (const std::vector<std::string>& step :
       {std::vector<std::string>{"addon", "install", "managed-serviceaccount", "--image", "fleetadm:test"},
        {"addon", "enable", "managed-serviceaccount", "--clusters", "c1"},
        {"msa", "create", "deployer", "--cluster", "c1", "--wait"}}) {
    const Ran done = fleetadm(step);
    ASSERT_EQ(done.code, 0) << done.both();
  }
  grant("far", "see-deployments", "apiGroups: [apps], resources: [deployments]",
        "kind: ServiceAccount, name: deployer, namespace: open-cluster-management-agent-addon");
  ASSERT_EQ(kubectl({"create", "deployment", "web", "--image", "example.com/web:v1"}).code, 0);

  const auto as_deployer = [](const std::vector<std::string>& args) {
    RunOptions options;
    options.environment = place().environment;
    options.environment["FLEETADM_KUBECTL"] = kubectl_program();
    std::vector<std::string> words = {"proxy", "kubectl", "--cluster", "c1", "--sa", "deployer", "--"};
    words.insert(words.end(), args.begin(), args.end());
    return run_fleetadm(place().folder, words, options);
  };
  const Ran deployments = as_deployer({"get", "deployments", "-o", "name"});
  EXPECT_EQ(deployments.code, 0) << deployments.both();
  EXPECT_EQ(deployments.out, "deployment.apps/web\n") << deployments.both();
  const Ran pods = as_deployer({"get", "pods"});
  EXPECT_EQ(pods.code, 1) << pods.both();
  EXPECT_NE(pods.err.find("User \"system:serviceaccount:open-cluster-management-agent-addon:deployer\" cannot list resource "
                          "\"pods\""),
            std::string::npos)
      << pods.err;
}

}  // namespace
}  // namespace fleetadm::testkit
